package main

import "testing"

func TestMemoryLimitIsAShareOfWhatTheContainerMayUse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file  string
		ratio float64
		want  int64
		ok    bool
	}{
		"a limit":             {"1000000\n", 0.9, 900000, true},
		"all of a limit":      {"1000000\n", 1, 1000000, true},
		"no limit":            {"max\n", 0.9, 0, false},
		"a limit of nothing":  {"0\n", 0.9, 0, false},
		"a file without text": {"", 0.9, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, ok := memoryLimit(test.file, test.ratio); got != test.want || ok != test.ok {
				t.Errorf("got %d, %v, want %d, %v", got, ok, test.want, test.ok)
			}
		})
	}
}
