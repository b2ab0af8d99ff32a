package page

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestPagesComeAliveWithoutAComplaint(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/targets/steady", "/targets/nobody"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			b := open(t, rig.demo.url)
			if path == "/targets/nobody" {
				b.tolerate("404")
			}
			b.goTo(path)
			b.until("it says that it is live", `document.getElementById("live").textContent === "live"`)
			was := eval[string](b, `document.getElementById("main").dataset.now`)
			b.until("it looks again by itself", fmt.Sprintf(`document.getElementById("main").dataset.now !== %q`, was))
		})
	}
}

func TestATargetIsOpenedByMouseAndByKeyboard(t *testing.T) {
	t.Parallel()
	for how, act := range map[string]func(b *tab){
		"mouse": func(b *tab) { b.click(`#fleet tr[data-target="thinker"] th a`) },
		"keyboard": func(b *tab) {
			eval[any](b, `document.getElementById("main").focus(); 0`)
			b.poll("Tab comes to the target", func() bool {
				b.press(kb.Tab)
				return eval[bool](b, `document.activeElement.matches('#fleet tr[data-target="thinker"] th a')`)
			})
			b.press(kb.Enter)
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			b := open(t, rig.demo.url)
			b.goTo("/")
			act(b)
			b.until("the target's page is there", `location.pathname === "/targets/thinker" && document.querySelector("#verdict")?.textContent.includes("thinker")`)
			b.click(".trail a")
			b.until("the fleet is there again", `location.pathname === "/" && document.getElementById("fleet")`)
		})
	}
}

// drawn is for each chart how many pixels have the colour of its first line.
const drawn = `[...document.querySelectorAll("[data-chart]")].map((figure) => {
  const canvas = figure.querySelector("canvas");
  if (!canvas) return -1;
  const name = {p50: "--p50", good: "--p50", bad: "--failing"}[figure.dataset.lines.split(",")[0].split(":")[1]];
  const probe = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name);
  probe.fillRect(0, 0, 1, 1);
  const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
  const copy = Object.assign(document.createElement("canvas"), {width: canvas.width, height: canvas.height}).getContext("2d", {willReadFrequently: true});
  copy.drawImage(canvas, 0, 0);
  const {data} = copy.getImageData(0, 0, canvas.width, canvas.height);
  let same = 0;
  for (let i = 0; i < data.length; i += 4)
    if (data[i + 3] > 128 && Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 60) same++;
  return same;
})`

func TestThePageOfATargetShowsChartsAndRequests(t *testing.T) {
	t.Parallel()
	b := open(t, rig.demo.url)
	b.goTo("/targets/flaky")
	b.until("requests have ended", `document.querySelectorAll("#falls details").length > 5`)
	b.until("each chart has a line", fmt.Sprintf(`((c) => c.length === 5 && c.every((n) => n > 0))(%s)`, drawn))
	b.see(desktop.inTheDark())
	b.until("the charts have the colours of the dark", fmt.Sprintf(`(%s).every((n) => n > 0)`, drawn))
	bars := eval[int](b, `[...document.querySelectorAll("#falls .bars rect")].filter((r) => r.getBoundingClientRect().width > 0 && r.checkVisibility()).length`)
	if bars < 10 {
		t.Errorf("%d bars in the waterfall", bars)
	}
	// One of the requests is opened by keyboard and stays so, although newer ones come in above it.
	request := eval[string](b, `document.querySelector("#falls details").id`)
	eval[any](b, fmt.Sprintf(`document.querySelector("#%s summary").focus(); 0`, request))
	b.press(kb.Enter)
	b.until("its phases are shown", fmt.Sprintf(`document.querySelector("#%s .inside").checkVisibility()`, request))
	b.until("newer ones come in", fmt.Sprintf(`document.querySelector("#falls details").id !== %q`, request))
	b.until("it is open and has the focus", fmt.Sprintf(`((d) => d.open && d.contains(document.activeElement))(document.getElementById(%q))`, request))
}

func TestPagesAreWholeWithoutScript(t *testing.T) {
	t.Parallel()
	b := open(t, rig.demo.url)
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.goTo("/targets/flaky")
	b.poll("there is something to show", func() bool {
		b.do(chromedp.Reload())
		return eval[bool](b, `document.querySelectorAll("#falls details").length > 5 && document.querySelectorAll("#points tbody tr").length > 1`)
	})
	if eval[bool](b, `document.getElementById("live").dataset.state !== "none"`) {
		t.Fatal("the script runs")
	}
	for what, expression := range map[string]string{
		"the verdict is shown":              `document.querySelector("#verdict").checkVisibility()`,
		"each chart is a picture":           `((c) => c.length === 5 && c.every((svg) => svg.checkVisibility() && svg.querySelector("path").getBBox().width >= 0))([...document.querySelectorAll("[data-chart] > svg")])`,
		"a chart has a line":                `[...document.querySelectorAll("[data-chart] > svg path")].some((p) => p.getAttribute("d"))`,
		"the waterfall has bars":            `document.querySelectorAll("#falls .bars rect").length > 10`,
		"the table of numbers can be shown": `document.querySelector("#points tbody tr")`,
		"it asks to be looked at again":     `document.querySelector("noscript").textContent.includes("refresh") || document.querySelector("meta[http-equiv=refresh]")`,
	} {
		if !eval[bool](b, "Boolean("+expression+")") {
			t.Errorf("it is not so that %s", what)
		}
	}
	b.goTo("/")
	b.poll("the fleet is shown", func() bool { return len(b.names()) == 3 })
	if eval[bool](b, `[...document.querySelectorAll("#filter, #sort, #q")].some((e) => e.checkVisibility())`) {
		t.Error("what only a script can do is offered")
	}
}
