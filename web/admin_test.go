package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// controlled gives options with everything allowed, and what was called.
func controlled(reload error) (o *Options, calls *[]string) {
	o, calls = options(), new([]string)
	o.Controls = Controls{
		Reload: func(ctx context.Context) error {
			*calls = append(*calls, fmt.Sprint("reload, cancelled: ", ctx.Err() != nil))
			return reload
		},
		Quit: func() { *calls = append(*calls, "quit") },
		Pause: func(target string, paused bool) error {
			*calls = append(*calls, fmt.Sprintf("pause %q: %v", target, paused))
			if target == "x" {
				return errors.New(`there is no target "x"`)
			}
			return nil
		},
	}
	return o, calls
}

func TestControlsDoWhatIsAskedAndSaySo(t *testing.T) {
	t.Parallel()
	rejected := errors.New("a.yml:3:5: targets[0].url: must be a URL\na.yml:9:5: targets[1].name: is missing")
	for name, test := range map[string]struct {
		method, path string
		reload       error
		code         int
		body         string
		calls        []string
	}{
		"a configuration is loaded anew":              {http.MethodPost, "/-/reload", nil, 200, "reloaded\n", []string{"reload, cancelled: false"}},
		"a reload may be a PUT":                       {http.MethodPut, "/-/reload", nil, 200, "reloaded\n", []string{"reload, cancelled: false"}},
		"a rejected configuration is told in full":    {http.MethodPost, "/-/reload", rejected, 500, rejected.Error() + "\n", []string{"reload, cancelled: false"}},
		"a second reload at the same time is refused": {http.MethodPost, "/-/reload", fmt.Errorf("reload: %w", ErrReloading), 409, "reload: a reload is running\n", []string{"reload, cancelled: false"}},
		"the daemon is stopped":                       {http.MethodPost, "/-/quit", nil, 200, "stopping\n", []string{"quit"}},
		"a stop may be a PUT":                         {http.MethodPut, "/-/quit", nil, 200, "stopping\n", []string{"quit"}},
		"one target is paused":                        {http.MethodPost, "/-/pause?target=a", nil, 200, "paused a\n", []string{`pause "a": true`}},
		"all targets are paused":                      {http.MethodPost, "/-/pause", nil, 200, "paused all targets\n", []string{`pause "": true`}},
		"one target is resumed":                       {http.MethodPost, "/-/resume?target=a", nil, 200, "resumed a\n", []string{`pause "a": false`}},
		"a target that is not there is told":          {http.MethodPost, "/-/pause?target=x", nil, 404, "there is no target \"x\"\n", []string{`pause "x": true`}},
		"a misspelled key does not pause everything":  {http.MethodPost, "/-/pause?taget=a", nil, 400, "only one target can be named: ?target=NAME; without it, it is all of them\n", nil},
		"two targets are not one":                     {http.MethodPost, "/-/pause?target=a&target=b", nil, 400, "only one target can be named: ?target=NAME; without it, it is all of them\n", nil},
		"a broken query does not pause everything":    {http.MethodPost, "/-/pause?target=%zz", nil, 400, "only one target can be named: ?target=NAME; without it, it is all of them\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, calls := controlled(test.reload)
			resp, body := ask(t, newHandler(t, o), test.method, test.path)
			if resp.StatusCode != test.code {
				t.Errorf("code %d, want %d", resp.StatusCode, test.code)
			}
			if diff := cmp.Diff(test.body, body); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.calls, *calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if got := resp.Header.Get("Cache-Control"); got != "no-store" {
				t.Errorf("Cache-Control %q, want no-store", got)
			}
		})
	}
}

func TestReloadGoesOnWhenWhoeverAskedHasGoneAway(t *testing.T) {
	t.Parallel()
	o, calls := controlled(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	newHandler(t, o).ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPost, "/-/reload", http.NoBody))
	if diff := cmp.Diff([]string{"reload, cancelled: false"}, *calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestWhatIsSwitchedOffSaysHowToSwitchItOn(t *testing.T) {
	t.Parallel()
	h := newHandler(t, options())
	for path, flag := range map[string]string{
		"/-/reload": "--web.enable-lifecycle", "/-/quit": "--web.enable-lifecycle", "/-/pause": "--web.enable-admin-api", "/-/resume": "--web.enable-admin-api",
	} {
		resp, body := ask(t, h, http.MethodPost, path)
		if resp.StatusCode != http.StatusForbidden || !strings.Contains(body, flag) || strings.Count(body, "\n") != 1 {
			t.Errorf("%s: code %d, body %q, want 403 with a line about %s", path, resp.StatusCode, body, flag)
		}
	}
	if resp, _ := ask(t, h, http.MethodPost, "/api/v1/targets/a/pause"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("pause in the API: code %d, want 404", resp.StatusCode)
	}
}

func TestControlsCannotBeRead(t *testing.T) {
	t.Parallel()
	for path, allow := range map[string]string{"/-/reload": "POST, PUT", "/-/quit": "POST, PUT", "/-/pause": "POST", "/-/resume": "POST"} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodDelete} {
			o, calls := controlled(nil)
			resp, _ := ask(t, newHandler(t, o), method, path)
			if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != allow || len(*calls) != 0 {
				t.Errorf("%s %s: code %d, Allow %q, calls %q", method, path, resp.StatusCode, resp.Header.Get("Allow"), *calls)
			}
		}
	}
}

