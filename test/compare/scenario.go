package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// scenario is a load, and the server that it is put on.
type scenario struct {
	name       string
	title      string
	streams    int           // open at the same time
	tokens     int           // per answer, one in a chunk
	firstToken time.Duration // request arrived → first token
	gap        time.Duration // between tokens; with 0 the server sends as fast as it can
	batch      int           // chunks per write of the server
	waves      int           // requests per stream
	tools      []string      // which take part, in the order of the table
}

// unpaced tells whether the server sends as fast as it can, so that there is no truth about latencies worth a comparison.
func (s *scenario) unpaced() bool { return s.gap == 0 }

// answer is how long one answer takes by the server's script.
func (s *scenario) answer() time.Duration { return s.firstToken + time.Duration(s.tokens-1)*s.gap }

// offered is the load in chunks per second when all streams are open all the time; without a pace there is no such number.
func (s *scenario) offered() float64 { return float64(s.streams*s.tokens) / s.answer().Seconds() }

func (s *scenario) requests() int { return s.streams * s.waves }

// limit is how long a run may take before the tool counts as unable to do it: much longer than one that keeps up.
func (s *scenario) limit() time.Duration {
	return 3*time.Minute + 5*time.Duration(s.waves)*s.answer()
}

// server gives the flags of the truth server. Clients may ask for different usage; they get the same bytes.
func (s *scenario) server() []string {
	return []string{
		fmt.Sprintf("-ttft=%v", s.firstToken), fmt.Sprintf("-itl=%v", s.gap), fmt.Sprintf("-chunks-per-write=%d", s.batch),
		"-continuous-usage=false",
	}
}

// Names of the tools.
const (
	floorTool    = "floor"
	ourTool      = "aiperf-exporter"
	daemonTool   = "aiperf-exporter serve"
	aiperfTool   = "aiperf"
	guidellmTool = "guidellm"
)

// scenarios are all that there are.
var scenarios = []scenario{
	{
		name: "50x50", title: "50 streams of 50 chunks/s", streams: 50, tokens: 200, firstToken: 50 * time.Millisecond, gap: 20 * time.Millisecond,
		batch: 1, waves: 5, tools: []string{floorTool, ourTool, aiperfTool, guidellmTool},
	},
	{
		name: "500x50", title: "500 streams of 50 chunks/s", streams: 500, tokens: 200, firstToken: 50 * time.Millisecond, gap: 20 * time.Millisecond,
		batch: 1, waves: 5, tools: []string{floorTool, ourTool, daemonTool, aiperfTool, guidellmTool},
	},
	{
		name: "2000x10", title: "2,000 streams of 10 chunks/s", streams: 2000, tokens: 100, firstToken: 50 * time.Millisecond, gap: 100 * time.Millisecond,
		batch: 1, waves: 3, tools: []string{floorTool, ourTool, aiperfTool, guidellmTool},
	},
	{
		name: "unpaced1", title: "as fast as it goes, 8 streams, 1 chunk per write", streams: 8, tokens: 100_000,
		batch: 1, waves: 6, tools: []string{floorTool, ourTool},
	},
	{
		name: "unpaced8", title: "as fast as it goes, 8 streams, 8 chunks per write", streams: 8, tokens: 100_000,
		batch: 8, waves: 6, tools: []string{floorTool, ourTool},
	},
}

// chosen gives the named scenarios, with those tools of others that are named as peers.
func chosen(names, peers []string) ([]scenario, error) {
	for _, peer := range peers {
		if peer != aiperfTool && peer != guidellmTool {
			return nil, fmt.Errorf("no peer is called %q, only %s and %s", peer, aiperfTool, guidellmTool)
		}
	}
	var found []scenario
	for _, name := range names {
		i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no scenario is called %q, only %s", name, strings.Join(allNames(), ", "))
		}
		s := scenarios[i]
		s.tools = slices.DeleteFunc(slices.Clone(s.tools), func(tool string) bool {
			return (tool == aiperfTool || tool == guidellmTool) && !slices.Contains(peers, tool)
		})
		found = append(found, s)
	}
	return found, nil
}

func allNames() []string {
	names := make([]string, 0, len(scenarios))
	for i := range scenarios {
		names = append(names, scenarios[i].name)
	}
	return names
}

// rotated gives the tools in the order of a round: each comes first in its turn, so that none always runs on a machine that is
// warmer or busier than it was for the others.
func rotated(tools []string, round int) []string {
	first := round % len(tools)
	return append(slices.Clone(tools[first:]), tools[:first]...)
}
