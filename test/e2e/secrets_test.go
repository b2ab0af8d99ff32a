//go:build e2e && secrets

package e2e

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// leak is a daemon whose secrets may be seen nowhere.
type leak struct {
	exporter
	parrot   *parrot
	folder   string
	receiver *receiver
	surface  *surface
}

// password is that of the pages.
const user = "admin"

// ask asks for a page as one who may.
func (l *leak) ask(t *testing.T, method, path string, header http.Header) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(process.Within(t, patience), method, l.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(r.Header, header)
	r.SetBasicAuth(user, plant("webpass"))
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	var out strings.Builder
	_ = resp.Header.Write(&out)
	if resp.Header.Get("Content-Type") == "text/event-stream" { // which has no end
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<24)
		for n := 0; n < 12 && lines.Scan(); n++ {
			out.WriteString(lines.Text() + "\n")
		}
		return resp.StatusCode, out.String()
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%s: %v", path, err)
	}
	return resp.StatusCode, out.String() + string(body)
}

// see asks for a page, adds it to what can be seen and gives it.
func (l *leak) see(t *testing.T, method, path string, header http.Header) string {
	t.Helper()
	code, text := l.ask(t, method, path, header)
	if code == 0 || code == http.StatusNotFound || code == http.StatusUnauthorized {
		t.Errorf("%s %s: status %d %s", method, path, code, text)
	}
	l.surface.see(t, method+" "+path+" "+header.Get("Accept"), text)
	return text
}

// startLeak starts a daemon with leaky, and lines that say where metrics are sent.
func startLeak(t *testing.T, format, otlp string, environment ...string) *leak {
	t.Helper()
	l := &leak{parrot: startParrot(t), folder: t.TempDir(), receiver: startReceiver(t), surface: newSurface()}
	for name, private := range keyFiles {
		content := plant(name) + "\n"
		if private {
			content = key(name)
		}
		l.write(t, name+".key", content)
	}
	l.write(t, "tls.crt", certificate())
	l.write(t, "otlp.txt", "x-more: "+plant("otlpfile")+"\n")
	hash, err := bcrypt.GenerateFromPassword([]byte(plant("webpass")), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	l.write(t, "web.yml", fmt.Sprintf("basic_auth_users: {%s: %q}\n", user, hash))
	l.write(t, "c.yml", fill(leaky, l.parrot)+strings.ReplaceAll(fill(otlp, l.parrot), "RECEIVER", l.receiver.address))
	environment = append(environment, "LEAKY_VALUE="+plant("value"))
	a := address(t)
	l.exporter = exporter{process.ForTest(t, environment, binary, "serve", "--config.file="+filepath.Join(l.folder, "c.yml"), "--web.listen-address="+a,
		"--web.config.file="+filepath.Join(l.folder, "web.yml"), "--web.enable-admin-api", "--web.enable-lifecycle", "--web.enable-pprof",
		"--log.level=debug", "--log.format="+format), "http://" + a}
	eventually(t, patience, func() error {
		if code, text := l.ask(t, http.MethodGet, "/-/ready", nil); code != http.StatusOK {
			return fmt.Errorf("status %d: %s\n%s", code, text, l.Output())
		}
		return nil
	})
	return l
}

func (l *leak) write(t *testing.T, name, content string) {
	t.Helper()
	next := filepath.Join(l.folder, name+".next")
	if err := os.WriteFile(next, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(l.folder, name)); err != nil {
		t.Fatal(err)
	}
}

// everywhere looks at all that a running daemon shows.
func (l *leak) everywhere(t *testing.T) {
	t.Helper()
	var all []func()
	get := func(path string) { all = append(all, func() { l.see(t, http.MethodGet, path, nil) }) }
	for _, format := range []string{scrape.Text, scrape.OpenMetrics, scrape.Protobuf} {
		l.see(t, http.MethodGet, "/metrics", http.Header{"Accept": {format}})
	}
	for _, path := range []string{
		"/", "/config", "/api/v1/status/buildinfo", "/api/v1/status/runtimeinfo", "/api/v1/status/config", "/api/v1/status/flags", "/api/v1/targets",
		"/api/v1/discovery", "/api/v1/collectors", "/api/v1/alerts/preview", "/api/v1/events", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2",
	} {
		get(path)
	}
	for _, target := range leakyTargets(t) {
		get("/targets/" + target)
		get("/api/v1/targets/" + target)
		get("/api/v1/targets/" + target + "/records?limit=100")
		get("/probe?debug=true&target=" + target)
		get("/probe?target=" + target)
	}
	for range waysToAnswer {
		get("/probe?debug=true&module=probed&target=" + url.QueryEscape(l.parrot.url))
		get("/probe?module=filed&target=" + url.QueryEscape(l.parrot.url))
	}
	sideBySide(all)
	list := l.see(t, http.MethodGet, "/api/v1/captures", nil)
	var captures struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(list[max(0, strings.IndexByte(list, '{')):]), &captures); err != nil { // behind the headers
		t.Errorf("%v in %s", err, list)
	}
	if len(captures.Data) < 20 {
		t.Errorf("only %d captures", len(captures.Data))
	}
	all = nil
	for _, c := range captures.Data {
		all = append(all, func() { l.captured(t, c.ID) })
	}
	sideBySide(all)
}

