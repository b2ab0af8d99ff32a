package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for what should happen at once before it gives up.
const patience = 2 * time.Minute

// child is the program as a process of its own.
type child struct {
	cmd    *exec.Cmd
	log    *bufio.Scanner // standard error
	seen   bytes.Buffer   // what has been read of it
	stdout bytes.Buffer   // complete once the process has ended
}

// start starts the program. It is killed when it outlives patience, or the test.
func start(t *testing.T, environment []string, args ...string) *child {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	c := &child{cmd: exec.CommandContext(ctx, os.Args[0], args...)}
	c.cmd.Env = append(append(os.Environ(), asProgram+"=1"), environment...)
	c.cmd.Stdout = &c.stdout
	stderr, err := c.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.log = bufio.NewScanner(stderr)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = c.cmd.Wait() // twice if the test has waited already
	})
	return c
}

// await reads the log until a line matches and gives the first group of the match, or all of it.
func (c *child) await(t *testing.T, pattern string) string {
	t.Helper()
	compiled := regexp.MustCompile(pattern)
	for c.log.Scan() {
		fmt.Fprintf(&c.seen, "%s\n", c.log.Bytes())
		if m := compiled.FindSubmatch(c.log.Bytes()); m != nil {
			return string(m[len(m)-1])
		}
	}
	t.Fatalf("no line of the log matches %s:\n%s", pattern, c.seen.String())
	return ""
}

// address waits until the daemon is ready and gives its URL.
func (c *child) address(t *testing.T) string {
	t.Helper()
	at := c.await(t, `msg="Listening on".* address=(\S+)`)
	c.await(t, `msg="traffic starts"`)
	return "http://" + at
}

func (c *child) signal(t *testing.T, sig os.Signal) {
	t.Helper()
	if err := c.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// exit waits for the end and gives the exit code, -1 if it was killed.
func (c *child) exit(t *testing.T) int {
	t.Helper()
	for c.log.Scan() {
		fmt.Fprintf(&c.seen, "%s\n", c.log.Bytes())
	}
	_ = c.cmd.Wait() // the state says it better
	return c.cmd.ProcessState.ExitCode()
}

// get reads a page.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// slowServer is an inference server whose answers wait until they are released.
type slowServer struct {
	config  string        // of an exporter with it as its target
	arrived chan struct{} // gets one for each request
	release func()
	cut     chan struct{} // gets one for each request whose client has gone away before its answer
}

func startSlowServer(t *testing.T) *slowServer {
	t.Helper()
	released := make(chan struct{})
	s := &slowServer{arrived: make(chan struct{}, 1000), cut: make(chan struct{}, 1000), release: sync.OnceFunc(func() { close(released) })}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet { // it has no metrics
			http.NotFound(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // a client that goes away is noticed below
		s.arrived <- struct{}{}
		select {
		case <-released:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}`+"\n\n"+
				`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`+"\n\n"+
				"data: [DONE]\n\n")
		case <-r.Context().Done():
			s.cut <- struct{}{}
		}
	}))
	t.Cleanup(func() {
		s.release()
		server.Close()
	})
	s.config = write(t, "slow.yml", fmt.Sprintf(`
loads: {default: {mode: constant, rate: 50, max_in_flight: 4}}
targets:
  - {name: slow, url: %q, model: m, endpoint: {type: chat}}
`, server.URL))
	return s
}

// sum adds up the samples of a series in the text format.
func sum(t *testing.T, exposition, series string) float64 {
	t.Helper()
	total := 0.0
	for line := range strings.Lines(exposition) {
		if name, _, _ := strings.Cut(line, "{"); name == series {
			var v float64
			if _, err := fmt.Sscan(line[strings.LastIndex(line, " "):], &v); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			total += v
		}
	}
	return total
}
