package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/discovery"
)

const (
	// sdSettle is how long nothing may change before a set counts as found whole: Kubernetes tells of its pods one by one.
	sdSettle = 1500 * time.Millisecond
	sdLook   = 50 * time.Millisecond
)

func checkSDCommand(check *kingpin.CmdClause) command {
	cmd := check.Command("sd", "Run one set of target_discovery and print what it finds, its labels before and after relabelling, and what becomes of it.")
	file := cmd.Arg("file", "Configuration file.").Required().String()
	name := cmd.Arg("set", "Name of the set.").Required().String()
	timeout := cmd.Flag("timeout", "How long it may take; it ends when everything that is asked has answered.").Default("10s").Duration()
	format := cmd.Flag("format", "How the result is printed: text or json.").Default("text").Enum("text", "json")
	return command{cmd.FullCommand(), func(s *session) int {
		c, err := config.Load(config.Options{Files: []string{*file}, Env: os.Environ(), ExpandEnv: s.expandEnv})
		if err != nil {
			fmt.Fprintln(s.stderr, printableLines(err.Error()))
			return exitFailure
		}
		sets := c.Discovery()
		at := slices.IndexFunc(sets, func(set discovery.SetConfig) bool { return set.Name == *name })
		if at < 0 {
			s.complainf("no set %q under target_discovery, only %s", *name, setNames(sets))
			return exitFailure
		}
		found, err := s.discover(c, sets[at], *timeout)
		if err != nil {
			s.complainf("%v", err)
			return exitFailure
		}
		result := judge(c, found)
		if *format == "json" {
			err = writeJSON(s.stdout, result)
		} else {
			err = s.printFound(&result)
		}
		if err != nil || result.Error != "" || !result.Complete {
			return exitFailure
		}
		return exitOK
	}}
}

func setNames(sets []discovery.SetConfig) string {
	names := make([]string, len(sets))
	for i := range sets {
		names[i] = sets[i].Name
	}
	if len(names) == 0 {
		return "none is there"
	}
	return strings.Join(names, ", ")
}

// discover runs a set until it is found whole or time is up.
func (s *session) discover(c *config.Config, set discovery.SetConfig, timeout time.Duration) (discovery.Set, error) {
	d, err := discovery.New(discovery.Deps{
		Now: time.Now, Logger: s.logger, Registerer: prometheus.NewRegistry(), Redact: c.Redactor().Redact, Panicked: func(any) {},
	})
	if err != nil {
		return discovery.Set{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := d.Apply([]discovery.SetConfig{set}); err != nil {
		return discovery.Set{}, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.Run(ctx)
	}()
	awaitSet(ctx, d)
	cancel()
	<-ended
	return d.Found()[0], nil
}

// awaitSet returns when every mechanism has answered and nothing has changed for a while.
func awaitSet(ctx context.Context, d *discovery.Discovery) {
	ticker := time.NewTicker(sdLook)
	defer ticker.Stop()
	quiet := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.Changed():
			quiet = time.Now()
		case <-ticker.C:
			if !d.Found()[0].Complete {
				quiet = time.Now()
			} else if time.Since(quiet) > sdSettle {
				return
			}
		}
	}
}

// sdResult is what a set finds, for programs.
type sdResult struct {
	Set      string    `json:"set"`
	Complete bool      `json:"complete"` // everything that is asked has answered
	Error    string    `json:"error,omitempty"`
	Found    []sdFound `json:"found"`
	// Hidden counts targets that relabelling drops beyond those in Found.
	Hidden int `json:"hidden,omitempty"`
}

// sdFound is one target of a set: what becomes of it is either URL and the rest, or Dropped.
type sdFound struct {
	Name         string            `json:"name,omitempty"`
	Address      string            `json:"address"`
	Origin       string            `json:"origin"`
	Discovered   map[string]string `json:"discovered"`
	Labels       map[string]string `json:"labels,omitempty"`
	Dropped      discovery.Reason  `json:"dropped,omitempty"`
	Detail       string            `json:"detail,omitempty"`
	URL          string            `json:"url,omitempty"`
	Model        string            `json:"model,omitempty"`
	EndpointType string            `json:"endpoint_type,omitempty"`
	Workload     string            `json:"workload,omitempty"`
	Load         string            `json:"load,omitempty"`
}

