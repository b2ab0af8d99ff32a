//go:build kubernetes

package kubernetes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// patience is how long a test waits for something that takes a moment on an idle machine.
const patience = time.Minute

// The programs, as seen from this folder.
const (
	binary    = "../../bin/aiperf-exporter-kubernetes"
	installed = "../../.cache/kubernetes"
	etcd      = installed + "/bin/etcd"
	apiServer = installed + "/bin/kube-apiserver"
)

// rig is what all tests share. A test that hurts it does not run beside others.
var rig struct {
	truthServer string // the program; `go run` would put a process between us and it
	cluster     *cluster
}

func TestMain(m *testing.M) {
	code, err := with(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func with(tests func() int) (code int, err error) {
	for _, program := range []string{binary, etcd, apiServer} {
		if _, err = os.Stat(program); err != nil {
			return 0, fmt.Errorf("%w (run this by make kubernetes)", err)
		}
	}
	folder, err := os.MkdirTemp("", "aiperf-exporter-kubernetes-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	rig.truthServer = filepath.Join(folder, "truthserver")
	build := exec.Command("go", "build", "-o", rig.truthServer, "../truthserver")
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	if err = build.Run(); err != nil {
		return 0, fmt.Errorf("build the truth server: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	rig.cluster, err = newCluster(ctx, filepath.Join(folder, "cluster"))
	defer func() {
		cancel()
		rig.cluster.end()
	}()
	if err != nil {
		return 0, err
	}
	return tests(), nil
}
