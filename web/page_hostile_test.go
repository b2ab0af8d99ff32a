package web

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// wholeDaemon has everything that a page can show.
func wholeDaemon() *fakeDaemon {
	d := fleetOf(5, testNow)
	for name, records := range d.records {
		d.records[name] = records[:min(len(records), shownFailures+2)]
	}
	p := &d.process
	p.Bodies, p.Instrument.Suspect, p.Config.RestartRequired, p.Config.Warnings = true, []string{"x"}, []string{"x"}, []string{"x"}
	p.Config.Reload = &view.Reload{At: testNow, Trigger: "x", Error: "x"}
	d.collectors = []view.Collector{{Kind: "gpu", Source: "x", Target: "gptoss-prod-eu1", State: "x", Detail: "x", Last: new(testNow)}}
	d.discovery = []view.DiscoverySet{{Name: "x", Targets: []string{"x"}, Error: "x", Dropped: []view.Dropped{
		{Address: "x", Reason: "x", Detail: "x", Labels: map[string]string{"x": "x"}},
	}}}
	for i := range d.records["gptoss-prod-eu1"] {
		r := &d.records["gptoss-prod-eu1"][i]
		r.Prompt, r.Answer, r.Session, r.Missed, r.Captured, r.Suspect, r.Warmup = "x", "x", "x", []string{"x"}, true, true, true
	}
	return d
}

// namesOfPages are those of the pages of wholeDaemon.
var namesOfPages = []string{"/", "/targets/gptoss-prod-eu1", "/targets/unknown"}

// tokens are what a browser makes of a page: elements with the names of their attributes, and everything that an attribute holds.
func tokensOf(page string) (elements []string, attributes []html.Attribute) {
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return elements, attributes
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			element := token.Data
			for _, a := range token.Attr {
				element += " " + a.Key
			}
			elements, attributes = append(elements, element), append(attributes, token.Attr...)
		case html.EndTagToken, html.CommentToken, html.DoctypeToken:
			elements = append(elements, "/"+z.Token().Data)
		case html.TextToken:
		}
	}
}

// The policy forbids scripts and styles in the page itself, and everything from elsewhere.
func TestPagesNeedNothingThatTheirPolicyForbids(t *testing.T) {
	t.Parallel()
	for _, path := range namesOfPages {
		_, body := pageOf(t, wholeDaemon(), path)
		elements, attributes := tokensOf(body)
		for _, e := range elements {
			if e == "script" || strings.HasPrefix(e, "style") {
				t.Errorf("%s has <%s>", path, e)
			}
		}
		for _, a := range attributes {
			external := (a.Key == "href" || a.Key == "src") && strings.Contains(a.Val, ":")
			if a.Key == "style" || strings.HasPrefix(a.Key, "on") || external {
				t.Errorf("%s has %s=%q", path, a.Key, a.Val)
			}
		}
	}
	for _, name := range []string{"style.css", "uplot.css"} {
		css, err := assets.ReadFile("assets/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"@import", "url("} {
			if strings.Contains(string(css), text) {
				t.Errorf("%s has %q", name, text)
			}
		}
	}
}

func TestLinksOfThePagesAreRelativeAndLeadToPages(t *testing.T) {
	t.Parallel()
	for name, prefix := range map[string]string{"without a prefix": "", "behind a prefix": "/aiperf"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options()
			o.RoutePrefix, o.TelemetryPath, o.Pprof, o.Daemon = prefix, "/all/metrics", true, wholeDaemon()
			h := newHandler(t, o)
			h.Ready()
			for _, path := range namesOfPages {
				_, body := ask(t, h, http.MethodGet, prefix+path)
				_, attributes := tokensOf(body)
				for _, a := range attributes {
					if (a.Key != "href" && a.Key != "src") || strings.HasPrefix(a.Val, "#") || strings.Contains(a.Val, "captures/") {
						continue
					}
					if strings.HasPrefix(a.Val, "/") {
						t.Errorf("%s: %q is not relative", path, a.Val)
					}
					to := httptest.NewRequestWithContext(t.Context(), http.MethodGet, prefix+path, http.NoBody).URL.JoinPath("..", a.Val)
					if path == "/" {
						to = httptest.NewRequestWithContext(t.Context(), http.MethodGet, prefix+path, http.NoBody).URL.JoinPath(a.Val)
					}
					if resp, _ := ask(t, h, http.MethodGet, to.Path); resp.StatusCode != http.StatusOK {
						t.Errorf("%s: %q leads to %s, which answers %d", path, a.Val, to.Path, resp.StatusCode)
					}
				}
			}
		})
	}
}

// shapeOf is a page without its words: what hostile words must not be able to change.
func shapeOf(tb testing.TB, d Daemon, path string) []string {
	tb.Helper()
	_, body := pageOf(tb, d, path)
	elements, _ := tokensOf(body)
	return elements
}

// say puts a text in the place of every text but the name of the target whose page is looked at.
func say(d *fakeDaemon, text string) {
	at := slices.IndexFunc(d.targets, func(t view.Target) bool { return t.Name == "gptoss-prod-eu1" })
	for _, v := range []any{&d.process, &d.targets, &d.records, &d.discovery, &d.collectors} {
		replace(reflect.ValueOf(v), text)
	}
	d.targets[at].Name = "gptoss-prod-eu1"
	d.records["gptoss-prod-eu1"] = d.records[text]
}

func replace(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			replace(v.Elem(), text)
		}
	case reflect.Slice:
		for i := range v.Len() {
			replace(v.Index(i), text)
		}
	case reflect.Map:
		if v.Len() == 0 {
			return
		}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(v.MapIndex(keys[0]))
		replace(value, text)
		v.Clear()
		v.SetMapIndex(reflect.ValueOf(text), value)
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				replace(field, text)
			}
		}
	case reflect.String:
		if v.Len() > 0 && v.Type() == reflect.TypeFor[string]() { // health is of a closed list
			v.SetString(text)
		}
	default:
	}
}

func FuzzWordsFromOutsideDoNotChangeAPage(f *testing.F) {
	for _, text := range []string{
		`"><script>alert('x')</script><img src=x onerror=alert(1)>`,
		"</time></main>", "' onmouseover='x", "javascript:alert(1)", "&lt;b&gt;", "\x00\xff<b", "{{.}}", "<!--", "]]>", "a\nb",
	} {
		f.Add(text)
	}
	d := wholeDaemon()
	say(d, "word")
	harmless := map[string][]string{}
	for _, path := range []string{"/", "/targets/gptoss-prod-eu1"} {
		harmless[path] = shapeOf(f, d, path)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.TrimSpace(text) == "" || len(text) > 1<<10 || strings.ContainsAny(strings.TrimSpace(text), "\n\r") {
			t.Skip("an empty text is shown otherwise, one of lines is a list")
		}
		hostile := wholeDaemon()
		say(hostile, text)
		for path, want := range harmless {
			if diff := cmp.Diff(want, shapeOf(t, hostile, path)); diff != "" {
				t.Errorf("%s with %q (-word +text):\n%s", path, text, diff)
			}
		}
	})
}

func TestNamesAreEscapedInLinks(t *testing.T) {
	t.Parallel()
	d := fleetOf(1, testNow)
	d.targets[0].Name = `a/b?c#d"e`
	_, body := pageOf(t, d, "/")
	if !strings.Contains(body, `href="targets/a%2Fb%3Fc%23d%22e"`) {
		t.Errorf("page:\n%s", body)
	}
	if code, _ := pageOf(t, d, "/targets/a%2Fb%3Fc%23d%22e"); code != http.StatusOK {
		t.Errorf("status %d", code)
	}
}
