package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// Limits of requests to targets that may be ill, and of all of the twin. Those that are always well beside ill ones have the defaults, which are longer.
const (
	connectLimit    = 2 * time.Second
	idleLimit       = 3 * time.Second
	firstTokenLimit = 3 * time.Second
	totalLimit      = 6 * time.Second
)

// What is kept of requests while bodies are: little, so that it is soon full.
const (
	capturesSize = 4 << 20
	historySize  = 16 << 20 // as the exporter has it
)

// configuration is that of both exporters, without their targets: requests per second of a target, then what is kept of requests.
const configuration = `
global: {max_in_flight: 10000, max_start_per_second: 200}
workloads:
  short: {input_tokens: 32, output_tokens: 32}
http_clients:
  default: {max_event_size: 64KiB, max_response_size: 1MiB}
loads:
  steady: {mode: constant, rate: %g, max_in_flight: 50, backoff: {mode: "off"}}
collectors: {server: {enabled: false}, gpu: {source: "off"}}
defaults: {model: truth, endpoint: {type: chat}, workload: short, load: steady}
metrics: {histograms: native}
debug: {history: 10, keep_bodies: %[2]t, capture: {enabled: %[2]t, max_streams: 1000, max_size: 4MiB, max_stream_size: 256KiB}}
targets:
`

// patience is how long a program may take to start, or to come to rest.
const patience = time.Minute

// listening is what the truth server writes first.
var listening = regexp.MustCompile(`(?m)^(127\.0\.0\.1:\d+)$`)

// rig are the running programs and what stands between them.
type rig struct {
	options *options
	folder  string
	fleet   []member
	server  string // addresses
	nobody  string
	full    string
	proxies proxies
	peers   map[string]*peer  // by group
	routes  map[string]string // addresses at which the groups reach the server while they are well
	backlog backlog
	started []*process.Process
	told    exporter // the one with faults
	twin    exporter
}

// exporter is one of the two.
type exporter struct {
	*process.Process
	file, url string
}

// newRig has nothing running yet.
func newRig(o *options, folder string) *rig {
	return &rig{options: o, folder: folder, fleet: fleet(o.targets), peers: map[string]*peer{}, routes: map[string]string{}}
}

// build starts everything, with all targets well.
func (r *rig) build(ctx context.Context) error {
	for _, step := range []func(context.Context) error{r.startServer, r.startProxies, r.layRoutes, r.startExporters} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// start starts a program that ends when ctx does.
func (r *rig) start(ctx context.Context, environment []string, program string, args ...string) (*process.Process, error) {
	p, err := process.Start(ctx, environment, program, args...)
	if err == nil {
		r.started = append(r.started, p)
	}
	return p, err
}

// wait waits until all programs have ended.
func (r *rig) wait(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	for _, p := range r.started {
		_, _ = p.Wait(ctx) // that it was killed is no fault
	}
}

func (r *rig) startServer(ctx context.Context) error {
	program := filepath.Join(r.folder, "truthserver")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./test/truthserver").CombinedOutput(); err != nil {
		return fmt.Errorf("build the truth server: %w\n%s", err, out)
	}
	server, err := r.start(ctx, nil, program, "-ttft=40ms", "-ttft-spread=60ms", "-itl=4ms")
	if err != nil {
		return err
	}
	starting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r.server, err = server.Find(starting, listening)
	return err
}

func (r *rig) startProxies(ctx context.Context) error {
	address, err := process.FreeAddress(ctx)
	if err != nil {
		return err
	}
	host, port, _ := strings.Cut(address, ":")
	proxy, err := r.start(ctx, []string{"LOG_LEVEL=error"}, r.options.toxiproxy, "-host="+host, "-port="+port)
	if err != nil {
		return err
	}
	r.proxies = proxies{"http://" + address}
	starting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return proxy.Ready(starting, r.proxies.url+"/version")
}

