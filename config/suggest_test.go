package config

import "testing"

func TestClosest(t *testing.T) {
	t.Parallel()
	known := []string{"load", "slo", "model", "max_in_flight", "max_targets", "url", "to"}
	tests := []struct {
		name, word, want string
	}{
		{"a letter too many", "modell", "model"},
		{"a letter too few", "ur", "url"},
		{"a wrong letter", "uri", "url"},
		{"two letters swapped", "laod", "load"},
		{"two mistakes in a long word", "max_inn_flght", "max_in_flight"},
		{"three mistakes", "max_inn_flghtt", ""},
		{"other case", "MODEL", "model"},
		{"half of a short word", "lo", "slo"},
		{"a word of two letters is only suggested for itself", "ta", ""},
		{"nothing like it", "wobble", ""},
		{"empty", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := closest(tt.word, known); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzDistance(f *testing.F) {
	f.Add("load", "laod")
	f.Add("", "ab")
	f.Fuzz(func(t *testing.T, a, b string) {
		d := distance(a, b)
		if d != distance(b, a) {
			t.Errorf("%q and %q: not symmetric", a, b)
		}
		if same := string([]rune(a)) == string([]rune(b)); (d == 0) != same {
			t.Errorf("%q and %q: distance %d", a, b, d)
		}
	})
}
