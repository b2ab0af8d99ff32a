//go:build systemd

package systemd

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// suites are the systems, by their systemd.
var suites = map[string]struct {
	name         string
	notifyReload bool // it knows Type=notify-reload
}{
	"systemd 252": {"bookworm", false},
	"systemd 257": {"trixie", true},
}

func TestTheServiceIsWhatItsUnitSays(t *testing.T) {
	t.Parallel()
	for name, suite := range suites {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := boot(t, suite.name)
			for _, test := range []struct {
				name string
				run  func(*testing.T, *machine)
			}{
				{"the files are without fault", filesAreGood},
				{"as installed it runs and sends nothing", runsAsInstalled},
				{"it has started when it can be scraped", startWaits},
				{"it may do little", mayDoLittle},
				{"a reload is over when the configuration is in effect", reloadWaits},
				{"a broken configuration changes nothing but the status", brokenReload},
				{"a broken configuration is told at the start", brokenStart},
				{"a credential is sent that it alone can read", credential},
				{"it writes into its own folder and nowhere else", writes},
				{"a hung process is replaced", watchdog},
				{"a killed process is replaced", killed},
				{"requests end before the service does", drains},
				{"systemd opens the port", socketActivation},
			} {
				t.Run(test.name, func(t *testing.T) { test.run(t, m) })
			}
			if suite.notifyReload {
				t.Run("systemd may send the signal of a reload itself", func(t *testing.T) {
					m.dropIn(t, "file:notify-reload.conf")
					reloadWaits(t, m)
					brokenReload(t, m)
					m.is(t, "Type", "notify-reload")
				})
			}
		})
	}
}

// maxExposure is the most that systemd may find fault with, in tenths: 100 is a service without any hardening.
const maxExposure = 15

func filesAreGood(t *testing.T, m *machine) {
	t.Helper()
	if out := m.run(t, "systemd-analyze", "verify", "aiperf-exporter.service", "aiperf-exporter.socket"); out != "" {
		t.Errorf("systemd-analyze verify:\n%s", out)
	}
	exposure := strings.TrimSpace(m.run(t, "systemd-analyze", "security", "--no-pager", "--threshold="+strconv.Itoa(maxExposure), service))
	t.Log(exposure[strings.LastIndex(exposure, "\n")+1:])
	if out := m.run(t, "aiperf-exporter", "check", "config", config); !strings.Contains(out, "ok: 0 targets") {
		t.Errorf("check config:\n%s", out)
	}
	// As its comments ask, the target there has its own lines.
	text, err := os.ReadFile(deploy + "aiperf-exporter.yml")
	if err != nil {
		t.Fatal(err)
	}
	before, example, _ := strings.Cut(string(text), "\ntargets:\n")
	m.write(t, "/tmp/example.yml", before+"\ntargets:\n"+strings.ReplaceAll(example, "#  ", "  "))
	if out := m.run(t, "aiperf-exporter", "check", "config", "/tmp/example.yml"); !strings.Contains(out, "ok: 1 target") {
		t.Errorf("check config of the example:\n%s", out)
	}
	m.dropIn(t, "file:gpu.conf", "file:socket.conf", "file:credentials.conf")
	if out := m.run(t, "systemd-analyze", "verify", "aiperf-exporter.service"); out != "" {
		t.Errorf("systemd-analyze verify with drop-ins:\n%s", out)
	}
}

func runsAsInstalled(t *testing.T, m *machine) {
	t.Helper()
	m.run(t, "systemctl", "start", service)
	m.is(t, "ActiveState", "active")
	m.is(t, "StatusText", "0 targets")
	if _, err := m.get(t, "http://"+address+"/metrics"); err != nil {
		t.Error(err)
	}
}

// oneTarget is a configuration with a target that gets a request an hour.
const oneTarget = `
loads: {default: {mode: constant, interval: 1h}}
targets:
  - {name: one, url: "http://127.0.0.1:1", model: m, endpoint: {type: chat}}
`

// twoTargets has one more.
const twoTargets = oneTarget + `  - {name: two, url: "http://127.0.0.1:1", model: m, endpoint: {type: chat}}
`
