//go:build packages

package packages

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/demo"
	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// hardened starts a program in a system as its unit does: as a user without capabilities who cannot get any, with nothing to write to but its state.
// The arguments are the system, its state folder, USER:GROUP as numbers, and the program with its own.
const hardened = `
root=$1 state=$2 user=$3
shift 3
mount --bind "$root" "$root"
mount --bind "$root$state" "$root$state"
mount -o remount,bind,ro "$root"
exec setpriv --no-new-privs chroot --userspec="$user" --groups= "$root" "$@"
`

// targeted is a configuration whose only target is a server, as the demo's.
func targeted(server string) string {
	return fmt.Sprintf(`loads:
  often: {mode: constant, rate: 5}
targets:
  - name: demo
    url: http://%s
    model: demo-steady-8b
    endpoint: {type: chat}
    load: often
`, server)
}

// demoServer serves until the end of the test and gives its address.
func demoServer(t *testing.T) string {
	t.Helper()
	server := demo.New(demo.DefaultConfig())
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return address.String()
}

// measures starts the program of a system with its configuration, and sees that it measures the target, keeps its state and stops.
func (r root) measures(user, state, program, config string) {
	t := r.t
	t.Helper()
	address, err := process.FreeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := process.ForTest(t, nil, "unshare", "--mount", "--propagation=private", "--", "sh", "-ec", hardened, "sh", r.dir, state, user,
		program, "--config.file="+config, "--budget.state-file="+state+"/budget.state", "--web.listen-address="+address)
	ctx := process.Within(t, patience)
	if err = p.Ready(ctx, "http://"+address+"/-/ready"); err != nil {
		t.Fatal(err)
	}
	err = process.Until(ctx, func() error {
		f, scrapeErr := scrape.Get(ctx, "http://"+address+"/metrics")
		if scrapeErr != nil {
			return scrapeErr
		}
		for _, name := range []string{"aiperf_requests_total", "aiperf_time_to_first_token_seconds", "aiperf_tokens_total"} {
			if f.Sum(name, scrape.Labels{"target": "demo"}) == 0 {
				return fmt.Errorf("%s of the target is 0", name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err = p.Terminate(); err != nil {
		t.Fatal(err)
	}
	if code, err := p.Wait(ctx); err != nil || code != 0 {
		t.Errorf("got exit code %d, %v, want 0", code, err)
	}
}

// user is USER:GROUP of the system's user of that name, as numbers.
func (r root) user(name string) string {
	r.t.Helper()
	for line := range strings.Lines(r.read("/etc/passwd")) {
		if fields := strings.Split(line, ":"); fields[0] == name && len(fields) > 3 {
			return fields[2] + ":" + fields[3]
		}
	}
	r.t.Fatalf("the system has no user %s", name)
	return ""
}

// version is what the program of a system says it is.
func (r root) version(program string) string {
	r.t.Helper()
	first, _, _ := strings.Cut(r.run(program, "--version"), "\n")
	return first
}

// exists tells whether there is a file in the system.
func (r root) exists(name string) bool {
	_, err := os.Lstat(r.path(name))
	return err == nil
}
