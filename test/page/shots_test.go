package page

import "testing"

// TestPicturesAreTaken leaves pictures of the pages for people to look at, in all the ways in which they look at them.
func TestPicturesAreTaken(t *testing.T) {
	t.Parallel()
	for _, p := range []struct {
		name   string
		daemon *daemon
		path   string
	}{
		{"fleet", rig.demo, "/"},
		{"zoo", rig.zoo, "/"},
		{"target", rig.demo, "/targets/flaky"},
		{"missing", rig.demo, "/targets/nobody"},
	} {
		b := open(t, p.daemon.url)
		b.tolerate("404")
		b.goTo("/targets/" + map[*daemon]string{rig.demo: "steady", rig.zoo: "alpha"}[p.daemon])
		b.until("there is something to see", `document.querySelectorAll("#falls details").length >= 25`)
		b.goTo(p.path)
		b.until("it is live", `document.getElementById("live").dataset.state === "live"`)
		for suffix, l := range map[string]look{"desktop": desktop, "phone": phone, "dark": desktop.inTheDark(), "phone-dark": phone.inTheDark()} {
			b.see(l)
			b.shoot(p.name+"-"+suffix, true)
		}
	}
}
