//go:build linux && cgo && !nonvml

package nvml

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// A library whose functions are called wrongly ends the process, and one that was loaded stays for the life of it. So each test with a real
// library reads it in a process of its own: this binary, started again with this variable set, does what its standard input says.
const libraryVariable = "NVML_TEST_LIBRARY"

func TestMain(m *testing.M) {
	if library := os.Getenv(libraryVariable); library != "" {
		os.Exit(serve(library, os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}

// The words that the process understands.
const (
	wordRead      = "read"      // look once, and write the reading
	wordMinute    = "minute"    // let a minute pass
	wordClose     = "close"     // close the source
	wordAbandoned = "abandoned" // look without waiting for the answer, and close the source
)

// serve is what the process does. Each word but the passing of time is answered by a reading, if only an empty one.
func serve(library string, in io.Reader, out io.Writer) int {
	var passed time.Duration
	config := gpu.NVMLConfig{LibraryPath: library, PCIeThroughput: true}
	s := newSource(config, slog.New(slog.DiscardHandler), func() time.Time { return time.Now().Add(passed) },
		func() (*driver, gpu.State, error) { return load(library) })
	s.hostname = "node-1"
	answers := json.NewEncoder(out)
	for words := bufio.NewScanner(in); words.Scan(); {
		var reading gpu.Reading
		switch words.Text() {
		case wordMinute:
			passed += retryEvery
			continue
		case wordRead:
			reading = s.Read(context.Background())
		case wordClose:
			s.Close()
		case wordAbandoned:
			go s.Read(context.Background())
			for s.mu.TryLock() { // it has not begun to look
				s.mu.Unlock()
				runtime.Gosched()
			}
			s.Close()
		}
		if answers.Encode(&reading) != nil {
			return 1
		}
	}
	return 0
}

// process is one with a library loaded.
type process struct {
	t       *testing.T
	control string // file that says what the stub does
	command *exec.Cmd
	stdin   io.WriteCloser
	answers *json.Decoder
	stderr  *bytes.Buffer
}

// start runs one with this library, which behaves as the words say. At the end of the test it is closed and must end well.
func start(t *testing.T, library string, words ...string) *process {
	t.Helper()
	p := &process{t: t, control: filepath.Join(t.TempDir(), "control"), stderr: &bytes.Buffer{}}
	p.set(words...)
	p.command = exec.CommandContext(t.Context(), os.Args[0])
	p.command.Env = append(os.Environ(), libraryVariable+"="+library, "NVMLSTUB=", "NVMLSTUB_FILE="+p.control,
		"GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0") // under the race detector each process would end a second late
	p.command.Stderr = p.stderr
	stdout, err := p.command.StdoutPipe()
	if err == nil {
		p.stdin, err = p.command.StdinPipe()
	}
	if err == nil {
		err = p.command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.answers = json.NewDecoder(stdout)
	return p
}

// set changes how the library behaves from now on.
func (p *process) set(words ...string) {
	p.t.Helper()
	written := p.control + ".new"
	if err := errors.Join(os.WriteFile(written, []byte(strings.Join(words, "\n")), 0o600), os.Rename(written, p.control)); err != nil {
		p.t.Fatal(err)
	}
}

// do says a word and waits for its answer.
func (p *process) do(word string) gpu.Reading {
	p.t.Helper()
	var reading gpu.Reading
	if _, err := io.WriteString(p.stdin, word+"\n"); err != nil {
		p.t.Fatalf("%s: %v; the process wrote %s", word, err, p.stderr)
	}
	if err := p.answers.Decode(&reading); err != nil {
		p.t.Fatalf("%s: the process ended: %v; it wrote %s", word, errors.Join(err, p.command.Wait()), p.stderr)
	}
	return reading
}

// read looks once; whatever comes of it must be in the table of series.
func (p *process) read() gpu.Reading {
	p.t.Helper()
	reading := p.do(wordRead)
	checkTable(p.t, &reading)
	return reading
}

// minute lets a minute pass in the process.
func (p *process) minute() {
	p.t.Helper()
	if _, err := io.WriteString(p.stdin, wordMinute+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// end lets the process end, which must do so without an error.
func (p *process) end() {
	p.t.Helper()
	p.stdin.Close()
	if err := p.command.Wait(); err != nil {
		p.t.Errorf("the process ended with %v; it wrote %s", err, p.stderr)
	}
}

// checkTable fails where a sample is in no row of the table of series, or its labels are not those of the row.
func checkTable(t *testing.T, r *gpu.Reading) {
	t.Helper()
	table := gpu.Table()
	for i := range r.Devices {
		for _, s := range r.Devices[i].Samples {
			row := slices.IndexFunc(table, func(row metrics.Series) bool { return row.Name == s.Name })
			if row < 0 {
				t.Errorf("%s is not in the table", s.Name)
				continue
			}
			labels := table[row].Labels
			if len(labels) != len(s.Labels) {
				t.Errorf("%s has the labels %q, want values of %v", s.Name, s.Labels, labels)
				continue
			}
			for j, label := range labels {
				if label.Values != nil && !slices.Contains(label.Values, s.Labels[j]) {
					t.Errorf("%s: label %s has the value %q, want one of %q", s.Name, label.Name, s.Labels[j], label.Values)
				}
			}
		}
	}
}
