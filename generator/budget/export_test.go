package budget

import "time"

// Told is what a file tells of an account.
type Told struct{ hour, day record }

// Decode reads the bytes of a file.
func Decode(data []byte) (map[string]Told, error) {
	accounts, err := decode(data)
	if err != nil {
		return nil, err
	}
	out := map[string]Told{}
	for name, a := range accounts {
		out[name] = Told{a[hour], a[day]}
	}
	return out, nil
}

// Hour is how many requests and tokens the process that reads the file at wall takes for used in that hour at least.
func (t Told) Hour(wall time.Time) (sent, used int64) {
	told := t.hour.atMost
	if wall.Unix() >= t.hour.end {
		told = t.hour.next
	}
	return told[requests], told[tokens]
}

// RetryNow ends the pause after the file could not be written.
func (l *Ledger) RetryNow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failedAt = time.Time{}
}

// Patient makes requests wait for the file as long as it takes, so that a busy machine refuses none.
func (l *Ledger) Patient() { l.patience = time.Hour }
