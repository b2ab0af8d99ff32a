package discovery

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lister is a server of HTTP discovery, whose answer can be changed.
type lister struct {
	answer atomic.Pointer[string] // nil: it fails
	asked  atomic.Int64
}

func (l *lister) set(answer string) { l.answer.Store(&answer) }

// ServeHTTP implements http.Handler.
func (l *lister) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.asked.Add(1)
	user, password, _ := r.BasicAuth()
	answer := l.answer.Load()
	switch {
	case user != "joe" || password != "basic-hunter22":
		http.Error(w, "who are you?", http.StatusUnauthorized)
	case answer == nil:
		http.Error(w, "no", http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(*answer))
	}
}

func TestHTTPIsFollowedAndAFailingServerKeepsWhatWasKnown(t *testing.T) {
	t.Parallel()
	server := &lister{}
	server.set(list("a:1"))
	ts := httptest.NewServer(server)
	t.Cleanup(ts.Close)
	d := start(t)
	config := setOf(t, "http_sd_configs", "url: "+ts.URL+"/t?token=query-hunter22\nrefresh_interval: 100ms\nbasic_auth: {username: joe, password: basic-hunter22}\n")
	if err := d.Apply([]SetConfig{config}); err != nil {
		t.Fatal(err)
	}
	found := d.await(t, "a target", names("a:1"))
	if got := found[0].Targets[0]; got.Origin != ts.URL+"/t?token=<redacted>:0" || got.Discovered["__meta_url"] != ts.URL+"/t?token=<redacted>" {
		t.Errorf("the address that is asked is shown as %q and %q", got.Origin, got.Discovered["__meta_url"])
	}
	server.set(`[{"targets": ["b:1"]}, {"targets": ["c:1"]}]`)
	d.await(t, "two others", names("b:1", "c:1"))
	server.answer.Store(nil)
	failing := d.await(t, "an error", func(found []Set) bool { return found[0].LastError != "" })
	if !names("b:1", "c:1")(failing) {
		t.Errorf("a server that fails changes the targets: %+v", failing[0].Targets)
	}
	if want := "server returned HTTP status 500 Internal Server Error"; failing[0].LastError != want {
		t.Errorf("last error %q, want %q", failing[0].LastError, want)
	}
	server.set(list("b:1"))
	d.await(t, "a smaller answer", func(found []Set) bool { return names("b:1")(found) && found[0].LastError == "" })
}

func TestAWrongPasswordIsAnErrorAndNoTarget(t *testing.T) {
	t.Parallel()
	server := &lister{}
	server.set(list("a:1"))
	ts := httptest.NewServer(server)
	t.Cleanup(ts.Close)
	d := start(t)
	if err := d.Apply([]SetConfig{setOf(t, "http_sd_configs", "url: "+ts.URL+"\n")}); err != nil {
		t.Fatal(err)
	}
	found := d.await(t, "an error", func(found []Set) bool { return found[0].LastError != "" })
	if len(found[0].Targets) != 0 || found[0].Complete || !strings.Contains(found[0].LastError, "401") {
		t.Errorf("got %+v", found[0])
	}
}

func TestErrorsAreRedactedBeforeTheyAreShownOrLogged(t *testing.T) {
	t.Parallel()
	d := newDiscovery(t)
	d.deps.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter22", "<secret>") }
	d.run(t)
	// Nobody listens there: the error of the client quotes the whole address.
	if err := d.Apply([]SetConfig{setOf(t, "http_sd_configs", "url: http://127.0.0.1:1/?token=hunter22\n")}); err != nil {
		t.Fatal(err)
	}
	found := d.await(t, "an error", func(found []Set) bool { return found[0].LastError != "" })
	if got := found[0].LastError; strings.Contains(got, "hunter22") || !strings.Contains(got, "<redacted>") {
		t.Errorf("shown: %s", got)
	}
	for {
		line := <-d.logged.lines
		if strings.Contains(line, "hunter22") {
			t.Errorf("logged: %s", line)
		}
		if strings.Contains(line, "set=fleet") && strings.Contains(line, "mechanism=http") {
			return
		}
	}
}

func TestAnAddressToWhichAServerRedirectsIsNotQuotedWhole(t *testing.T) {
	t.Parallel()
	ts := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/targets?signature=hunter22", http.StatusFound))
	t.Cleanup(ts.Close)
	d := start(t)
	if err := d.Apply([]SetConfig{setOf(t, "http_sd_configs", "url: "+ts.URL+"\n")}); err != nil {
		t.Fatal(err)
	}
	found := d.await(t, "an error", func(found []Set) bool { return found[0].LastError != "" })
	if got := found[0].LastError; strings.Contains(got, "hunter22") || !strings.Contains(got, "http://127.0.0.1:1/targets?signature=<redacted>") {
		t.Errorf("shown: %s", got)
	}
}

