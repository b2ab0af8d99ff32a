package page

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

func TestFiveHundredTargetsCanBeUsed(t *testing.T) {
	t.Parallel()
	const crowd = 500
	type group struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels"`
	}
	groups := make([]group, crowd)
	for i := range groups {
		groups[i] = group{[]string{rig.demo.server[len("http://"):]}, map[string]string{"__target_name__": fmt.Sprintf("pod-%03d", i)}}
	}
	text, err := json.Marshal(groups)
	if err != nil {
		t.Fatal(err)
	}
	settings, err := os.ReadFile("testdata/crowd.yml")
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, "crowd.yml", string(settings))
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "crowd.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	d := serve(t, file)
	b := open(t, d.url)
	b.goTo("/")
	b.until("all are discovered", fmt.Sprintf(`document.querySelectorAll("#fleet tbody tr").length === %d`, crowd))
	b.goTo("/")
	took := eval[map[string]float64](b, `((n) => ({
	  answer: n.responseEnd, bytes: n.decodedBodySize, packed: n.encodedBodySize, done: n.domComplete,
	  painted: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
	}))(performance.getEntriesByType("navigation")[0])`)
	t.Logf("%d targets: answer after %.0f ms, %.0f kB packed of %.0f kB, first paint %.0f ms, complete %.0f ms",
		crowd, took["answer"], took["packed"]/1e3, took["bytes"]/1e3, took["painted"], took["done"])
	b.until("it is live", `document.getElementById("live").dataset.state === "live"`)
	b.click("#q")
	began := time.Now()
	b.press("p", "o", "d", "-", "4", "9", "9")
	if got := b.names(); len(got) != 1 || got[0] != "pod-499" {
		t.Errorf("the filter leaves %q", got)
	}
	t.Logf("filtered by seven keys within %v", time.Since(began).Round(time.Millisecond))
	for range 7 {
		b.press(kb.Backspace)
	}
	b.click("#by-target")
	if got := b.names(); len(got) != crowd || got[0] != "pod-000" || got[crowd-1] != "pod-499" {
		t.Errorf("sorted by name: %d targets from %q to %q", len(got), got[0], got[len(got)-1])
	}
	b.shoot("crowd-desktop", false)
	b.see(phone)
	b.shoot("crowd-phone", false)
	if wide := eval[[]int](b, `[document.documentElement.scrollWidth, document.documentElement.clientWidth]`); wide[0] > wide[1] {
		t.Errorf("%d px wide on a phone of %d", wide[0], wide[1])
	}
}
