//go:build containers

package containers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// wanted is how a container shall be run: as a cluster with restricted pods runs it, without a capability, and with a root that is only read.
type wanted struct {
	files    string   // of its image
	args     []string // the whole command
	env      []string
	folder   string // it works in
	uid, gid uint32
	mounts   []specs.Mount
	memory   int64  // limit in bytes
	network  string // path of the namespace of another one; empty = one of its own, with nothing but a loopback interface
}

// of runs an image with arguments.
func (i *image) of(args ...string) wanted {
	return wanted{
		files: i.files, args: append(append([]string{}, i.Config.Entrypoint...), args...), env: i.Config.Env, folder: i.Config.WorkingDir,
		uid: 65532, gid: 65532, memory: 512 << 20, mounts: []specs.Mount{tmpfs("/tmp", "mode=1777", "size=16m")},
	}
}

func tmpfs(place string, options ...string) specs.Mount {
	return specs.Mount{Destination: place, Type: "tmpfs", Source: "tmpfs", Options: append([]string{"nosuid", "nodev", "noexec"}, options...)}
}

// bind shows a file or folder of this machine, by default only to be read.
func bind(from, to, mode string) specs.Mount {
	return specs.Mount{Destination: to, Type: "bind", Source: from, Options: []string{"rbind", "nosuid", "nodev", mode}}
}

// spec is what runc is told.
func (w *wanted) spec(t *testing.T) *specs.Spec {
	t.Helper()
	network := specs.LinuxNamespace{Type: specs.NetworkNamespace, Path: w.network}
	pids := int64(256)
	return &specs.Spec{
		Version: "1.0.2",
		Root:    &specs.Root{Path: w.files, Readonly: true},
		Process: &specs.Process{
			User: specs.User{UID: w.uid, GID: w.gid}, Args: w.args, Env: w.env, Cwd: w.folder,
			Capabilities: &specs.LinuxCapabilities{}, NoNewPrivileges: true,
		},
		Hostname: "container",
		Mounts: append([]specs.Mount{
			{Destination: "/proc", Type: "proc", Source: "proc"},
			{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
			{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
			{Destination: "/sys/fs/cgroup", Type: "cgroup", Source: "cgroup", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
		}, w.mounts...),
		Linux: &specs.Linux{
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace}, {Type: specs.MountNamespace}, network,
			},
			Resources:     &specs.LinuxResources{Memory: &specs.LinuxMemory{Limit: &w.memory}, Pids: &specs.LinuxPids{Limit: &pids}},
			MaskedPaths:   []string{"/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/sys/firmware"},
			ReadonlyPaths: []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
			Seccomp:       defaultCalls(t),
		},
	}
}

// container is one that runs, or has.
type container struct {
	id, state string
	cmd       *exec.Cmd
	out       output
	ended     chan struct{}
}

type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// start runs a container until the end of the test.
func start(t *testing.T, w wanted) *container {
	t.Helper()
	folder := t.TempDir()
	text, err := json.Marshal(w.spec(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "config.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	c := &container{id: "aiperf-" + strconv.Itoa(os.Getpid()) + "-" + filepath.Base(filepath.Dir(folder)) + filepath.Base(folder), state: filepath.Join(folder, "state"), ended: make(chan struct{})}
	c.cmd = exec.Command("runc", "--root", c.state, "run", "--bundle", folder, c.id)
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait() // the exit code is looked at
	}()
	t.Cleanup(func() {
		c.runc("delete", "--force", c.id)
		<-c.ended
		if out := c.out.String(); t.Failed() {
			t.Logf("%s wrote:\n%s", strings.Join(w.args, " "), out[max(0, len(out)-4000):])
		}
	})
	return c
}

// runc runs it for a container and gives what it wrote, and its exit code.
func (c *container) runc(args ...string) (string, int) {
	out, err := exec.Command("runc", append([]string{"--root", c.state}, args...)...).CombinedOutput()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(out), ended.ExitCode()
	}
	if err != nil {
		return err.Error(), -1
	}
	return string(out), 0
}

// exec runs a command inside.
func (c *container) exec(command ...string) (string, int) {
	return c.runc(append([]string{"exec", c.id}, command...)...)
}

// pid is the first process of a container as this machine sees it.
func (c *container) pid(t *testing.T) int {
	t.Helper()
	var state struct{ Pid int }
	eventually(t, func() error {
		out, code := c.runc("state", c.id)
		if code != 0 {
			return fmt.Errorf("runc state: exit code %d: %s", code, out)
		}
		if err := json.Unmarshal([]byte(out), &state); err != nil {
			return err
		}
		if state.Pid == 0 {
			return errors.New("no process yet")
		}
		return nil
	})
	return state.Pid
}

// network is the path of a container's namespace.
func (c *container) network(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("/proc/%d/ns/net", c.pid(t))
}

// wait gives the exit code.
func (c *container) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-c.ended:
	case <-time.After(patience):
		t.Fatal("the container has not ended")
	}
	return c.cmd.ProcessState.ExitCode()
}

// terminate asks the first process to end and gives its exit code.
func (c *container) terminate(t *testing.T) int {
	t.Helper()
	if out, code := c.runc("kill", c.id, "TERM"); code != 0 {
		t.Fatalf("runc kill: exit code %d: %s", code, out)
	}
	return c.wait(t)
}

// eventually waits until condition holds.
func eventually(t *testing.T, condition func() error) {
	t.Helper()
	end := time.Now().Add(patience)
	for {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}
