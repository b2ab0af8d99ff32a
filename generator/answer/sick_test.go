package answer

import (
	"strings"
	"testing"
)

func TestSickTextIsFound(t *testing.T) {
	t.Parallel()
	repeat := strings.Repeat
	long := "It is a truth that the answer to this question depends on the context in which it has been asked by the user, as always. "
	for name, c := range map[string]struct {
		text string
		want Check
	}{
		"NaN gives the first token only":                {repeat("!", 64), CheckNoGarbage},
		"a short answer of the first token":             {"!!!!", CheckNoGarbage},
		"NaN from the tenth token on":                   {"The capital of France is Paris" + repeat("!", 40), CheckNoGarbage},
		"punctuation without words":                     {"?,.;!,;?!.,;:?!,.;:,?!,.;!?", CheckNoGarbage},
		"brackets without end":                          {"({[(]})[)({}](){[](}{)([]})", CheckNoGarbage},
		"replacement characters":                        {"The ca��tal �f Fr�nce is P�ris", CheckNoGarbage},
		"bytes that are not UTF-8":                      {"The \xff\xfe capital \xc3\x28 of \xa0\xa1 France", CheckNoGarbage},
		"control characters":                            {"The\x00 capital\x01 of\x02 France\x03", CheckNoGarbage},
		"characters that mean nothing":                  {"The \ue000\ue001\ue002\ue003 capital", CheckNoGarbage},
		"tokens of any script":                          {"the сlимate рroсess विdea приmерthe কাthe ისamе", CheckNoGarbage},
		"one word over and over":                        {repeat(" the", 30), CheckNoRepetition},
		"one letter over and over":                      {"Sure: " + repeat("a", 70), CheckNoRepetition},
		"a sentence over and over":                      {"I can help. " + repeat("I am sorry, but I cannot do that. ", 6), CheckNoRepetition},
		"a sentence over and over, cut":                 {repeat("I am sorry, but I cannot do that. ", 6) + "I am sor", CheckNoRepetition},
		"a paragraph over and over":                     {"Well. " + repeat(repeat(long, 3)+"\n\n", 4), CheckNoRepetition},
		"a Chinese phrase over and over":                {"好的。" + repeat("非常感谢，", 20), CheckNoRepetition},
		"one Chinese character over and over":           {"好" + repeat("的", 30), CheckNoRepetition},
		"rows of zeros without end":                     {"[" + repeat("0, ", 800), CheckNoRepetition},
		"blank lines without end":                       {`{"a": 1,` + repeat("\n", 3000), CheckNoRepetition},
		"a loop with a counter is not, the words are":   {loopWithCounter(), CheckNoRepetition},
		"two sentences in turns, in no order that ends": {turns(), CheckNoRepetition},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := suspicious(t, []byte(c.text))
			if len(got) == 0 || got[len(got)-1].Check != c.want && got[0].Check != c.want {
				t.Errorf("got %v, want %s", got, c.want)
			}
		})
	}
}

// loopWithCounter says the same again and again, but never in exactly the same words.
func loopWithCounter() string {
	var b strings.Builder
	for i := range 100 {
		b.WriteString(strings.Repeat("and so it goes on and on as before, without any end that we know of, ", 3))
		b.WriteString(strings.Repeat("x", i%7))
		b.WriteByte(' ')
	}
	return b.String()
}

// turns has no period.
func turns() string {
	var b strings.Builder
	for i := range 200 {
		if i*i%7 < 3 {
			b.WriteString("the model does not know what it should say. ")
		} else {
			b.WriteString("the model says that again and again. ")
		}
	}
	return b.String()
}
