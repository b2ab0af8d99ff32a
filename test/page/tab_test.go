package page

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// tab is a page in a profile of its own, that watches over what the page must never do: complain in the console, break its content security
// policy, ask anybody but the daemon.
type tab struct {
	t      *testing.T
	ctx    context.Context
	origin string

	mu         sync.Mutex
	tolerated  string
	complaints []string
	foreign    []string
}

// look is how a page is looked at.
type look struct {
	width, height int64
	phone, dark   bool
}

var (
	desktop = look{width: 1440, height: 900}
	phone   = look{width: 390, height: 844, phone: true}
)

func (l look) inTheDark() look {
	l.dark = true
	return l
}

func (l look) String() string {
	name := fmt.Sprintf("%dx%d", l.width, l.height)
	if l.dark {
		name += " dark"
	}
	return name
}

// told makes a breach of the content security policy a complaint in the console, wherever it happens.
const told = `addEventListener("securitypolicyviolation", (e) => console.error("content security policy: " + e.violatedDirective + " " + e.blockedURI));`

// open opens a tab that is at no page yet.
func open(t *testing.T, origin string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(rig.browser, chromedp.WithNewBrowserContext())
	b := &tab{t: t, ctx: ctx, origin: origin}
	t.Cleanup(func() {
		defer cancel()
		for _, what := range b.noticed() {
			t.Errorf("the page must not: %s", what)
		}
	})
	b.must(chromedp.Listen(ctx, b.hear))
	call(b, network.Enable, network.EnableParams{})
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: told})
	b.see(desktop)
	return b
}

func (b *tab) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// hear notes what the page must not do.
func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	complain := func(complaint string) {
		if b.tolerated == "" || !strings.Contains(complaint, b.tolerated) {
			b.complaints = append(b.complaints, complaint)
		}
	}
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			var said []string
			for _, a := range e.Args {
				said = append(said, string(a.Value)+a.Description)
			}
			complain(strings.Join(said, " "))
		}
	case *runtime.EventExceptionThrown:
		complain(fmt.Sprint(e.ExceptionDetails.Text, " ", e.ExceptionDetails.Exception))
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			complain(fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; u != b.origin && !strings.HasPrefix(u, b.origin+"/") && !strings.HasPrefix(u, "data:") {
			b.foreign = append(b.foreign, "request to somebody else: "+u)
		}
	}
}

// noticed is all that was held against the page so far.
func (b *tab) noticed() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append(append([]string{}, b.complaints...), b.foreign...)
}

// forget forgets it.
func (b *tab) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints, b.foreign = nil, nil
}

// tolerate makes complaints that say something none: the browser complains in the name of a page about every answer that is an error.
func (b *tab) tolerate(saying string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tolerated = saying
}

// goTo opens a page of the daemon.
func (b *tab) goTo(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.origin + path))
}

// do takes a step.
func (b *tab) do(step chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	b.must(chromedp.Do(ctx, step))
}

// click clicks what a CSS selector finds, when it is there. A page that lives may put another in its place between the two: then that one is clicked.
func (b *tab) click(css string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	err := errGone
	for err != nil && strings.Contains(err.Error(), errGone.Error()) {
		err = chromedp.Do(ctx, chromedp.Click(chromedp.CSS(css)))
	}
	b.must(err)
}

// errGone is what the browser says of a node that is no longer there.
var errGone = errors.New("Could not find node with given id")

// press types keys, one after the other.
func (b *tab) press(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		b.do(chromedp.KeyEvent(k))
	}
}

// see changes how the page is looked at.
func (b *tab) see(l look) {
	b.t.Helper()
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: l.width, Height: l.height, DeviceScaleFactor: 1, Mobile: l.phone})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// shoot leaves a picture of the page in the folder of screenshots; whole: not only of the part that is in view.
func (b *tab) shoot(name string, whole bool) {
	b.t.Helper()
	picture := chromedp.CaptureScreenshot()
	if whole {
		picture = chromedp.FullScreenshot(100)
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, picture)
	b.must(err)
	b.must(os.WriteFile(filepath.Join(*shots, name+".png"), png, 0o600))
}

// poll waits until something is so.
func (b *tab) poll(what string, so func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(40 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.shoot("failed-"+strings.ReplaceAll(b.t.Name(), "/", "-"), false)
			b.t.Fatalf("it is not so that %s", what)
		}
	}
}

// until waits until an expression of the page is true.
func (b *tab) until(what, expression string) {
	b.t.Helper()
	b.poll(what+": "+expression, func() bool { return eval[bool](b, "Boolean("+expression+")") })
}

// eval gives what an expression of the page is.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%v: %s", err, expression)
	}
	return v
}
