//go:build e2e

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// halfHour is a time zone in which neither the hour nor the day ends in the next half an hour.
func halfHour() string {
	if time.Now().Minute() < 30 {
		return noon()
	}
	if hour := time.Now().UTC().Hour(); hour >= 2 && hour < 16 {
		return "Asia/Kolkata" // UTC+5:30
	}
	return "America/St_Johns" // UTC-3:30, and in summer UTC-2:30
}

// purse is what a target may spend, in requests: each costs the same.
type purse struct {
	target string // "" = all together
	budget string // format of its budget: requests, then output tokens or dollars
	unit   float64
	// low and high are between which limits lie.
	low, high int
	limit     int
	// most is how many requests the server may have seen by now.
	most int
}

// slack is how many requests of a target may be on their way: those that run, of this life and of the one before.
const slack = 2 * 4

// purses have a limit of each kind. An answer has 4 tokens, of $0.001 each.
func purses() []*purse {
	return []*purse{
		{target: "requests", budget: "{requests_per_hour: %v, tz: %s}", unit: 1, low: 100, high: 900},
		{target: "tokens", budget: "{output_tokens_per_day: %v, tz: %s}", unit: 4, low: 100, high: 900},
		{target: "dollars", budget: "{usd_per_day: %.3f, usd_per_million_output: 1000, tz: %s}", unit: .004, low: 100, high: 900},
		{target: "", budget: "{requests_per_day: %v, tz: %s}", unit: 1, low: 600, high: 2400},
	}
}

// careless is a daemon whose budgets change, and that is killed.
type careless struct {
	peer           *peer
	random         *rand.Rand
	purses         []*purse
	config         string // file
	zone           string
	state          string
	absent         string // the target that the configuration does not have now
	kills, reloads int
}