// captured looks at a capture, as it is downloaded and at the bytes in it.
func (l *leak) captured(t *testing.T, id string) {
	t.Helper()
	_, text := l.ask(t, http.MethodGet, "/api/v1/captures/"+id, nil)
	l.surface.see(t, "captures", text)
	var decoded strings.Builder // in one piece: a read may end in the middle of a secret
	for _, m := range encoded.FindAllStringSubmatch(text, -1) {
		plain, err := base64.StdEncoding.DecodeString(m[1])
		if err != nil {
			t.Error(err)
		}
		decoded.Write(plain)
	}
	l.surface.see(t, "captures, decoded", decoded.String())
}

// sideBySide does all of it, much of it at the same time: most answers to a probe are waited for.
func sideBySide(all []func()) {
	var running sync.WaitGroup
	room := make(chan struct{}, 16)
	for _, do := range all {
		room <- struct{}{}
		running.Go(func() {
			defer func() { <-room }()
			do()
		})
	}
	running.Wait()
}

// encoded is what a capture has in base64.
var encoded = regexp.MustCompile(`"(?:body|data)":"([^"]*)"`)

// command runs a subcommand and adds what it writes.
func (l *leak) command(t *testing.T, args ...string) {
	t.Helper()
	c := exec.CommandContext(process.Within(t, patience), binary, args...)
	c.Env = append(c.Environ(), "LEAKY_VALUE="+plant("value"))
	out, _ := c.CombinedOutput() // many targets fail
	if len(out) == 0 {
		t.Errorf("%v writes nothing", args)
	}
	l.surface.see(t, strings.Join(args[:2], " "), string(out))
}

