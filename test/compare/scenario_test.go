package main

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestChosenScenariosHaveOnlyTheNamedPeers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		names, peers []string
		want         [][]string // tools of each
		wantErr      string
	}{
		"all peers": {[]string{"50x50"}, []string{aiperfTool, guidellmTool}, [][]string{{floorTool, ourTool, aiperfTool, guidellmTool}}, ""},
		"one peer, in the order asked for": {
			[]string{"unpaced8", "500x50"},
			[]string{guidellmTool},
			[][]string{{floorTool, ourTool}, {floorTool, ourTool, daemonTool, guidellmTool}},
			"",
		},
		"no peers":         {[]string{"2000x10"}, nil, [][]string{{floorTool, ourTool}}, ""},
		"unknown scenario": {[]string{"5x5"}, nil, nil, `no scenario is called "5x5", only 50x50, 500x50, 2000x10, unpaced1, unpaced8`},
		"unknown peer":     {nil, []string{"wrk"}, nil, `no peer is called "wrk", only aiperf and guidellm`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := chosen(test.names, test.peers)
			message := ""
			if err != nil {
				message = err.Error()
			}
			if message != test.wantErr {
				t.Fatalf("got error %q, want %q", message, test.wantErr)
			}
			var tools [][]string
			for i := range got {
				tools = append(tools, got[i].tools)
			}
			if diff := cmp.Diff(test.want, tools); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryToolOfAScenarioIsKnown(t *testing.T) {
	t.Parallel()
	known := slices.Collect(maps.Keys((&programs{}).tools()))
	for i := range scenarios {
		for _, name := range scenarios[i].tools {
			if !slices.Contains(known, name) {
				t.Errorf("%s: there is no tool %q", scenarios[i].name, name)
			}
		}
	}
}

func TestEachToolComesFirstInItsTurn(t *testing.T) {
	t.Parallel()
	tools := []string{"a", "b", "c"}
	for round, want := range [][]string{{"a", "b", "c"}, {"b", "c", "a"}, {"c", "a", "b"}, {"a", "b", "c"}} {
		if diff := cmp.Diff(want, rotated(tools, round)); diff != "" {
			t.Errorf("round %d (-want +got):\n%s", round, diff)
		}
	}
}

func TestOfferedLoadIsThatOfStreamsThatAreAlwaysOpen(t *testing.T) {
	t.Parallel()
	s := scenario{streams: 10, tokens: 100, firstToken: 100 * time.Millisecond, gap: 100 * time.Millisecond, waves: 3}
	if got := s.answer(); got != 10*time.Second {
		t.Errorf("an answer takes %v, want 10s", got)
	}
	if got := s.offered(); got != 100 {
		t.Errorf("%v chunks/s are offered, want 100", got)
	}
	if got := rate(&s); got != 1 {
		t.Errorf("got %v requests/s, want 1", got)
	}
}
