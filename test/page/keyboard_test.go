package page

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// focused describes what has the focus: what it is, whether that can be seen, and whether it comes after the one before it.
const focused = `((e) => {
  const style = getComputedStyle(e), box = e.getBoundingClientRect();
  const before = window.before;
  window.before = e;
  return {
    What: e === document.body ? "" : e.id || e.getAttribute("aria-label") || e.textContent.trim(),
    Marked: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    InView: box.width > 0 && box.height > 0 && box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth,
    After: !before || Boolean(before.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING),
  };
})(document.activeElement)`

// reachable are those that Tab has to come to.
const reachable = `[...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")].filter((e) => e.checkVisibility() && !e.disabled).length`

func TestAllCanBeReachedByKeyboardAndSeen(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/targets/steady"} {
		for _, l := range []look{desktop, phone} {
			b := open(t, rig.demo.url)
			b.see(l)
			b.goTo(path)
			b.until("requests have ended", `document.querySelectorAll("#falls details").length > 2 || document.getElementById("fleet")`)
			eval[any](b, quiet+"; 0")
			want := eval[int](b, reachable)
			for i := range want {
				b.press(kb.Tab)
				f := eval[struct {
					What                  string
					Marked, InView, After bool
				}](b, focused)
				if i == 0 && f.What != "Skip to content" {
					t.Errorf("%s at %v: Tab first comes to %q", path, l, f.What)
				}
				if f.What == "" {
					t.Errorf("%s at %v: Tab leaves the page after %d of %d", path, l, i, want)
					break
				}
				if !f.Marked || !f.InView || !f.After {
					t.Errorf("%s at %v: on %q: marked %v, in view %v, in order %v", path, l, f.What, f.Marked, f.InView, f.After)
				}
			}
		}
	}
}

func TestTheSkipLinkSkips(t *testing.T) {
	t.Parallel()
	b := open(t, rig.demo.url)
	b.goTo("/")
	b.press(kb.Tab, kb.Enter)
	if got := eval[string](b, `document.activeElement.id`); got != "main" {
		t.Errorf("focus is on %q", got)
	}
	b.press(kb.Tab)
	if !eval[bool](b, `document.getElementById("main").contains(document.activeElement) && document.activeElement.id !== "main"`) {
		t.Error("the next Tab is not in the content")
	}
}