// mistakes are what is wrong with a file beside a secret.
var mistakes = map[string]string{
	"an unknown key":          "secrets: {broken: {value: %[broken]s, fille: x}}\n",
	"a wrong type":            "secrets: {broken: {value: [%[broken]s]}}\n",
	"a map in place of it":    "secrets: {broken: {value: {%[broken]s: 1}}}\n",
	"no map around it":        "secrets: {broken: %[broken]s}\n",
	"twice the same key":      "secrets: {broken: {value: %[broken]s, value: %[torn]s}}\n",
	"an alias for it":         "secrets: {broken: {value: *%[broken]u}}\n",
	"no end of a text":        "secrets: {broken: {value: \"%[torn]u\n",
	"no end of a list":        "secrets: {broken: {value: [%[torn]s\n",
	"a tag":                   "secrets: {broken: {value: !!int %[broken]s}}\n",
	"a tab":                   "secrets:\n  broken:\n\tvalue: %[broken]s\n",
	"a control character":     "secrets: {broken: {value: \"%[broken]u\x01\"}}\n",
	"a slash in a password":   "http_clients: {x: {proxy_url: \"http://joe:%[broken]q/@h\"}}\ntargets: [{name: x, url: \"http://joe:1/%[torn]q@h:port\"}]\n",
	"a variable elsewhere":    "global: {max_in_flight: \"${LEAKY_VALUE}\"}\n",
	"two ways at once":        "http_clients: {x: {basic_auth: {username: j, password: %[broken]s, password_file: f}, bearer_token: %[torn]s}}\n",
	"a method of SD":          "target_discovery: [{name: x, http_sd_configs: [{url: \"http://joe:%[broken]u@:x/%%\", basic_auth: {password: %[torn]s, user: x}}], template: {load: quick}}]\n",
	"a header with a newline": "targets: [{name: x, url: http://h, model: m, endpoint: {type: chat, headers: {X-Api-Key: \"%[broken]q\\n\"}, api_key: \"%[torn]q\\n\"}}]\n",
	"a secret that is a name": "targets: [{name: x, url: http://h, model: m, endpoint: {type: chat, secret: value, api_key: %[broken]s}}]\n",
	"otlp":                    "otlp: {enabled: true, endpoint: \"http://joe:%[broken]u@h/x y\", headers: {\"x y\": %[torn]s}}\n",
}

// mistaken puts a file with each mistake beside the daemon, and checks it by itself.
func (l *leak) mistaken(t *testing.T) {
	t.Helper()
	good, err := os.ReadFile(filepath.Join(l.folder, "c.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range mistakes {
		l.write(t, "c.yml", fill(content, l.parrot))
		if code, text := l.ask(t, http.MethodPost, "/-/reload", nil); code != http.StatusInternalServerError {
			t.Errorf("%s: status %d %s", name, code, text)
		} else {
			l.surface.see(t, "reload with "+name, text)
		}
		var all []func()
		for _, path := range []string{"/api/v1/status/runtimeinfo", "/"} {
			all = append(all, func() { l.see(t, http.MethodGet, path, nil) })
		}
		for _, format := range []string{"text", "json"} {
			all = append(all, func() {
				l.command(t, "check", "config", filepath.Join(l.folder, "c.yml"), "--format="+format, "--strict-secrets")
			})
		}
		sideBySide(all)
	}
	l.write(t, "c.yml", string(good))
}

func TestNoSecretIsShownAnywhere(t *testing.T) {
	t.Parallel()
	for format, test := range map[string]struct {
		otlp        string
		environment []string
		sent        []string
	}{
		"logfmt": {
			leakyOTLP,
			[]string{"AIPERF_EXPORTER__otlp__headers__x-level=" + plant("otlpkey")},
			[]string{"otlp", "otlpfile", "otlpkey"},
		},
		"json": {
			"otlp: {enabled: true, insecure: true, endpoint: RECEIVER, interval: 1s}\n",
			[]string{"OTEL_EXPORTER_OTLP_HEADERS=x-tenant=" + url.PathEscape(plant("otlpenv"))},
			[]string{"otlpenv"},
		},
	} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			l := startLeak(t, format, test.otlp, test.environment...)
			l.heardAll(t)
			l.everywhere(t)

			l.write(t, "file.key", plant("filenew")+"\n") // rotated
			eventually(t, patience, func() error {
				if !l.parrot.heard(plant("filenew")) {
					return fmt.Errorf("the new key has not come")
				}
				return nil
			})
			l.mistaken(t)
			config, err := os.ReadFile(filepath.Join(l.folder, "c.yml"))
			if err != nil {
				t.Fatal(err)
			}
			l.write(t, "c.yml", strings.ReplaceAll(string(config), fill("%[apikey]s", l.parrot), fill("%[reloaded]s", l.parrot)))
			if code, text := l.ask(t, http.MethodPost, "/-/reload", nil); code != http.StatusOK {
				t.Fatalf("reload: status %d %s", code, text)
			}
			l.heardAll(t, "filenew", "reloaded", "modkey", "modheader", "modparam", "modfile")
			l.everywhere(t)
			l.commands(t)
			l.exported(t, test.sent)
			l.crash(t)
			l.surface.see(t, "log", l.Output())
			t.Logf("%d bytes of %d places searched", l.surface.bytes, len(l.surface.places))
		})
	}
}

