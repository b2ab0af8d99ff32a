package page

import (
	"net/http"
	"testing"
	"time"
)

// noticing is how long a page may take to show what has happened: a look begins within 1.5 s after the last one and takes a moment.
const noticing = 3 * time.Second

// witness notes when the page first shows three things about the target steady, in ms since 1970: a failure in its row, that it is failing, and
// that in the verdict.
const witness = `
  window.seen = {};
  const look = () => {
    const row = document.querySelector('#fleet tr[data-target="steady"]');
    const so = {
      failure: row.querySelector('[data-label="Failed"]').textContent.includes("http 5xx"),
      failing: row.dataset.health === "failing" && row.cells[0].textContent.includes("failing"),
      verdict: document.querySelector('#worst li[data-target="steady"]')?.textContent.includes("failing") && !document.querySelector("#verdict").textContent.includes("No target"),
    };
    for (const name in so) if (so[name] && !window.seen[name]) window.seen[name] = Date.now();
  };
  new MutationObserver(look).observe(document.getElementById("main"), {subtree: true, childList: true, attributes: true, characterData: true});
  0`

// TestAFaultShowsWithinThreeSeconds does not run beside others: it is timed. What is timed begins with the request that meets the fault, as
// the arrivals are random, and when three in a row have failed, for only then a target is failing.
func TestAFaultShowsWithinThreeSeconds(t *testing.T) {
	d := demo(t)
	b := open(t, d.url)
	b.goTo("/")
	b.until("the target succeeds", `document.getElementById("live").dataset.state === "live" && !["failing", "unknown"].includes(document.querySelector('#fleet tr[data-target="steady"]').dataset.health)`)
	eval[any](b, witness)
	injected := time.Now()
	if code := post(t, d.server+"/faults?model=demo-steady-8b&kind=server_error&for=5m"); code != http.StatusNoContent {
		t.Fatalf("the fault is answered with %d", code)
	}
	b.until("the page shows it", `window.seen.failure && window.seen.failing && window.seen.verdict`)
	seen := eval[map[string]float64](b, `window.seen`)
	first, third := firstAndThird(t, d.requests(t, "steady"), injected)
	for what, since := range map[string]time.Time{"failure": first, "failing": third, "verdict": third} {
		at := time.UnixMilli(int64(seen[what]))
		t.Logf("%s shown %.2f s after the injection, %.2f s after it had come about", what, at.Sub(injected).Seconds(), at.Sub(since).Seconds())
		if late := at.Sub(since); late > noticing {
			t.Errorf("%s shown after %v, want at most %v", what, late, noticing)
		}
	}
	b.shoot("fault-desktop", false)
	b.accessible()
	b.see(phone)
	b.shoot("fault-phone", false)

	b.goTo("/targets/steady")
	b.until("the failure is explained", `document.querySelector("#failures")?.parentElement.textContent.includes("HTTP 500")`)
	b.accessible()
	b.shoot("fault-target-phone", true)
	b.see(desktop)
	b.shoot("fault-target-desktop", true)
}

// firstAndThird are the instants at which the first request had failed since then, and at which three in a row had for certain.
func firstAndThird(t *testing.T, requests []ended, since time.Time) (first, third time.Time) {
	t.Helper()
	run := 0
	for _, r := range requests {
		switch {
		case r.at.Before(since):
		case !r.failed:
			run, third = 0, time.Time{}
		default:
			if run++; first.IsZero() {
				first = r.at
			}
			if run == 3 {
				third = r.at
			}
		}
	}
	if third.IsZero() {
		t.Fatalf("no three requests in a row have failed: %v", requests)
	}
	return first, third
}
