package board

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// Colour is a colour by what it means; the same thing has the same colour on every page.
type Colour string

// What is good or bad.
const (
	Good    Colour = "green"
	Warning Colour = "yellow"
	Worse   Colour = "orange"
	Bad     Colour = "red"
	Page    Colour = "dark-red" // somebody is to be woken
	Absent  Colour = "#8e8e8e"  // paused, nothing known, of no concern
)

// Parts of a distribution.
const (
	P50  Colour = "blue"
	P90  Colour = "light-orange"
	P95  Colour = "orange"
	P99  Colour = "red"
	Mean Colour = "#8e8e8e"
)

// Who says so, and which part of a request.
const (
	Client   Colour = "blue"
	Server   Colour = "purple"
	Residual Colour = "yellow"
	Way      Colour = "#5794F2"
	Queue    Colour = "#B877D9"
	Prefill  Colour = "#14B8A6"
	Decode   Colour = "blue"
	Total    Colour = "#8e8e8e"
)

// Step is a threshold: from this value on, values have the colour.
type Step struct {
	From   float64
	Colour Colour
}

// BurnSteps judge a burn rate: the budget is spent faster than it lasts, or so fast that the floors of the alerts for 30 days are reached.
func BurnSteps() []Step { return []Step{{1, Warning}, {6, Worse}, {14.4, Bad}} }

// ShareSteps judge a share of which more is worse.
func ShareSteps(warning, bad float64) []Step { return []Step{{warning, Warning}, {bad, Bad}} }

// thresholds begin with the colour of everything below the first step.
func thresholds(base Colour, steps []Step) *dashboard.ThresholdsConfig {
	out := &dashboard.ThresholdsConfig{Mode: dashboard.ThresholdsModeAbsolute, Steps: []dashboard.Threshold{{Color: string(base)}}}
	for _, s := range steps {
		out.Steps = append(out.Steps, dashboard.Threshold{Value: new(s.From), Color: string(s.Colour)})
	}
	return out
}

// Word is shown in place of the values from From up to To; a colour alone would not tell everybody.
type Word struct {
	From, To float64
	Text     string
	Colour   Colour
}

// Is is the word for one value.
func Is(value float64, text string, colour Colour) Word { return Word{value, value, text, colour} }

// mappings are the words, as ranges.
func mappings(words []Word) (out []dashboard.ValueMapping) {
	for i, w := range words {
		out = append(out, dashboard.ValueMapping{RangeMap: &dashboard.RangeMap{
			Type: dashboard.MappingTypeRangeToText,
			Options: dashboard.DashboardRangeMapOptions{
				From: new(w.From), To: new(w.To),
				Result: dashboard.ValueMappingResult{Text: new(w.Text), Color: new(string(w.Colour)), Index: new(int32(i))}, //nolint:gosec // few words
			},
		}})
	}
	return out
}

// fixed is one colour for everything.
func fixed(c Colour) dashboard.FieldColor {
	return dashboard.FieldColor{Mode: dashboard.FieldColorModeIdFixed, FixedColor: new(string(c))}
}
