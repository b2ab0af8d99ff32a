//go:build docs

package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// checkers are programs that read a file of theirs as it stands on a page, with a key at the beginning of a line by which it is recognised.
var checkers = []struct {
	key     *regexp.Regexp
	command []string
}{
	{regexp.MustCompile(`(?m)^(scrape_configs|rule_files):`), []string{"prometheus/bin/promtool", "check", "config", "--lint=none"}},
	{regexp.MustCompile(`(?m)^groups:`), []string{"prometheus/bin/promtool", "check", "rules", "--lint=none"}},
	{regexp.MustCompile(`(?m)^(route|inhibit_rules):`), []string{"alertmanager/bin/amtool", "check-config"}},
}

// Prometheus and Alertmanager take what pages show for them, in a copy of the repository, so that the rules which are named are there.
func TestFilesOfPrometheusAreTaken(t *testing.T) {
	folder := t.TempDir()
	clone(t, folder)
	checked := 0
	for _, p := range pages(t) {
		for i := range p.blocks {
			b := &p.blocks[i]
			for _, c := range checkers {
				if b.language != "yaml" || !c.key.MatchString(b.text) {
					continue
				}
				checked++
				file := filepath.Join(folder, fmt.Sprintf("block-%d.yml", checked))
				if err := os.WriteFile(file, []byte(complete(b.text)), 0o600); err != nil {
					t.Fatal(err)
				}
				program, err := filepath.Abs(filepath.Join(root, ".cache", c.command[0]))
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.CommandContext(process.Within(t, 5*time.Minute), program, append(c.command[1:], file)...)
				cmd.Dir = folder
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s:%d: %v\n%s", p.path, b.line, err, out)
				}
			}
		}
	}
	t.Logf("%d files", checked)
	if checked < 4 {
		t.Error("few were found")
	}
}

// complete adds what Alertmanager wants in a file that only inhibits.
func complete(text string) string {
	if regexp.MustCompile(`(?m)^inhibit_rules:`).MatchString(text) && !regexp.MustCompile(`(?m)^route:`).MatchString(text) {
		return text + "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n"
	}
	return text
}
