package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// made is what would be measured if everything cost what the prices say.
func made(p *prices) *findings {
	f := &findings{}
	for _, n := range []int{1, 100, 1000} {
		f.idle = append(f.idle, idle{
			targets: n, histograms: both, memory: p.base + float64(n)*p.target, cpu: float64(n) * p.trickle, scrape: 0.002 + float64(n)*p.scrape,
			samples: 300 + n*int(p.samples), native: 200 + n*int(p.native),
		})
	}
	f.idle = append(f.idle, idle{targets: 100, histograms: native, memory: 1}, idle{targets: 100, histograms: both, servers: true, memory: 2})
	for _, b := range []busy{
		{name: "short", requests: 50, chunks: 100, streams: 1},
		{name: "some", requests: 4, chunks: 2000, streams: 100},
		{name: "many", requests: 50, chunks: 25_000, streams: 500},
	} {
		b.cpu = b.requests*p.request + b.chunks*p.chunk
		b.most = p.base + p.target + b.streams*p.stream
		f.busy = append(f.busy, b)
	}
	return f
}

var about = cmpopts.EquateApprox(1e-6, 1e-12)

func TestPricesAreThoseThatMadeTheFindings(t *testing.T) {
	t.Parallel()
	want := prices{
		base: 40e6, target: 500e3, stream: 16e3, trickle: 80e-6, request: 1e-3, chunk: 5e-6, scrape: 4e-3, samples: 1300, native: 180,
	}
	if diff := cmp.Diff(want, made(&want).prices(), about, cmp.AllowUnexported(prices{})); diff != "" {
		t.Errorf("prices (-want +got):\n%s", diff)
	}
}

func TestWhatAFleetNeedsIsTheSumOfItsParts(t *testing.T) {
	t.Parallel()
	p := prices{base: 40e6, target: 500e3, stream: 16e3, trickle: 1, request: 1e-3, chunk: 5e-6, scrape: 3e-3, samples: 1300, native: 180}
	wanted := fleet{targets: 200, rate: 2, tokens: 500, seconds: 10, scrape: 15}
	got := p.need(&wanted)
	want := need{
		processors: 400*1e-3 + 200_000*5e-6 + 200*3e-3/15, memory: 40e6 + 200*500e3 + 4000*16e3, streams: 4000, chunks: 200_000, samples: 260_000, exporters: 2,
	}
	if diff := cmp.Diff(want, got, about, cmp.AllowUnexported(need{})); diff != "" {
		t.Errorf("need (-want +got):\n%s", diff)
	}
	wanted.native = true
	if n := p.need(&wanted).samples; n != 36_000 {
		t.Errorf("%v series with native histograms, want 36000", n)
	}
}

func TestSamplesAreCountedWithoutComments(t *testing.T) {
	t.Parallel()
	if n := samples([]byte("# HELP a b\n# TYPE a counter\na 1\na{b=\"c\"} 2\n\n")); n != 2 {
		t.Errorf("%d samples, want 2", n)
	}
}

func TestResultsStandBetweenTheMarksOfAPage(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "page.md")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n" + beginMark + "old\n" + endMark + "after\n")
	if err := paste(file, "new\n"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("before\n"+beginMark+"new\n"+endMark+"after\n", string(got)); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
	write("no marks\n")
	if err := paste(file, "new\n"); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want an error with the name of the page", err)
	}
}
