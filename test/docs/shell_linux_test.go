//go:build docs

package docs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inside tells this program that it is started anew to become a shell.
const inside = "AIPERF_EXPORTER_DOCS_SHELL"

func TestMain(m *testing.M) {
	if os.Getenv(inside) == "" {
		os.Exit(m.Run())
	}
	fmt.Fprintln(os.Stderr, becomeShell(os.Args[1:]))
	os.Exit(1)
}

// shell runs a script in namespaces of its own: its network has nothing but a loopback interface, so that pages may all use the same ports and reach
// nobody, and its processes all end with it.
func shell(ctx context.Context, script string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "-c", script)
	cmd.Env = append(cmd.Environ(), inside+"=yes")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWPID}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return cmd
}

// becomeShell switches the loopback interface on; it only returns when something is wrong.
func becomeShell(args []string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err = unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("switch on lo: %w", err)
	}
	program, err := exec.LookPath("bash")
	if err != nil {
		return err
	}
	if err = os.Unsetenv(inside); err != nil {
		return err
	}
	return syscall.Exec(program, append([]string{"bash"}, args...), os.Environ())
}
