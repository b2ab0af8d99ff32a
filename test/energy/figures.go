package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

// figures are what is said of a window, or what is true of it.
type figures struct {
	window float64 // seconds
	values [len(names)]float64
}

// names are those of the values.
var names = [...]string{"GPU energy, J", "GPU power, W", "output tokens per joule", "server tokens/s"}

// result is what a tool said, and the truth of the same window.
type result struct {
	tool        string
	said, truth figures
}

// margin is how far off the exporter may be: its pages are read some time before and after the traffic, and what the server counts meanwhile is spread
// evenly.
const margin = 0.05

// right tells whether all that is said is about true.
func (r *result) right() bool {
	for i, value := range r.said.values {
		if !(math.Abs(value/r.truth.values[i]-1) <= margin) {
			return false
		}
	}
	return true
}

// truthOf is what the GPUs took and the server sent in a window, which must hold all of its traffic.
func truthOf(window, sent float64) figures {
	joules := gpus * watts * window
	return figures{window, [...]float64{joules, gpus * watts, sent / joules, sent / window}}
}

// profile is what both files have.
type profile struct {
	Start  string `json:"start_time"`
	End    string `json:"end_time"`
	Energy figure `json:"nvidia_total_gpu_energy"`
	Power  figure `json:"nvidia_average_gpu_power"`
	Tokens figure `json:"nvidia_output_tokens_per_joule"`

	Exporter struct {
		Server struct {
			Metrics struct {
				Generation figure `json:"server_generation_token_throughput"`
			}
		}
	}
}

type figure struct{ Avg float64 }

func readProfile(folder string) (profile, figures, error) {
	var p profile
	raw, err := os.ReadFile(filepath.Join(folder, "profile_export_aiperf.json"))
	if err != nil {
		return p, figures{}, err
	}
	if err = json.Unmarshal(raw, &p); err != nil {
		return p, figures{}, err
	}
	var at [2]time.Time
	for i, text := range []string{p.Start, p.End} {
		// AIPerf's times have no zone.
		if at[i], err = time.Parse(time.RFC3339, strings.TrimSuffix(text, "Z")+"Z"); err != nil {
			return p, figures{}, err
		}
	}
	return p, figures{at[1].Sub(at[0]).Seconds(), [...]float64{p.Energy.Avg, p.Power.Avg, p.Tokens.Avg, 0}}, nil
}

func readOurs(folder string) (figures, error) {
	p, f, err := readProfile(folder)
	f.values[3] = p.Exporter.Server.Metrics.Generation.Avg
	return f, err
}

// readTheirs looks for the server's counter in the file of its own that AIPerf has.
func readTheirs(folder string) (figures, error) {
	_, f, err := readProfile(folder)
	if err != nil {
		return f, err
	}
	raw, err := os.ReadFile(filepath.Join(folder, "server_metrics_export.json"))
	if err != nil {
		return f, err
	}
	var file struct {
		Metrics map[string]struct {
			Series []struct {
				Stats struct{ Rate float64 }
			}
		}
	}
	err = json.Unmarshal(raw, &file)
	for _, s := range file.Metrics["vllm:generation_tokens"].Series {
		f.values[3] += s.Stats.Rate
	}
	return f, err
}

// write prints one table of all results.
func write(out io.Writer, results []result) {
	t := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	for _, r := range results {
		fmt.Fprintf(t, "%s, %.2f s\tsays\ttruth\toff by\t\n", r.tool, r.said.window)
		for i, name := range names {
			said, truth := r.said.values[i], r.truth.values[i]
			fmt.Fprintf(t, "%s\t%s\t%s\t%+.1f %%\t\n", name, text(said), text(truth), 100*(said/truth-1))
		}
	}
	_ = t.Flush() // what out has not taken the caller cannot mend
}

// text is a number with four digits.
func text(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}
