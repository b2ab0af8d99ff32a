package page

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

// tones are the colours of health, of all that is marked with them, which are not that of the unknown.
const tones = `(() => {
	const calm = getComputedStyle(document.documentElement).getPropertyValue("--calm").trim();
	const seen = [...document.querySelectorAll("main .mark, main .health, .verdict")].map((e) => getComputedStyle(e).getPropertyValue("--tone").trim());
	return [...new Set(seen)].filter((tone) => tone !== calm).join(" ");
})()`

func TestAPageSurvivesARestartOfTheDaemon(t *testing.T) {
	t.Parallel()
	d := demo(t)
	address := strings.TrimPrefix(d.url, "http://")
	pages := map[string]*tab{"/": open(t, d.url), "/targets/steady": open(t, d.url)}
	for path, b := range pages {
		b.goTo(path)
		b.until("it is live", `document.getElementById("live").dataset.state === "live"`)
		eval[any](b, `window.same = true; 0`)
		b.tolerate("net::ERR_")
	}
	d.stop()
	stopped := time.Now()
	for path, b := range pages {
		b.until("it says that the connection is lost", `document.getElementById("live").textContent.includes("lost") && document.getElementById("announce").textContent.includes("lost")`)
		if !eval[bool](b, `document.getElementById("verdict").checkVisibility()`) {
			t.Errorf("%s: what was known is not shown any more", path)
		}
		b.until("it says since when, and that what is shown is old", `!document.getElementById("stale").hidden && /lost since \d\d:\d\d:\d\d UTC.* of \d\d:\d\d:\d\d UTC/.test(document.getElementById("stale").textContent)`)
		if tones := eval[string](b, tones); tones != "" {
			t.Errorf("%s: colours are as if all were known: %s", path, tones)
		}
		b.accessible()
		b.shoot("lost"+strings.ReplaceAll(path, "/", "-"), false)
	}
	again, err := startDemo(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.stop)
	started := time.Now()
	for path, b := range pages {
		b.until("it is live again", `document.getElementById("live").dataset.state === "live"`)
		b.until("it shows the new process", fmt.Sprintf(`Date.parse(document.querySelector("footer time[data-age]").dateTime) > %d`, stopped.UnixMilli()))
		if !eval[bool](b, `document.getElementById("stale").hidden && !document.body.classList.contains("stale")`) {
			t.Errorf("%s: it still says that it is old", path)
		}
		t.Logf("%s shows the new process %.1f s after it is ready", path, time.Since(started).Seconds())
		if !eval[bool](b, `window.same`) {
			t.Errorf("%s was loaded anew", path)
		}
	}
	b := pages["/targets/steady"]
	b.until("it shows requests of the new process", `document.querySelector("#falls details")`)
	old := fmt.Sprintf(`[...document.querySelectorAll("#falls summary > span:first-child")].filter((e) => !(Date.parse(e.title) > %d)).length`, stopped.Add(-2*time.Second).UnixMilli())
	if n := eval[int](b, old); n > 0 {
		t.Errorf("%d requests of the process before are still shown", n)
	}
}

func TestAPageLooksNowAndThenWhereNobodyTellsIt(t *testing.T) {
	t.Parallel()
	upstream, err := url.Parse(rig.demo.url)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(upstream)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/events") {
			http.Error(w, "no streams here", http.StatusServiceUnavailable)
			return
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	b := open(t, proxy.URL)
	b.tolerate("503")
	b.goTo("/")
	was := eval[string](b, `document.getElementById("main").dataset.now`)
	b.until("it says how it goes on", `document.getElementById("live").textContent.includes("10 s")`)
	for range 2 {
		b.until("it looks again", fmt.Sprintf(`document.getElementById("main").dataset.now !== %q`, was))
		was = eval[string](b, `document.getElementById("main").dataset.now`)
	}
}

func TestAReloadThatFailsIsShown(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile("testdata/zoo.yml")
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, "zoo.yml", string(good))
	d := serve(t, file)
	b := open(t, d.url)
	b.goTo("/")
	b.until("it is live", `document.getElementById("live").dataset.state === "live"`)
	rewrite := func(text string, want int) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code := post(t, d.url+"/-/reload"); code != want {
			t.Fatalf("reload is answered with %d, want %d", code, want)
		}
	}
	rewrite(strings.Replace(string(good), "rate: 2", "rate: fast", 1), http.StatusInternalServerError)
	b.until("the failure is shown", `document.getElementById("reload-failed")?.textContent.includes("loads.brisk.rate")`)
	b.shoot("reload-failed", false)
	b.accessible()
	if got := len(b.names()); got != 12 {
		t.Errorf("%d targets are shown, want the 12 that still run", got)
	}
	rewrite(strings.Replace(string(good), "name: bravo", "name: zulu", 1), http.StatusOK)
	b.until("the failure is over", `!document.getElementById("reload-failed") && document.getElementById("reload").textContent.includes("done")`)
	b.until("the new target is there", `document.querySelector('tr[data-target="zulu"]')`)
}