// answersEnough is after how many answers each secret has stood in each place of each, in each spelling, several times.
const answersEnough = 400

// heardAll waits until the parrot was told everything that must travel, and has had time to say it back. also are those that did not at the start.
func (l *leak) heardAll(t *testing.T, also ...string) {
	t.Helper()
	eventually(t, patience, func() error {
		for name, travels := range planted {
			if (travels || slices.Contains(also, name)) && !l.parrot.heard(plant(name)) {
				return fmt.Errorf("%s has not come", name)
			}
		}
		return nil
	})
	from := l.parrot.answered()
	eventually(t, patience, func() error {
		if n := l.parrot.answered() - from; n < answersEnough {
			return fmt.Errorf("%d answers since", n)
		}
		return nil
	})
}

// commands are the others of the program. They have a parrot of their own: what the daemon has said to its own, before a reload and after, they cannot know.
func (l *leak) commands(t *testing.T) {
	t.Helper()
	l.write(t, "once.yml", fill(leaky, startParrot(t)))
	config := filepath.Join(l.folder, "once.yml")
	l.command(t, "check", "config", config, "--print", "--strict-secrets")
	l.write(t, "tls.yml", fill(leakyTLS, l.parrot))
	l.command(t, "check", "config", filepath.Join(l.folder, "tls.yml"), "--print", "--strict-secrets")
	l.command(t, "check", "config", config, "--format=json")
	l.command(t, "check", "sd", config, "set")
	l.command(t, "check", "sd", config, "set", "--format=json")
	l.command(t, "check", "web-config", filepath.Join(l.folder, "web.yml"))
	l.command(t, "series", "--config.file="+config)
	for _, format := range []string{"table", "json", "csv"} {
		out := t.TempDir()
		l.command(t, "run", "--config.file="+config, "--requests=12", "--grace=5s", "--format="+format, "--records", "--out="+out, "--log.level=debug")
		for _, name := range []string{"profile_export_aiperf.json", "profile_export_aiperf.csv", "profile_export.jsonl"} {
			files, err := filepath.Glob(filepath.Join(out, "*", name)) // a folder for each target
			if err != nil || len(files) == 0 {
				t.Errorf("%s: %d files, %v", name, len(files), err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Error(err)
				}
				l.surface.see(t, "run "+name, string(text))
			}
		}
	}
}

// exported looks at what was sent over OTLP, with headers that only their receiver may see.
func (l *leak) exported(t *testing.T, sent []string) {
	t.Helper()
	var values []string // of headers
	for _, r := range l.receiver.waitFor(t, 2) {
		l.surface.see(t, "OTLP", r.body.String())
		for _, of := range r.headers {
			values = append(values, of...)
		}
	}
	for _, name := range sent {
		if !strings.Contains(strings.Join(values, "\n"), plant(name)) {
			t.Errorf("no header has %s", name)
		}
	}
}

// crash has the daemon say where it is, and end with a trace of all goroutines.
func (l *leak) crash(t *testing.T) {
	t.Helper()
	wrote := func(text string) {
		t.Helper()
		eventually(t, patience, func() error {
			if !strings.Contains(l.Output(), text) {
				return fmt.Errorf("no %s in what it wrote", text)
			}
			return nil
		})
	}
	if err := l.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	wrote("goroutine profile: total")
	if err := l.Signal(syscall.SIGABRT); err != nil {
		t.Fatal(err)
	}
	if code, err := l.Wait(process.Within(t, time.Minute)); err != nil || code != 2 {
		t.Errorf("code %d, %v, want 2, that of a crash", code, err)
	}
	wrote("SIGABRT: abort")
}