// change writes a configuration with other limits, and sometimes without one of the targets. From now on it may hold or not.
func (c *careless) change(t *testing.T) {
	t.Helper()
	c.absent = ""
	if c.random.IntN(4) == 0 {
		c.absent = c.purses[c.random.IntN(len(c.purses)-1)].target
	}
	var global, targets strings.Builder
	for _, p := range c.purses {
		p.limit = p.low + c.random.IntN(p.high-p.low)
		p.most = max(p.most, p.limit)
		budget := fmt.Sprintf(p.budget, p.unit*float64(p.limit), c.zone)
		switch p.target {
		case "":
			fmt.Fprintf(&global, "global: {max_in_flight: 100, budget: %s}\n", budget)
		case c.absent:
		default:
			fmt.Fprintf(&targets, "  - {name: %s, url: %q, model: peer, endpoint: {type: chat}, workload: short, load: flood, budget: %s}\n", p.target, c.peer.url, budget)
		}
	}
	text := global.String() + `workloads: {short: {input_tokens: 32, output_tokens: 4}}
loads: {flood: {mode: poisson, rate: 150, max_in_flight: 4}}
targets:
` + targets.String()
	if err := os.WriteFile(c.config+".next", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(c.config+".next", c.config); err != nil {
		t.Fatal(err)
	}
}

// holds notes that the limits hold by now: nothing more is sent beyond them, whatever was before.
func (c *careless) holds() {
	for _, p := range c.purses {
		air := slack
		if p.target == "" {
			air = slack * len(c.purses)
		}
		p.most = max(p.limit, min(p.most, c.seen(p.target)+air))
	}
}

// seen is how many requests the server has seen of a target, or of all.
func (c *careless) seen(target string) int {
	if target != "" {
		return len(c.peer.asked(target))
	}
	n := 0
	for _, p := range c.purses {
		if p.target != "" {
			n += len(c.peer.asked(p.target))
		}
	}
	return n
}

// check holds what the server has seen against the limits.
func (c *careless) check(t *testing.T) {
	t.Helper()
	for _, p := range c.purses {
		if n := c.seen(p.target); n > p.most {
			t.Errorf("target %q, after %d kills and %d reloads: the server has seen %d requests, want at most %d", p.target, c.kills, c.reloads, n, p.most)
		}
	}
}

// start starts a life.
func (c *careless) start(t *testing.T) exporter {
	t.Helper()
	a := address(t)
	return exporter{process.ForTest(t, nil, binary, "serve", "--config.file="+c.config, "--budget.state-file="+c.state, "--web.enable-lifecycle", "--web.listen-address="+a), "http://" + a}
}

// live lets a life go on for a random time, in which limits change.
func (c *careless) live(t *testing.T) {
	t.Helper()
	e := c.start(t)
	if c.random.IntN(4) == 0 { // does not live to see traffic
		time.Sleep(time.Duration(c.random.Int64N(int64(time.Second))))
		c.kill(t, e)
		return
	}
	if err := e.Ready(process.Within(t, patience), e.url+"/-/ready"); err != nil {
		t.Fatal(err)
	}
	c.holds()
	for range c.random.IntN(4) {
		time.Sleep(time.Duration(c.random.Int64N(int64(150 * time.Millisecond))))
		c.change(t)
		c.reloads++
		if c.random.IntN(2) == 0 { // is killed, or told of the next change, in the middle of it
			if err := e.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			continue
		}
		eventually(t, patience, func() error {
			if status := post(t, e.url+"/-/reload", nil); status != http.StatusOK { // another one runs
				return fmt.Errorf("reload: status %d", status)
			}
			return nil
		})
		c.holds()
	}
	time.Sleep(time.Duration(c.random.Int64N(int64(300 * time.Millisecond))))
	c.kill(t, e)
}

// kill ends a life as a crash does.
func (c *careless) kill(t *testing.T, e exporter) {
	t.Helper()
	if err := e.Kill(); err != nil {
		t.Fatal(err)
	}
	if code, err := e.Wait(process.Within(t, patience)); err != nil || code != -1 {
		t.Fatalf("it ended before it was killed: exit code %d, %v", code, err)
	}
	c.kills++
	c.check(t)
}

// A daemon that is killed at random moments, while its limits change, never spends more than it may, and can always read what it has written.
func TestKillsAtRandomMomentsNeverOverspend(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	folder := t.TempDir()
	c := &careless{
		peer: startPeer(t, plain), random: rand.New(rand.NewPCG(seed, 0)), purses: purses(), zone: halfHour(),
		config: filepath.Join(folder, "aiperf-exporter.yml"), state: filepath.Join(folder, "budget"),
	}
	c.change(t)
	for c.kills < 36 {
		c.live(t)
		if c.random.IntN(3) == 0 {
			c.change(t) // while nobody lives
		}
	}
	for c.absent != "" { // all are there in the last life
		c.change(t)
	}
	e := c.start(t)
	if err := e.Ready(process.Within(t, patience), e.url+"/-/ready"); err != nil {
		t.Fatal(err)
	}
	c.holds()
	eventually(t, patience, func() error {
		f := e.scrape(t)
		for _, p := range c.purses {
			if p.target != "" && f.Sum("aiperf_arrivals_dropped_total", scrape.Labels{"target": p.target, "reason": "budget"}) < 20 {
				return fmt.Errorf("%s has not dropped 20 arrivals for its budget", p.target)
			}
		}
		return nil
	})
	c.check(t)
	if code, _ := stop(t, e); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	c.check(t)
	if c.seen("") < 100 || c.reloads < 10 {
		t.Errorf("%d requests and %d reloads show nothing", c.seen(""), c.reloads)
	}
	t.Logf("%d kills, %d reloads, %d requests, of at most %d", c.kills, c.reloads, c.seen(""), c.purses[len(c.purses)-1].most)
}

// refused starts the daemon, which must end at once and say why.
func (c *careless) refused(t *testing.T, want ...string) {
	t.Helper()
	e := c.start(t)
	code, err := e.Wait(process.Within(t, patience))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range append(want, c.state) {
		if out := e.Output(); code != 1 || !strings.Contains(out, text) {
			t.Errorf("exit code %d, want 1, and %q in:\n%s", code, text, out)
		}
	}
}

// spend starts the daemon, and kills it after it has sent more requests.
func (c *careless) spend(t *testing.T, requests int) {
	t.Helper()
	before := c.seen("")
	e := c.start(t)
	eventually(t, patience, func() error {
		if n := c.seen("") - before; n < requests {
			return fmt.Errorf("%d requests, want %d", n, requests)
		}
		return nil
	})
	c.kill(t, e)
}

// A state file that somebody has cut or overwritten is not taken for one in which nothing is spent.
func TestADamagedStateFileIsRefusedUntilItIsRestoredOrRemoved(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	folder := t.TempDir()
	c := &careless{
		peer: startPeer(t, plain), random: rand.New(rand.NewPCG(seed, 0)), purses: purses(), zone: halfHour(),
		config: filepath.Join(folder, "aiperf-exporter.yml"), state: filepath.Join(folder, "budget"),
	}
	c.change(t)
	c.spend(t, 20)
	whole, err := os.ReadFile(c.state)
	if err != nil {
		t.Fatal(err)
	}
	garbage := bytes.Clone(whole)
	for i := range garbage {
		garbage[i] = byte(c.random.Uint32())
	}
	flipped := bytes.Clone(whole)
	flipped[c.random.IntN(len(flipped))] ^= 1 << c.random.IntN(8)
	for name, damaged := range map[string][]byte{
		"cut": whole[:c.random.IntN(len(whole))], "garbage": garbage, "empty": {}, "one bit": flipped,
	} {
		if err := os.WriteFile(c.state, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		c.refused(t, "to begin with nothing used")
		if now, err := os.ReadFile(c.state); err != nil || !bytes.Equal(now, damaged) {
			t.Errorf("%s: the file was changed: %v", name, err)
		}
	}
	if err := os.WriteFile(c.state, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	c.spend(t, 1)
}

// disk mounts a small file system of its own.
func disk(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=64k,mode=700"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// fillDisk writes a file until the disk is full, and gives its name.
func fillDisk(t *testing.T, folder string) string {
	t.Helper()
	name := filepath.Join(folder, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			return name
		}
	}
}

// A disk that is full holds back what the file does not cover, and says so. Nothing is overspent when the daemon is killed meanwhile.
func TestAFullDiskNeverOverspends(t *testing.T) {
	t.Parallel()
	folder := disk(t)
	c := &careless{
		peer: startPeer(t, plain), random: rand.New(rand.NewPCG(1, 2)), purses: purses(), zone: halfHour(),
		config: filepath.Join(t.TempDir(), "aiperf-exporter.yml"), state: filepath.Join(folder, "budget"),
	}
	for c.change(t); c.absent != ""; {
		c.change(t)
	}
	e := c.start(t)
	c.peer.waitFor(t, "requests", 1)
	filler := fillDisk(t, folder)
	eventually(t, patience, func() error {
		f := e.scrape(t)
		if writable := f.Sum("aiperf_exporter_budget_state_writable", nil); writable != 0 {
			return fmt.Errorf("writable is %v", writable)
		}
		return nil
	})
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	c.peer.waitFor(t, "requests", len(c.peer.asked("requests"))+5)
	eventually(t, patience, func() error {
		if writable := e.scrape(t).Sum("aiperf_exporter_budget_state_writable", nil); writable != 1 {
			return fmt.Errorf("writable is %v when there is room again, want 1", writable)
		}
		return nil
	})
	filler = fillDisk(t, folder)
	eventually(t, patience, func() error {
		if writable := e.scrape(t).Sum("aiperf_exporter_budget_state_writable", nil); writable != 0 {
			return fmt.Errorf("writable is %v", writable)
		}
		return nil
	})
	c.kill(t, e)
	c.refused(t, "no space left on device")
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	c.spend(t, 1)
}
