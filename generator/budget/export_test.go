package budget

import "time"

// Decode reads the bytes of a file and gives what each account has used at most, by kind, the longest period, so that tests can compare.
func Decode(data []byte) (map[string][2][5]int64, error) {
	accounts, err := decode(data)
	if err != nil {
		return nil, err
	}
	out := map[string][2][5]int64{}
	for name, a := range accounts {
		out[name] = [2][5]int64{a[hour].atMost, a[day].atMost}
	}
	return out, nil
}

// RetryNow ends the pause after the file could not be written.
func (l *Ledger) RetryNow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failedAt = time.Time{}
}

// Patient makes requests wait for the file as long as it takes, so that a busy machine refuses none.
func (l *Ledger) Patient() { l.patience = time.Hour }
