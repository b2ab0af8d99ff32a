package page

import (
	"fmt"
	"os"
	"testing"
)

// audit runs axe-core over the page and gives what it finds, a line for each element.
const audit = `axe.run(document, {
  runOnly: {type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]},
  resultTypes: ["violations"],
}).then((r) => r.violations.flatMap((v) => v.nodes.map((n) => v.id + " (" + v.impact + ") " + n.target.join(" ") + ": " + n.any.concat(n.all, n.none).map((c) => c.message).join("; "))))`

// accessible checks the page as it is now, as it is looked at now and otherwise.
func (b *tab) accessible() {
	b.t.Helper()
	script, err := os.ReadFile(*axe)
	b.must(err)
	eval[any](b, string(script)+"; 0")
	for _, l := range []look{desktop, desktop.inTheDark(), phone.inTheDark(), phone} {
		b.see(l)
		for _, finding := range eval[[]string](b, audit) {
			b.t.Errorf("%s at %v: %s", eval[string](b, "location.pathname"), l, finding)
		}
	}
}

func TestPagesAreAccessible(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		daemon *daemon
		path   string
		there  string
	}{
		"fleet of a demo":          {rig.demo, "/", `document.getElementById("fleet")`},
		"fleet in every state":     {rig.zoo, "/", `document.querySelectorAll("#fleet tr.failing, #fleet tr.idle, #fleet tr.unknown").length > 2`},
		"filtered fleet":           {rig.zoo, "/#q=nothing-has-this-name", `document.getElementById("shown").textContent`},
		"target that does well":    {rig.demo, "/targets/steady", `document.querySelectorAll("#falls details").length > 5`},
		"target that fails":        {rig.zoo, "/targets/juliet", `document.getElementById("failures")`},
		"target without a request": {rig.zoo, "/targets/kilo", `document.getElementById("requests")`},
		"no target":                {rig.demo, "/targets/nobody", `document.getElementById("verdict")`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, c.daemon.url)
			if name == "no target" {
				b.tolerate("404")
			}
			b.goTo(c.path)
			b.until("it is there", c.there)
			eval[any](b, `document.querySelectorAll("details").forEach((d, i) => { d.open = i < 3; }); 0`)
			b.accessible()
		})
	}
}

func TestNothingIsWiderThanAPhone(t *testing.T) {
	t.Parallel()
	for _, width := range []int64{320, 360, 390, 768, 1024, 1440} {
		b := open(t, rig.zoo.url)
		b.tolerate("404")
		b.see(look{width: width, height: 844, phone: width < 700})
		for _, path := range []string{"/", "/targets/juliet", "/targets/echo", "/targets/foxtrot-with-a-name-that-is-about-as-long-as-names-are-allowed", "/targets/nobody"} {
			b.goTo(path)
			eval[any](b, `document.querySelectorAll("details").forEach((d, i) => { d.open = i < 3; }); 0`)
			if wide := eval[[]int](b, `[document.documentElement.scrollWidth, document.documentElement.clientWidth]`); wide[0] > wide[1] {
				sticking := eval[[]string](b, fmt.Sprintf(`[...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > %d && !e.closest(".scroll, .unseen, svg")).slice(0, 5).map((e) => e.tagName + "." + e.className + " " + e.textContent.slice(0, 40))`, width))
				t.Errorf("%s at %d px: %d px wide, by %q", path, width, wide[0], sticking)
			}
		}
	}
}