func TestAnUnchangedSetGoesOnOverAnotherConfiguration(t *testing.T) {
	t.Parallel()
	server := &lister{}
	server.set(list("a:1"))
	ts := httptest.NewServer(server)
	t.Cleanup(ts.Close)
	d := start(t)
	config := func() SetConfig {
		return setOf(t, "http_sd_configs", "url: "+ts.URL+"\nrefresh_interval: 1h\nbasic_auth: {username: joe, password: basic-hunter22}\n")
	}
	if err := d.Apply([]SetConfig{config()}); err != nil {
		t.Fatal(err)
	}
	d.await(t, "a target", names("a:1"))
	server.answer.Store(nil) // whoever asks again loses it
	other := SetConfig{Name: "other", Configs: mechanisms(t, "file_sd_configs", "files: [/nowhere/x.json]\n").Configs()}
	again := config()
	again.Relabel = append(again.Relabel, steps(t, "target_label: team\nreplacement: ml\n")...)
	if err := d.Apply([]SetConfig{other, again}); err != nil {
		t.Fatal(err)
	}
	found := d.Found()
	got := []string{found[0].Name, found[1].Name}
	if diff := cmp.Diff([]string{"other", "fleet"}, got); diff != "" {
		t.Errorf("sets (-want +got):\n%s", diff)
	}
	if !names("a:1")(found[1:]) || found[1].Targets[0].Labels["team"] != "ml" {
		t.Errorf("got %+v, want the target with its new label at once", found[1].Targets)
	}
	if n := server.asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
	if err := d.Apply([]SetConfig{again}); err != nil {
		t.Fatal(err)
	}
	if found := d.Found(); !names("a:1")(found) {
		t.Errorf("got %+v", found)
	}
}

func TestATargetOfAnotherMechanismTakesOverWithinTheGrace(t *testing.T) {
	t.Parallel()
	d := start(t)
	first := &lister{}
	first.set(list("a:1", "b:1"))
	ts := httptest.NewServer(first)
	t.Cleanup(ts.Close)
	config := func(path string) SetConfig {
		c := setOf(t, "http_sd_configs", "url: "+ts.URL+path+"\nbasic_auth: {username: joe, password: basic-hunter22}\n")
		c.Grace = DefaultGrace
		return c
	}
	if err := d.Apply([]SetConfig{config("/one")}); err != nil {
		t.Fatal(err)
	}
	d.await(t, "targets", names("a:1", "b:1"))
	first.set(list("a:1"))
	if err := d.Apply([]SetConfig{config("/two")}); err != nil {
		t.Fatal(err)
	}
	d.await(t, "one that is found and one that is missing", func(found []Set) bool {
		there := shownNames(found[0].Targets)
		if !slices.Contains(there, "a:1") || !slices.Contains(there, "b:1") {
			t.Fatalf("a target is gone: %v", there)
		}
		return found[0].Targets[0].Missing.IsZero() && !found[0].Targets[1].Missing.IsZero()
	})
}

func shownNames(targets []Target) []string {
	var out []string
	for _, t := range targets {
		out = append(out, t.Name)
	}
	return out
}

func TestAConfigurationThatCannotWorkChangesNothing(t *testing.T) {
	t.Parallel()
	server := &lister{}
	server.set(list("a:1"))
	ts := httptest.NewServer(server)
	t.Cleanup(ts.Close)
	d := start(t)
	good := setOf(t, "http_sd_configs", "url: "+ts.URL+"\nbasic_auth: {username: joe, password: basic-hunter22}\n")
	if err := d.Apply([]SetConfig{good}); err != nil {
		t.Fatal(err)
	}
	d.await(t, "a target", names("a:1"))
	bad := setOf(t, "http_sd_configs", "url: "+ts.URL+"\ntls_config: {ca_file: /nowhere/ca.pem}\n")
	err := d.Apply([]SetConfig{bad})
	if err == nil || !strings.HasPrefix(err.Error(), `target_discovery "fleet": http_sd_configs: unable to read CA cert`) {
		t.Errorf("got %v", err)
	}
	if found := d.Found(); !names("a:1")(found) {
		t.Errorf("got %+v", found)
	}
}