// layRoutes puts a proxy or a peer before the server for each group that needs one.
func (r *rig) layRoutes(ctx context.Context) (err error) {
	if r.nobody, err = process.FreeAddress(ctx); err != nil {
		return err
	}
	if err = r.backlog.fill(ctx); err != nil {
		return err
	}
	r.full = r.backlog.address
	r.routes[direct] = r.server
	if r.routes[proxied], err = r.proxies.add(ctx, proxied, r.server); err != nil {
		return err
	}
	for i := range faults {
		f := &faults[i]
		switch {
		case f.toxic != nil || f.down:
			r.routes[f.name], err = r.proxies.add(ctx, f.name, r.server)
		case f.script != nil:
			if r.peers[f.name], err = startPeer(ctx, r.server, f.script); err == nil {
				r.routes[f.name] = r.peers[f.name].listener.Addr().String()
			}
		default:
			r.routes[f.name] = r.server
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *rig) startExporters(ctx context.Context) (err error) {
	if r.told, err = r.startExporter(ctx, "exporter.yml", r.configuration(r.fleet, false, false)); err != nil {
		return err
	}
	var healthy []member
	for _, m := range r.fleet {
		if m.ill == nil {
			m.strict = true
			healthy = append(healthy, m)
		}
	}
	r.twin, err = r.startExporter(ctx, "twin.yml", r.configuration(healthy, false, false))
	return err
}

// configuration is that of an exporter with these targets.
func (r *rig) configuration(members []member, ill, bodies bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, configuration, r.options.rate/float64(len(r.fleet)), bodies)
	for _, m := range members {
		url, limits := "http://"+r.routes[m.group], ""
		if m.ill != nil || m.strict {
			limits = fmt.Sprintf(", timeouts: {connect: %v, first_token: %v, idle: %v, total: %v}", connectLimit, firstTokenLimit, idleLimit, totalLimit)
			if ill && m.ill != nil && m.ill.url != nil {
				url = m.ill.url(r)
			}
		}
		fmt.Fprintf(&b, "  - {name: %s, url: %q%s}\n", m.name, url, limits)
	}
	return b.String()
}

// startExporter starts one with a configuration, that is written to a file of this name.
func (r *rig) startExporter(ctx context.Context, name, text string) (exporter, error) {
	starting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	e := exporter{file: filepath.Join(r.folder, name)}
	address, err := process.FreeAddress(ctx)
	if err != nil {
		return e, err
	}
	if err = os.WriteFile(e.file, []byte(text), 0o600); err != nil {
		return e, err
	}
	e.url = "http://" + address
	e.Process, err = r.start(ctx, nil, r.options.binary, "serve", "--config.file="+e.file, "--web.listen-address="+address,
		"--web.enable-admin-api", "--web.enable-lifecycle", "--web.enable-pprof")
	if err != nil {
		return e, err
	}
	return e, e.Ready(starting, e.url+"/-/ready")
}

// turn makes all groups ill that can be, or well again, and has bodies kept or not.
func (r *rig) turn(ctx context.Context, ill, bodies bool) error {
	for i := range faults {
		f, err := &faults[i], error(nil)
		switch {
		case f.anew && !ill:
			err = r.proxies.renew(ctx, f.name, r.routes[f.name], r.server)
		case f.toxic != nil:
			err = r.proxies.put(ctx, f.name, f.toxic, ill)
		case f.down:
			err = r.proxies.enable(ctx, f.name, r.routes[f.name], r.server, !ill)
		case f.script != nil:
			r.peers[f.name].ill.Store(ill)
		}
		if err != nil {
			return err
		}
	}
	if err := os.WriteFile(r.told.file, []byte(r.configuration(r.fleet, ill, bodies)), 0o600); err != nil {
		return err
	}
	return r.told.post(ctx, "/-/reload")
}

// post asks for something to be done.
func (e *exporter) post(ctx context.Context, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+path, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", path, answer.Status, said)
	}
	return err
}

// rest stops the traffic until all requests have ended, gives what the exporter takes then, and lets it go on if it shall.
func (e *exporter) rest(ctx context.Context, resume bool) (look, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := e.post(ctx, "/-/pause"); err != nil {
		return look{}, err
	}
	err := process.Until(ctx, func() error {
		f, err := scrape.Get(ctx, e.url+"/metrics")
		if n := f.Sum("aiperf_exporter_inflight_requests", nil); err == nil && n > 0 {
			err = fmt.Errorf("%v requests have not ended", n)
		}
		return err
	})
	if err != nil {
		return look{}, err
	}
	l, err := e.look(ctx, true)
	if err == nil && resume {
		err = e.post(ctx, "/-/resume")
	}
	return l, err
}
