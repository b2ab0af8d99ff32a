package page

import (
	"strings"
	"testing"
)

func TestWhatAPageMustNotDoIsNoticed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ does, noticed string }{
		"an inline script breaks the policy":     {`document.body.append(Object.assign(document.createElement("script"), {textContent: "1"}))`, "content security policy: script-src"},
		"an inline style breaks the policy":      {`document.body.setAttribute("style", "color: red")`, "content security policy: style-src"},
		"somebody else's picture breaks it":      {`new Image().src = "http://pictures.example.net/a.png"`, "content security policy: img-src"},
		"an error is in the console":             {`console.error("broken")`, "broken"},
		"an exception that nobody catches is so": {`setTimeout(() => { throw new Error("thrown") })`, "thrown"},
		"a file that is not there is so":         {`fetch("nothing-here").then(() => {})`, "404"},
		"a way to somebody else is a request":    {`location = "http://elsewhere.example.net/"`, "http://elsewhere.example.net/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, rig.demo.url)
			b.goTo("/")
			eval[any](b, c.does+"; 0")
			b.poll("it is noticed", func() bool { return strings.Contains(strings.Join(b.noticed(), "\n"), c.noticed) })
			b.forget()
		})
	}
}
