package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestChangesLeaveNothingBehind changes a collector two hundred times while it reads over real sockets and is looked at: targets come, change, go, flap and
// share hosts. In the end everything that was started has ended.
func TestChangesLeaveNothingBehind(t *testing.T) { //nolint:paralleltest // it counts the goroutines and descriptors of the process
	peers := make([]*peer, 4)
	conns := &connections{open: map[net.Conn]bool{}}
	for i := range peers {
		peers[i] = newPeer(t, serving(vllm(1000, 5000, 3)))
		peers[i].Config.ConnState = conns.note
	}
	goroutines, files := runtime.NumGoroutine(), descriptors(t)
	r := newRig(t, rigOptions{})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	for range 2 {
		running.Go(func() {
			for ctx.Err() == nil {
				r.Families()
				r.Status()
				runtime.Gosched()
			}
		})
	}
	// From then on sources are started by those who change something, which is this goroutine.
	await(t, "a collector that does not run", func() bool {
		r.mu.RLock()
		defer r.mu.RUnlock()
		return r.start != nil
	})
	random := rand.New(rand.NewPCG(1, 2))
	steady := auto("steady", peers[0].URL)
	for round := range 200 {
		targets := []Target{steady}
		for i := range 6 {
			if random.IntN(3) > 0 {
				target := auto(fmt.Sprintf("t-%d", i), peers[random.IntN(len(peers))].URL)
				target.Config.Client = fmt.Sprint(random.IntN(2))
				target.CredentialKey = fmt.Sprint(round % 3)
				targets = append(targets, target)
			}
		}
		change, err := r.Plan(r.settings.Config, targets)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range change.sources { // looks do not wait for their time
			if s.stop == nil {
				s.look(ctx)
			}
		}
		if round%5 == 4 {
			change.Discard()
		} else {
			change.Commit()
		}
		r.Remove(fmt.Sprintf("t-%d", random.IntN(6)))
	}
	r.change(nil, steady)
	// A quick machine is through before the first look of a source that runs by itself.
	await(t, "connections that never came", func() bool {
		conns.mu.Lock()
		defer conns.mu.Unlock()
		return conns.most > 0
	})
	for i := range 6 {
		r.Remove(fmt.Sprintf("t-%d", i))
	}
	if len(r.sources) != 1 || len(r.targets) != 1 {
		t.Errorf("%d sources and %d targets are left, want one", len(r.sources), len(r.targets))
	}
	stop()
	running.Wait()
	r.change(nil)
	r.Remove("steady")
	conns.awaitNone(t)
	await(t, "goroutines", func() bool { return runtime.NumGoroutine() <= goroutines })
	await(t, "descriptors", func() bool { return descriptors(t) <= files })
}

// connections are those that servers have.
type connections struct {
	mu   sync.Mutex
	open map[net.Conn]bool
	most int
}

func (c *connections) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state == http.StateClosed {
		delete(c.open, conn)
	} else {
		c.open[conn] = true
	}
	c.most = max(c.most, len(c.open))
}

func (c *connections) awaitNone(t *testing.T) {
	t.Helper()
	await(t, "connections", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.open) == 0
	})
	if c.most == 0 {
		t.Error("there never was a connection: the test shows nothing")
	}
}

// await waits until what other goroutines and the kernel do has been done.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for range 10_000 {
		if done() {
			return
		}
		<-again.C
	}
	t.Errorf("%s are left", what)
}

func descriptors(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("cannot count descriptors: %v", err)
	}
	return len(files)
}
