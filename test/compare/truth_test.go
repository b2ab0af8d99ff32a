package main

import (
	"encoding/json"
	"testing"
	"time"
)

func TestReachedIsTheRateWhileTheLoadIsWhole(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		truth  string
		answer time.Duration
		want   float64
	}{
		"from one answer after the first arrival until the last arrival": {
			`{"first_arrival_ns":1000,"last_arrival_ns":1500,"timeline":{"start_ns":1000,"step_ns":100,"chunks":[1,2,30,50,70,9,9]}}`, 200, 150 / 300e-9,
		},
		"begun and ended within steps, which do not count": {
			`{"first_arrival_ns":1050,"last_arrival_ns":1490,"timeline":{"start_ns":1000,"step_ns":100,"chunks":[1,2,30,50,70,9,9]}}`, 200, 50 / 100e-9,
		},
		"all requests at once leave nothing": {
			`{"first_arrival_ns":1000,"last_arrival_ns":1000,"timeline":{"start_ns":1000,"step_ns":100,"chunks":[1,2,3]}}`, 200, 0,
		},
		"a load that came to a stop before the last arrival": {
			`{"first_arrival_ns":1000,"last_arrival_ns":1900,"timeline":{"start_ns":1000,"step_ns":100,"chunks":[5,5,5]}}`, 100, 10 / 200e-9,
		},
		"no request": {`{"timeline":{"step_ns":100,"chunks":null}}`, 100, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var known truth
			if err := json.Unmarshal([]byte(test.truth), &known); err != nil {
				t.Fatal(err)
			}
			if got := known.reached(test.answer); got != test.want {
				t.Errorf("got %v chunks/s, want %v", got, test.want)
			}
		})
	}
}
