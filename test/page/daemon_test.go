package page

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long anything may take that is not timed, on a machine that has other things to do.
const patience = 2 * time.Minute

// daemon is an exporter that runs as a process.
type daemon struct {
	url    string
	server string // the embedded inference server, if it is a demo
	cmd    *exec.Cmd
	exited chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

func (d *daemon) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.out.Write(p)
}

func (d *daemon) output() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.out.String()
}

// start runs the exporter and waits until it is ready. A port of 0 becomes a free one.
func start(address string, environment []string, command string, flags ...string) (*daemon, error) {
	if strings.HasSuffix(address, ":0") {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return nil, err
		}
		address = l.Addr().String()
		if err := l.Close(); err != nil {
			return nil, err
		}
	}
	d := &daemon{url: "http://" + address, exited: make(chan struct{})}
	d.cmd = exec.Command(*binary, append([]string{command, "--web.listen-address=" + address}, flags...)...)
	d.cmd.Env = append(d.cmd.Environ(), environment...)
	d.cmd.Stdout, d.cmd.Stderr = d, d
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", *binary, err)
	}
	go func() {
		defer close(d.exited)
		_ = d.cmd.Wait() // who stops it does not care how it went
	}()
	if err := d.await(); err != nil {
		d.stop()
		return nil, fmt.Errorf("%w\n%s", err, d.output())
	}
	return d, nil
}

func (d *daemon) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		if _, err := fetch(d.url + "/-/ready"); err == nil {
			return nil
		}
		select {
		case <-d.exited:
			return errors.New("the exporter has ended")
		case <-ctx.Done():
			return errors.New("the exporter does not become ready")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stop ends the exporter as a service manager does.
func (d *daemon) stop() {
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	<-d.exited
}

var serverLine = regexp.MustCompile(`server +(http://\S+)/metrics`)

func startDemo(address string) (*daemon, error) {
	d, err := start(address, nil, "demo", "--shutdown.grace=1s")
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if found := serverLine.FindStringSubmatch(d.output()); found != nil {
			d.server = found[1]
			return d, nil
		}
	}
	d.stop()
	return nil, fmt.Errorf("the demo does not say where its server is:\n%s", d.output())
}

// demo runs a demo until the end of the test.
func demo(t *testing.T) *daemon {
	t.Helper()
	d, err := startDemo("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.stop)
	return d
}

// startServe runs the exporter with the configuration of a file, which may ask the server of the shared demo.
func startServe(file string) (*daemon, error) {
	environment := []string{"SERVER=" + rig.demo.server}
	return start("127.0.0.1:0", environment, "serve", "--shutdown.grace=1s", "--web.enable-lifecycle", "--config.file="+file)
}

// serve runs the exporter with the configuration of a file until the end of the test.
func serve(t *testing.T, file string) *daemon {
	t.Helper()
	d, err := startServe(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.stop)
	return d
}

// fetch gets what is at a URL; anything but 200 is an error.
func fetch(url string) ([]byte, error) {
	resp, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return body, err
}

// post sends nothing to a URL and gives the status of the answer.
func post(t *testing.T, url string) int {
	t.Helper()
	resp, err := http.Post(url, "", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// ended is a request as the API knows it.
type ended struct {
	at     time.Time // when it had ended
	failed bool
}

// requests are the last ones of a target, oldest first.
func (d *daemon) requests(t *testing.T, target string) []ended {
	t.Helper()
	body, err := fetch(d.url + "/api/v1/targets/" + target + "/records?limit=100")
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Data []struct {
			At      time.Time `json:"at"`
			Total   float64   `json:"total_seconds"`
			Outcome string    `json:"outcome"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatal(err)
	}
	out := make([]ended, len(answer.Data))
	for i, r := range answer.Data {
		out[i] = ended{r.At.Add(time.Duration(r.Total * float64(time.Second))), r.Outcome != "success"}
	}
	slices.SortFunc(out, func(a, b ended) int { return a.at.Compare(b.at) })
	return out
}

// write lays down a file in a folder of the test.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
