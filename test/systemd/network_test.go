//go:build systemd

package systemd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// inside does work with the network of the machine.
func (m *machine) inside(work func() error) error {
	runtime.LockOSThread() // and never unlocked if there is no way back: the thread ends with the goroutine then
	mine, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer mine.Close()
	theirs, err := os.Open("/proc/" + m.init + "/ns/net")
	if err != nil {
		return err
	}
	defer theirs.Close()
	if err = unix.Setns(int(theirs.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("network of the machine: %w", err)
	}
	err = work()
	if back := unix.Setns(int(mine.Fd()), unix.CLONE_NEWNET); back != nil {
		return errors.Join(err, back)
	}
	runtime.UnlockOSThread()
	return err
}

// listen opens a port of the machine.
func (m *machine) listen(t *testing.T) net.Listener {
	t.Helper()
	var l net.Listener
	err := m.inside(func() (err error) {
		l, err = net.Listen("tcp4", "127.0.0.1:0")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// get asks a server of the machine.
func (m *machine) get(t *testing.T, url string) (string, error) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(_ context.Context, _, address string) (conn net.Conn, err error) {
		err = m.inside(func() (err error) {
			conn, err = net.DialTimeout("tcp4", address, patience)
			return err
		})
		return conn, err
	}}
	client := &http.Client{Transport: transport, Timeout: patience}
	answer, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status)
	}
	return string(body), err
}
