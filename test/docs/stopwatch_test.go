//go:build docs

package docs

import (
	"flag"
	"testing"
	"time"
)

var cold = flag.Bool("cold", false, "measure the demo with nothing compiled before")

// README.md promises a demo with one command. How long it takes is said, not judged: from a clone that was never built to a page that answers, with the
// modules downloaded and what the toolchain has compiled before, and with -cold without the latter.
func TestTheDemoRunsAfterOneCommand(t *testing.T) {
	needPrograms(t, "make", "curl", "setsid", "git")
	folder := t.TempDir()
	began := time.Now()
	clone(t, folder)
	cloned := time.Since(began)
	began = time.Now()
	environment := ""
	if *cold {
		environment = "export GOCACHE=" + t.TempDir() + "\n"
	}
	out, err := follow(t, folder, folder, "source \"$given/session.sh\"\n"+environment+translate("make demo")+`
until curl -s http://127.0.0.1:9749/metrics 2>/dev/null | grep '^aiperf_requests_total.*outcome="success".* [1-9]' >/dev/null; do sleep 0.2; done
`)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("clone %v, then make demo until the first request was answered %v; compiled anew: %v",
		cloned.Round(time.Second), time.Since(began).Round(time.Second), *cold)
}
