package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// withRecords has the target a with three records.
func withRecords() *daemon {
	record := func(id, outcome string) view.Record {
		return view.Record{ID: id, At: at, Outcome: outcome, Ticks: []float64{1}, Prompt: "p", Answer: "q"}
	}
	return &daemon{
		targets: []view.Target{{
			Name: "a", Health: view.Failing, Points: []view.Point{{At: at}}, LastRecord: new(record("r3", "success")), LastFailure: new(record("r2", "error")),
		}},
		records: []view.Record{record("r3", "success"), record("r2", "error"), record("r1", "success")},
	}
}

func TestQuestionsAreAnsweredInTheEnvelope(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path string
		code int
		want string
	}{
		"a path that is not there":             {"/api/v1/nothing", 404, `{"status":"error","errorType":"not_found","error":"there is nothing at /api/v1/nothing"}`},
		"the root":                             {"/api/v1/", 404, `{"status":"error","errorType":"not_found","error":"there is nothing at /api/v1/"}`},
		"a path with a slash behind it":        {"/api/v1/targets/", 404, `{"status":"error","errorType":"not_found","error":"there is nothing at /api/v1/targets/"}`},
		"what is not kept here":                {"/api/v1/captures", 404, `{"status":"error","errorType":"not_found","error":"there is nothing at /api/v1/captures"}`},
		"a query that nobody asked for":        {"/api/v1/targets?healthy=1", 400, `{"status":"error","errorType":"bad_data","error":"query: unknown key \"healthy\""}`},
		"a key that comes twice":               {"/api/v1/targets/a/records?limit=1&limit=2", 400, `{"status":"error","errorType":"bad_data","error":"query: limit is given 2 times"}`},
		"a query that cannot be read":          {"/api/v1/targets?%zz", 400, `{"status":"error","errorType":"bad_data","error":"query: invalid URL escape \"%zz\""}`},
		"a target that is not there":           {"/api/v1/targets/b", 404, `{"status":"error","errorType":"not_found","error":"there is no target \"b\""}`},
		"records of a target that is not":      {"/api/v1/targets/b/records", 404, `{"status":"error","errorType":"not_found","error":"there is no target \"b\""}`},
		"a limit that is no number":            {"/api/v1/targets/a/records?limit=x", 400, `{"status":"error","errorType":"bad_data","error":"limit: must be a number above 0, got \"x\""}`},
		"a limit of nothing":                   {"/api/v1/targets/a/records?limit=0", 400, `{"status":"error","errorType":"bad_data","error":"limit: must be a number above 0, got \"0\""}`},
		"an outcome that there is not":         {"/api/v1/targets/a/records?outcome=good", 400, `{"status":"error","errorType":"bad_data","error":"outcome: must be one of [success error cancelled], got \"good\""}`},
		"an empty outcome":                     {"/api/v1/targets/a/records?outcome=", 400, `{"status":"error","errorType":"bad_data","error":"outcome: must be one of [success error cancelled], got \"\""}`},
		"the configuration":                    {"/api/v1/status/config", 200, `{"status":"success","data":{"yaml":"targets: []\n","hash":"abc"}}`},
		"what is empty is a list all the same": {"/api/v1/discovery", 200, `{"status":"success","data":[]}`},
		"collectors":                           {"/api/v1/collectors", 200, `{"status":"success","data":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := ask(t, newAPI(withRecords(), nil), http.MethodGet, test.path)
			if diff := cmp.Diff(test.want+"\n", w.Body.String()); diff != "" || w.Code != test.code {
				t.Errorf("code %d, want %d (-want +got):\n%s", w.Code, test.code, diff)
			}
			if got := []string{w.Header().Get("Content-Type"), w.Header().Get("Cache-Control")}; !slices.Equal(got, []string{"application/json", "no-store"}) {
				t.Errorf("type and cache: %q", got)
			}
		})
	}
}

func TestWrongMethodsAreTold(t *testing.T) {
	t.Parallel()
	a := newAPI(withRecords(), func(o *Options) { o.Controls.Pause = func(string, bool) error { return errors.New("called") } })
	for _, r := range a.Routes() {
		path := strings.ReplaceAll(r.Path, "{name}", "a")
		allow := strings.Join(r.Methods, ", ")
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions} {
			if slices.Contains(r.Methods, method) {
				continue
			}
			w := ask(t, a, method, path)
			want := fmt.Sprintf(`{"status":"error","errorType":"bad_data","error":"method %s is not allowed here, only %s"}`+"\n", method, allow)
			if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != allow || w.Body.String() != want {
				t.Errorf("%s %s: code %d, Allow %q, %s", method, path, w.Code, w.Header().Get("Allow"), w.Body)
			}
		}
	}
}

// data is what an answer holds, which must be a success.
func data[T any](t *testing.T, w *httptest.ResponseRecorder) T {
	t.Helper()
	var envelope struct {
		Status string
		Data   T
	}
	if err := json.Unmarshal(w.Body.Bytes(), &envelope); err != nil || envelope.Status != "success" || w.Code != http.StatusOK {
		t.Fatalf("code %d, error %v: %s", w.Code, err, w.Body)
	}
	return envelope.Data
}

func TestRecordsAreSelected(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"": "r3 r2 r1", "?limit=2": "r3 r2", "?limit=9": "r3 r2 r1", "?outcome=success": "r3 r1", "?outcome=success&limit=1": "r3", "?outcome=cancelled": "",
	} {
		var got []string
		for _, record := range data[[]view.Record](t, ask(t, newAPI(withRecords(), nil), http.MethodGet, "/api/v1/targets/a/records"+query)) {
			got = append(got, record.ID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
}

func TestTheFleetHasNotWhatOneTargetHas(t *testing.T) {
	t.Parallel()
	d := withRecords()
	a := newAPI(d, nil)
	all := data[[]view.Target](t, ask(t, a, http.MethodGet, "/api/v1/targets"))
	one := data[view.Target](t, ask(t, a, http.MethodGet, "/api/v1/targets/a"))
	if len(all[0].Points) != 0 || len(one.Points) != 1 {
		t.Errorf("%d points in the list, %d of the target", len(all[0].Points), len(one.Points))
	}
	for name, record := range map[string]*view.Record{"list": all[0].LastFailure, "target": one.LastRecord} {
		if len(record.Ticks) != 0 || record.Prompt != "" || record.Answer != "" {
			t.Errorf("the record of the %s has %d ticks and the bodies %q and %q", name, len(record.Ticks), record.Prompt, record.Answer)
		}
	}
	if kept := d.targets[0].LastRecord; kept.Prompt == "" || len(d.targets[0].Points) == 0 {
		t.Error("what the daemon holds was changed")
	}
}

func TestFlagsAreShownWithoutCredentials(t *testing.T) {
	t.Parallel()
	d := &daemon{flags: map[string]string{"web.external-url": "https://user:hunter2@host/x?key=hunter2", "log.level": "info", "web.listen-address": ":9749"}}
	got := data[map[string]string](t, ask(t, newAPI(d, nil), http.MethodGet, "/api/v1/status/flags"))
	want := map[string]string{"web.external-url": "https://host/x?key=<redacted>", "log.level": "info", "web.listen-address": ":9749"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStatusTellsAboutProgramAndProcess(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reload *view.Reload
		want   bool
	}{
		"never reloaded": {nil, true}, "reloaded": {&view.Reload{OK: true}, true}, "a reload has failed": {&view.Reload{}, false},
	} {
		d := &daemon{process: view.Process{State: "ready", Start: at, Config: view.Config{Loaded: at, Reload: test.reload}}}
		got := data[runtimeInfo](t, ask(t, newAPI(d, nil), http.MethodGet, "/api/v1/status/runtimeinfo"))
		if got.ReloadConfigSuccess != test.want || got.GoroutineCount < 1 || got.Process.State != "ready" || got.StartTime.Sub(at).Abs() > 1e6 || got.ServerTime.IsZero() {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := data[buildInfo](t, ask(t, newAPI(&daemon{}, nil), http.MethodGet, "/api/v1/status/buildinfo")); got.GoVersion != runtime.Version() {
		t.Errorf("%+v", got)
	}
}

func TestRulesAreShownAsTheyCome(t *testing.T) {
	t.Parallel()
	a := newAPI(&daemon{}, func(o *Options) {
		o.Rules = fstest.MapFS{"b/x.yaml": {Data: []byte("x")}, "a.yml": {Data: []byte("groups: []\n")}, "README.md": {Data: []byte("no")}}
	})
	got := data[[]ruleFile](t, ask(t, a, http.MethodGet, "/api/v1/alerts/preview"))
	if diff := cmp.Diff([]ruleFile{{"a.yml", "groups: []\n"}, {"b/x.yaml", "x"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTargetsArePausedAndResumed(t *testing.T) {
	t.Parallel()
	var calls []string
	a := newAPI(&daemon{}, func(o *Options) {
		o.Controls.Pause = func(target string, paused bool) error {
			calls = append(calls, fmt.Sprintf("%s %v", target, paused))
			if target == "x" {
				return errors.New(`there is no target "x"`)
			}
			return nil
		}
	})
	for path, want := range map[string]string{
		"/targets/a/pause":     `{"status":"success","data":{"target":"a","paused":true}}`,
		"/targets/a/resume":    `{"status":"success","data":{"target":"a","paused":false}}`,
		"/targets/x/pause":     `{"status":"error","errorType":"not_found","error":"there is no target \"x\""}`,
		"/targets/a/pause?x=1": `{"status":"error","errorType":"bad_data","error":"query: unknown key \"x\""}`,
	} {
		if got := ask(t, a, http.MethodPost, Prefix+path).Body.String(); got != want+"\n" {
			t.Errorf("%s: %s", path, got)
		}
	}
	slices.Sort(calls)
	if diff := cmp.Diff([]string{"a false", "a true", "x true"}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// kept are captures by id; one that is cut breaks off after its beginning.
type kept map[string]string

const cut = "cut"

func (k kept) List() []view.Capture {
	var out []view.Capture
	for _, id := range slices.Sorted(maps.Keys(k)) {
		out = append(out, view.Capture{ID: id})
	}
	return out
}

func (k kept) Write(w io.Writer, id string) (bool, error) {
	text, ok := k[id]
	if !ok {
		return false, nil
	}
	if _, err := io.WriteString(w, text); err != nil {
		return true, err
	}
	if id == cut {
		return true, errors.New("broke off")
	}
	return true, nil
}

func TestCapturesAreFiles(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(serve(newAPI(&daemon{}, func(o *Options) { o.Captures = kept{"r1": "line\n", cut: strings.Repeat("x", 1<<16)} })))
	defer server.Close()
	get := func(method, id string) (*http.Response, string, error) {
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/api/v1/captures/"+id, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return resp, string(body), err
	}
	resp, body, err := get(http.MethodGet, "r1")
	if err != nil || resp.StatusCode != http.StatusOK || body != "line\n" || resp.Header.Get("Content-Disposition") != "attachment; filename=r1.jsonl" {
		t.Errorf("code %d, error %v, body %q, %q", resp.StatusCode, err, body, resp.Header.Get("Content-Disposition"))
	}
	if resp, body, _ := get(http.MethodHead, "r1"); resp.StatusCode != http.StatusOK || body != "" || resp.Header.Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("HEAD: code %d, %q", resp.StatusCode, body)
	}
	if resp, body, _ := get(http.MethodGet, url.PathEscape(`"x`)); resp.StatusCode != http.StatusNotFound || !strings.Contains(body, "there is no capture") {
		t.Errorf("code %d: %s", resp.StatusCode, body)
	}
	if _, body, err := get(http.MethodGet, cut); err == nil {
		t.Errorf("half a file of %d bytes looks like a whole one", len(body))
	}
}

// Whatever a query says, it is understood as it was meant, or refused.
func FuzzQueryOfRecords(f *testing.F) {
	for _, seed := range []string{"", "limit=3", "outcome=error&limit=1", "limit=%33", "limit=99999999999999999999", "limit=-1", "a=b", "limit=1;outcome=error", "&&limit=2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if err := checkQuery(raw, []string{limitKey, outcomeKey}); err != nil {
			return
		}
		query, err := url.ParseQuery(raw)
		if err != nil {
			t.Fatalf("%q was taken: %v", raw, err)
		}
		s, err := parseSelection(query)
		if err != nil {
			return
		}
		again := url.Values{}
		if s.limit != 0 {
			again.Set(limitKey, fmt.Sprint(s.limit))
		}
		if s.outcome != "" {
			again.Set(outcomeKey, string(s.outcome))
		}
		if back, err := parseSelection(again); err != nil || back != s || s.limit < 0 {
			t.Errorf("%q: %+v, then %+v, %v", raw, s, back, err)
		}
	})
}
