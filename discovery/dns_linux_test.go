package discovery

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// inside says to the process that a test started that it is alone in a network of its own.
const inside = "DISCOVERY_TEST_ALONE"

// Discovery by DNS asks the servers of /etc/resolv.conf at port 53. The test runs itself again in namespaces of its own, where both are the test's.
func TestDNSIsFollowedAndAFailingServerKeepsWhatWasKnown(t *testing.T) {
	t.Parallel()
	if os.Getenv(inside) != "" {
		followDNS(t)
		return
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), inside+"=1")
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := command.CombinedOutput()
	switch {
	case err != nil && len(out) == 0:
		t.Skipf("no namespaces: %v", err)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("%s", out)
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	}
}

func followDNS(t *testing.T) {
	t.Helper()
	if err := ownNetwork(t); err != nil {
		t.Skipf("no network of its own: %v", err)
	}
	server := &nameServer{}
	server.serve(t)
	server.addresses.Store(&[]string{"10.0.0.1", "10.0.0.2"})
	d := start(t)
	if err := d.Apply([]SetConfig{setOf(t, "dns_sd_configs", "names: [vllm.example.net]\ntype: A\nport: 8000\nrefresh_interval: 50ms\n")}); err != nil {
		t.Fatal(err)
	}
	found := d.await(t, "two addresses", names("10.0.0.1:8000", "10.0.0.2:8000"))
	if got := found[0].Targets[0]; got.Discovered["__meta_dns_name"] != "vllm.example.net" || got.Origin != "vllm.example.net" {
		t.Errorf("got %+v", got)
	}
	server.addresses.Store(&[]string{"10.0.0.3"})
	d.await(t, "another one", names("10.0.0.3:8000"))
	server.code.Store(int64(dnsmessage.RCodeServerFailure))
	failing := d.await(t, "an error", func(found []Set) bool { return found[0].LastError != "" })
	if !names("10.0.0.3:8000")(failing) {
		t.Errorf("a server that fails changes the targets: %+v", failing[0].Targets)
	}
	before := failing[0].LastRefresh
	asked := server.asked.Load()
	d.await(t, "more lookups that fail", func(found []Set) bool {
		if found[0].LastRefresh.After(before) {
			t.Errorf("a lookup that failed counts as an answer")
		}
		return server.asked.Load() > asked+3
	})
	server.code.Store(int64(dnsmessage.RCodeNameError))
	d.await(t, "that the name is gone, and no error", func(found []Set) bool { return names()(found) && found[0].LastError == "" })
}

// ownNetwork brings up the loopback interface of the namespace, and puts the test's name server into /etc/resolv.conf.
func ownNetwork(t *testing.T) error {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	loopback.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, loopback); err != nil {
		return err
	}
	file := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(file, []byte("nameserver 127.0.0.1\n"), 0o600); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	return unix.Mount(file, "/etc/resolv.conf", "", unix.MS_BIND, "")
}

// nameServer answers each question for addresses with the same.
type nameServer struct {
	addresses atomic.Pointer[[]string]
	code      atomic.Int64
	asked     atomic.Int64
}

func (s *nameServer) serve(t *testing.T) {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(context.Background(), "udp", "127.0.0.1:53")
	if err != nil {
		t.Skipf("no port 53: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buffer := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			if answer := s.answer(buffer[:n]); answer != nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-ended
	})
}

// answer is nil for what is no question.
func (s *nameServer) answer(question []byte) []byte {
	s.asked.Add(1)
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil || len(m.Questions) != 1 {
		return nil
	}
	m.Response, m.RCode, m.Additionals = true, dnsmessage.RCode(s.code.Load()), nil
	if m.RCode == dnsmessage.RCodeSuccess {
		for _, address := range *s.addresses.Load() {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET, TTL: 1},
				Body:   &dnsmessage.AResource{A: [4]byte(net.ParseIP(address).To4())},
			})
		}
	}
	packed, err := m.Pack()
	if err != nil {
		return nil
	}
	return packed
}
