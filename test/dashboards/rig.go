package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/alerts"
	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// patience is how long a program may take to start on a busy machine.
const patience = 2 * time.Minute

// What programs print first.
var (
	listening  = regexp.MustCompile(`(127\.0\.0\.1:\d+)`)
	demoServer = regexp.MustCompile(`server\s+(http://127\.0\.0\.1:\d+)/metrics`)
)

// rig are the running programs.
type rig struct {
	exporter, prometheus string // URLs
	configuration        string // file of the exporter
	words                string // file that the driver of the GPUs reads
	running              []*process.Process
}

// run starts a program that runs until the end.
func (r *rig) run(ctx context.Context, environment []string, program string, args ...string) (*process.Process, error) {
	p, err := process.Start(ctx, environment, program, args...)
	if err != nil {
		return nil, err
	}
	r.running = append(r.running, p)
	return p, nil
}

// end stops all of them and waits, although ctx is done.
func (r *rig) end(ctx context.Context, cancel context.CancelFunc) {
	cancel()
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer done()
	for _, p := range r.running {
		_, _ = p.Wait(ctx) // what it ends with when it is told to end does not matter
	}
}

// start gives the rig even with an error: what runs is to be ended.
func start(ctx context.Context, o *options, folder string) (*rig, error) {
	r := &rig{}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	driver, err := r.driver(limited, folder)
	if err != nil {
		return r, err
	}
	demo, truth, err := r.servers(ctx, limited, o, folder)
	if err != nil {
		return r, err
	}
	engine, err := r.engine(ctx, limited, o)
	if err != nil {
		return r, err
	}
	nobody, err := process.FreeAddress(limited)
	if err != nil {
		return r, err
	}
	found := filepath.Join(folder, "discovered")
	if err = os.Mkdir(found, 0o750); err != nil {
		return r, fmt.Errorf("folder of discovered targets: %w", err)
	}
	if _, err = write(found, "fleet.json", fmt.Sprintf(discovered, truth, nobody)); err != nil {
		return r, err
	}
	if err = r.startExporter(ctx, limited, o, folder, fmt.Sprintf(configuration, driver, demo, truth, nobody, found, engine)); err != nil {
		return r, err
	}
	return r, r.startPrometheus(ctx, limited, o, folder)
}

// driver compiles GPUs without any. One of them is divided and has had errors.
func (r *rig) driver(ctx context.Context, folder string) (string, error) {
	if out, err := exec.CommandContext(ctx, "test/nvmlstub/build.sh", folder).CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile the driver of the GPUs: %w\n%s", err, out)
	}
	var err error
	r.words, err = write(folder, "words", "gpus=3 mig=2")
	return filepath.Join(folder, "libnvidia-ml.so.1"), err
}

// servers are that of the demo, whose models are partly ill, and one that has GPUs and is always well.
func (r *rig) servers(ctx, limited context.Context, o *options, folder string) (demo, truth string, err error) {
	a, err := process.FreeAddress(limited)
	if err != nil {
		return "", "", err
	}
	p, err := r.run(ctx, nil, o.binary, "demo", "--web.listen-address="+a, "--log.level=error")
	if err != nil {
		return "", "", err
	}
	if demo, err = p.Find(limited, demoServer); err != nil {
		return "", "", err
	}
	server := filepath.Join(folder, "truthserver")
	if out, failed := exec.CommandContext(limited, "go", "build", "-o", server, "./test/truthserver").CombinedOutput(); failed != nil {
		return "", "", fmt.Errorf("build the server: %w\n%s", failed, out)
	}
	p, err = r.run(ctx, nil, server, "-ttft=120ms", "-ttft-spread=60ms", "-front=20ms", "-queue=30ms", "-itl=8ms", "-watts=300", "-fail-every=40")
	if err != nil {
		return "", "", err
	}
	truth, err = p.Find(limited, listening)
	return demo, truth, err
}

