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
