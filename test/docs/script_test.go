package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// script is what bash runs to follow a page: its files are written and its commands run in their order, in one shell.
func script(p *page) string {
	var out strings.Builder
	out.WriteString("source \"$given/session.sh\"\n" + prelude[p.path] + "\n")
	for i := range p.blocks {
		b := &p.blocks[i]
		at := fmt.Sprintf("%s:%d", p.path, b.line)
		switch name := b.file(); {
		case name != "":
			fmt.Fprintf(&out, "mkdir -p \"$(dirname %[1]s)\"\ncat >%[1]s <<'END OF THE FILE'\n%[2]sEND OF THE FILE\n", name, b.text)
		case b.language == "sh":
			fmt.Fprintf(&out, "at=%s\necho \"--- $at\"\n", at)
			for _, command := range commands(b.text) {
				out.WriteString(translate(command) + "\n")
			}
		case b.language == "python" && reasonOf(b) == "":
			fmt.Fprintf(&out, "at=%s\necho \"--- $at\"\npython3 - <<'END OF THE FILE'\n%sEND OF THE FILE\n", at, b.text)
		}
	}
	return out.String()
}

// commands splits a block at the ends of its lines, but for those that go on with the next one.
func commands(text string) []string {
	return strings.Split(strings.ReplaceAll(strings.TrimRight(text, "\n"), "\\\n", " "), "\n")
}

// translate is what is run for a command of a page.
func translate(command string) string {
	for _, s := range shorter {
		command = strings.ReplaceAll(command, s.from, s.to)
	}
	for _, d := range daemons {
		if d.pattern.MatchString(command) {
			return fmt.Sprintf("background %s '%s'", d.ready, strings.ReplaceAll(command, "'", `'\''`))
		}
	}
	if command == ".ci/run" || strings.HasPrefix(command, ".ci/run ") {
		return "bash -n " + command
	}
	if names := goals(command); slices.ContainsFunc(names, func(name string) bool { return targets[name] != "" }) {
		return "make --dry-run" + strings.TrimPrefix(command, "make") + "\n" // no output is hidden: it names what is wrong
	}
	if once.MatchString(command) && !exitCode.MatchString(command) {
		return "measured " + command
	}
	if found := exitCode.FindStringSubmatch(command); found != nil {
		return "exits " + found[1] + " " + command
	}
	return command
}

// once finds the one-shot, which says by its exit code whether an SLO was missed.
var once = regexp.MustCompile(`^(bin/)?aiperf-exporter run\b`)

// exitCode finds what a page says of a command that does not succeed: "# exit code 1: why".
var exitCode = regexp.MustCompile(`# exit code ([1-9]\d*)\b`)

var quoted = regexp.MustCompile(`'[^']*'|"[^"]*"`)

// goals are the targets that a make command asks for; none of other commands.
func goals(command string) (names []string) {
	rest, isMake := strings.CutPrefix(command, "make ")
	if !isMake {
		return nil
	}
	rest, _, _ = strings.Cut(quoted.ReplaceAllString(rest, ""), "#")
	for word := range strings.FieldsSeq(rest) {
		if !strings.ContainsAny(word, "=-") || targets[word] != "" {
			names = append(names, word)
		}
	}
	return names
}

func TestCommandsAreTranslated(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"an ordinary command is run as it is", "aiperf-exporter check config a.yml  # says all", "aiperf-exporter check config a.yml  # says all"},
		{"a daemon is started and waited for", "bin/aiperf-exporter --config.file=a.yml  # serves", "background " + exporterReady + " 'bin/aiperf-exporter --config.file=a.yml  # serves'"},
		{"one that a page sends into the background is the page's", "aiperf-exporter demo &", "aiperf-exporter demo &"},
		{"a report of its series is none", "aiperf-exporter series --config.file=a.yml", "aiperf-exporter series --config.file=a.yml"},
		{"make builds", "make build    # TAGS=k8s_sd", "make build    # TAGS=k8s_sd"},
		{"what takes long is only looked at", "make test race BENCH='-only x'", "make --dry-run test race BENCH='-only x'\n"},
		{"another end is told", "aiperf-exporter run # exit code 3: missed", "exits 3 aiperf-exporter run # exit code 3: missed"},
		{"its version is no daemon", "aiperf-exporter --version", "aiperf-exporter --version"},
		{"a line goes on", "curl -s \\\n  x", "curl -s    x"},
		{"five minutes are shortened", "aiperf-exporter run --duration=5m", "measured aiperf-exporter run --duration=5s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, command := range commands(tt.text) {
				got = append(got, translate(command))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