// judge tells what becomes of what was found.
func judge(c *config.Config, set discovery.Set) sdResult {
	out := sdResult{Set: set.Name, Complete: set.Complete, Error: set.LastError, Found: []sdFound{}, Hidden: set.Relabelled - len(set.Dropped)}
	derived, dropped := c.WithDiscovered([]discovery.Set{set})
	for i := range set.Targets {
		f := &set.Targets[i]
		labels := discovery.Shown(f.Labels)
		shown := sdFound{Name: f.Name, Address: labels[discovery.AddressLabel], Origin: f.Origin, Discovered: f.Discovered, Labels: labels}
		// Those that are dropped are in the order of those that were found.
		if len(dropped) > 0 && dropped[0].Name == f.Name && maps.Equal(dropped[0].Labels, f.Discovered) {
			shown.Dropped, shown.Detail, dropped = dropped[0].Reason, dropped[0].Detail, dropped[1:]
		} else if at := slices.IndexFunc(derived.Targets, func(t config.Target) bool { return t.Source != "" && t.Name == f.Name }); at >= 0 {
			t := &derived.Targets[at]
			shown.URL, shown.Model, shown.EndpointType = t.URL.String(), t.Model, string(t.Endpoint.Type)
			shown.Workload, shown.Load = t.Workload, t.Load
		}
		out.Found = append(out.Found, shown)
	}
	for _, d := range set.Dropped {
		out.Found = append(out.Found, sdFound{Address: d.Address, Origin: d.Origin, Discovered: d.Labels, Dropped: d.Reason})
	}
	return out
}

// printFound prints a table of labels for each target, and what becomes of it.
func (s *session) printFound(result *sdResult) error {
	table := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	used := 0
	for i := range result.Found {
		f := &result.Found[i]
		if f.Dropped == "" {
			used++
		}
		fmt.Fprintf(table, "%s\n", printable(f.outcome()+", from "+f.Origin))
		fmt.Fprintf(table, "  LABEL\tDISCOVERED\tRELABELLED\n")
		for _, name := range f.labelNames() {
			fmt.Fprintf(table, "  %s\t%s\t%s\n", printable(name), labelText(f.Discovered, name), labelText(f.Labels, name))
		}
		fmt.Fprintln(table)
		if err := table.Flush(); err != nil { // each target is a table of its own
			return err
		}
	}
	fmt.Fprintf(s.stdout, "%s: %d used, %d dropped\n", plural(len(result.Found)+result.Hidden, "target"), used, len(result.Found)+result.Hidden-used)
	if result.Hidden > 0 {
		fmt.Fprintf(s.stdout, "%d of those that relabel_configs drop are not listed\n", result.Hidden)
	}
	switch {
	case result.Error != "":
		s.complainf("set %s: %s", result.Set, result.Error)
	case !result.Complete:
		s.complainf("set %s: not everything that is asked has answered in time", result.Set)
	}
	return nil
}

// outcome says in a line what becomes of a target.
func (f *sdFound) outcome() string {
	if f.Dropped == discovery.Relabelled {
		return f.Address + ": dropped by relabel_configs"
	}
	if f.Dropped != "" {
		return fmt.Sprintf("%s: dropped as %s, %s", f.Name, f.Dropped, f.Detail)
	}
	out := []string{fmt.Sprintf("%s: %s", f.Name, f.URL), f.EndpointType, "model " + f.Model}
	for _, part := range []struct{ word, name string }{{"workload", f.Workload}, {"load", f.Load}} {
		if part.name != "" {
			out = append(out, part.word+" "+part.name)
		}
	}
	return strings.Join(out, ", ")
}

// labelNames are those before and after relabelling, in order.
func (f *sdFound) labelNames() []string {
	all := maps.Clone(f.Discovered)
	maps.Copy(all, f.Labels)
	return slices.Sorted(maps.Keys(all))
}

func labelText(labels map[string]string, name string) string {
	value, ok := labels[name]
	if !ok {
		return ""
	}
	return fmt.Sprintf("%q", value)
}