// engine is a real one, with a model that is tiny.
func (r *rig) engine(ctx, limited context.Context, o *options) (string, error) {
	a, err := process.FreeAddress(limited)
	if err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(a)
	if err != nil {
		return "", err
	}
	p, err := r.run(ctx, nil, o.engine, "--model", o.model, "--alias", "tiny", "--host", host, "--port", port, "--metrics", "--parallel", "4", "--ctx-size", "8192")
	if err != nil {
		return "", err
	}
	return a, p.Ready(limited, "http://"+a+"/health")
}

func (r *rig) startExporter(ctx, limited context.Context, o *options, folder, text string) error {
	file, err := write(folder, "aiperf-exporter.yml", text)
	if err != nil {
		return err
	}
	r.configuration = file
	a, err := process.FreeAddress(limited)
	if err != nil {
		return err
	}
	p, err := r.run(ctx, []string{"NVMLSTUB_FILE=" + r.words}, o.binary, "serve", "--config.file="+file, "--web.listen-address="+a, "--web.enable-lifecycle",
		"--web.enable-admin-api", "--log.level=error")
	if err != nil {
		return err
	}
	r.exporter = "http://" + a
	return p.Ready(limited, r.exporter+"/-/ready")
}

// interval is how often a group of rules is evaluated; here all are as often as Prometheus scrapes. Their windows stay as they are.
var interval = regexp.MustCompile(`(?m)^(\s+interval: ).*$`)

func (r *rig) startPrometheus(ctx, limited context.Context, o *options, folder string) error {
	rules := filepath.Join(folder, "rules")
	if err := os.Mkdir(rules, 0o750); err != nil {
		return fmt.Errorf("folder of rules: %w", err)
	}
	files, err := fs.Glob(alerts.Rules(), "*.yml")
	if err != nil {
		return fmt.Errorf("rules: %w", err)
	}
	for _, name := range files {
		text, failed := fs.ReadFile(alerts.Rules(), name)
		if failed != nil {
			return fmt.Errorf("rules: %w", failed)
		}
		if _, err = write(rules, name, interval.ReplaceAllString(string(text), "${1}5s")); err != nil {
			return err
		}
	}
	file, err := write(folder, "prometheus.yml", fmt.Sprintf(prometheusFile, rules+"/*.yml", r.exporter[len("http://"):]))
	if err != nil {
		return err
	}
	a, err := process.FreeAddress(limited)
	if err != nil {
		return err
	}
	p, err := r.run(ctx, nil, o.prometheus, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+a,
		"--enable-feature=exemplar-storage", "--log.level=error")
	if err != nil {
		return err
	}
	r.prometheus = "http://" + a
	return p.Ready(limited, r.prometheus+"/-/ready")
}

// live lets traffic flow. Meanwhile somebody probes, the configuration is loaded anew, and GPUs have errors.
func (r *rig) live(ctx context.Context, length time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	ticker := time.NewTicker(10 * time.Second)
	defer ticker.Stop()
	for round := 0; ; round++ {
		var errs error
		// A module that does not exist is refused, and a probe beyond the limits.
		errs = errors.Join(errs, call(ctx, http.MethodGet, r.exporter+"/probe?target=steady&module=short", http.StatusOK, http.StatusTooManyRequests))
		errs = errors.Join(errs, call(ctx, http.MethodGet, r.exporter+"/probe?target=steady&module=none", http.StatusBadRequest))
		if round == 12 {
			errs = errors.Join(errs, call(ctx, http.MethodPost, r.exporter+"/-/reload", http.StatusOK))
			errs = errors.Join(errs, os.WriteFile(r.words, []byte("gpus=3 mig=2 xid=0:13:3 xid=1:79:1"), 0o600))
		}
		if errs != nil && ctx.Err() == nil {
			return errs
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil
			}
			return ctx.Err()
		}
	}
}

// call sends a request whose answer is to be one of these.
func call(ctx context.Context, method, url string, codes ...int) error {
	request, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if !slices.Contains(codes, response.StatusCode) {
		return fmt.Errorf("%s %s answers %s: %.200s", method, url, response.Status, body)
	}
	return nil
}
