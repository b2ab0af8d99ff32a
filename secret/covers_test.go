package secret

import (
	"testing"
	"time"
)

func TestARedactorCoversOneWithTheSameSecrets(t *testing.T) {
	t.Parallel()
	file := File("f", "somewhere", time.Now)
	with := func(sources ...*Source) *Redactor {
		r := &Redactor{}
		r.Add(sources...)
		return r
	}
	for name, test := range map[string]struct {
		r, other *Redactor
		want     bool
	}{
		"nothing":                           {with(), with(), true},
		"the same value, read again":        {with(Literal("a", "value-one")), with(Literal("b", "value-one")), true},
		"more":                              {with(Literal("a", "value-one"), file), with(file), true},
		"less":                              {with(file), with(Literal("a", "value-one"), file), false},
		"another value":                     {with(Literal("a", "value-two")), with(Literal("a", "value-one")), false},
		"a file that is read by itself":     {with(File("f", "somewhere", time.Now)), with(file), false},
		"a file is not a value of its name": {with(Literal("f", "somewhere")), with(file), false},
	} {
		if got := test.r.Covers(test.other); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