// Every path that takes a method that changes something, by the table of routes.
func TestNoPageOfAnotherSiteChangesAnything(t *testing.T) {
	t.Parallel()
	o, calls := controlled(nil)
	h := newHandler(t, o)
	routes, err := h.routes(o)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, r := range routes {
		for _, method := range r.methods {
			if method == http.MethodGet || method == http.MethodHead {
				continue
			}
			asked++
			path := strings.ReplaceAll(r.path, "{name}", "a")
			for name, header := range map[string][2]string{
				"by what the browser says of the site": {"Sec-Fetch-Site", "cross-site"},
				"by its origin":                        {"Origin", "https://evil.example"},
			} {
				request := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
				request.Header.Set(header[0], header[1])
				w := httptest.NewRecorder()
				h.ServeHTTP(w, request)
				wantJSON := strings.HasPrefix(path, "/api/")
				if w.Code != http.StatusForbidden || strings.HasPrefix(w.Body.String(), `{"status":"error"`) != wantJSON {
					t.Errorf("%s %s %s: code %d, %s", method, path, name, w.Code, w.Body)
				}
			}
		}
	}
	if asked != 8 || len(*calls) != 0 {
		t.Errorf("%d ways to change something, want 8; calls %q", asked, *calls)
	}
}

func TestTheOperatorsOwnPageMayChangeThings(t *testing.T) {
	t.Parallel()
	o, calls := controlled(nil)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/-/pause?target=a", http.NoBody)
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	w := httptest.NewRecorder()
	newHandler(t, o).ServeHTTP(w, request)
	if w.Code != http.StatusOK || len(*calls) != 1 {
		t.Errorf("code %d, calls %q", w.Code, *calls)
	}
}

// brokenBody cannot be read to its end.
type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestWhatComesWithARequestIsBounded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body func() io.Reader
		code int
	}{
		"nothing":                   {func() io.Reader { return http.NoBody }, 200},
		"as much as may come":       {func() io.Reader { return strings.NewReader(strings.Repeat("x", maxBody)) }, 200},
		"one byte more":             {func() io.Reader { return strings.NewReader(strings.Repeat("x", maxBody+1)) }, 413},
		"something that breaks off": {func() io.Reader { return brokenBody{} }, 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, path := range []string{"/-/reload", "/api/v1/targets/a/pause"} {
				o, calls := controlled(nil)
				w := httptest.NewRecorder()
				newHandler(t, withTarget(o)).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, test.body()))
				if w.Code != test.code || (len(*calls) == 1) != (test.code == 200) {
					t.Errorf("%s: code %d, want %d; calls %q: %s", path, w.Code, test.code, *calls, w.Body)
				}
			}
		})
	}
}

// withTarget adds a target named a.
func withTarget(o *Options) *Options {
	o.Daemon = fleetOf(1, testNow)
	return o
}

// deadlines notes those that a handler sets.
type deadlines struct {
	*httptest.ResponseRecorder
	read, write []bool // whether there is one
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.read = append(d.read, !at.IsZero())
	return nil
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.write = append(d.write, !at.IsZero())
	return nil
}

func TestABodyHasATimeLimitThatEndsWithIt(t *testing.T) {
	t.Parallel()
	o, _ := controlled(nil)
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	newHandler(t, o).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/-/reload", strings.NewReader("x")))
	if diff := cmp.Diff([]bool{true, false}, w.read); diff != "" {
		t.Errorf("to read: a limit for the body, none for the reload (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]bool{true}, w.write); diff != "" {
		t.Errorf("to write: a limit from when the reload has ended (-want +got):\n%s", diff)
	}
}

func TestReadersOfEventsAreToldAndLetGo(t *testing.T) {
	t.Parallel()
	h := newHandler(t, withTarget(options()))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan struct{})
	go func() { defer close(ended); h.Run(ctx) }()
	server := httptest.NewServer(h)
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for told := false; ; {
		line, err := lines.ReadString('\n')
		switch {
		case strings.HasPrefix(line, "event: targets"):
			h.Notify("reload")
		case line == "event: reload\n":
			told = true
			stop()
		case errors.Is(err, io.EOF):
			if !told {
				t.Error("the stream ended without the note")
			}
			<-ended
			return
		case err != nil:
			t.Fatal(err)
		}
	}
}
