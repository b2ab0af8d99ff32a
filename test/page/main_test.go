package page

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"
)

// Where things are, as seen from this folder.
var (
	binary = flag.String("binary", "../../bin/aiperf-exporter", "`path` of the exporter")
	axe    = flag.String("axe", "../../.cache/axe/axe.min.js", "`path` of axe-core")
	shots  = flag.String("shots", "../../build/page", "`folder` that the screenshots are left in")
)

// rig is what all tests share: one browser, in which each test has a profile of its own, a demo, and a zoo of targets in every state, which ask
// the server of the demo. Nobody changes them.
var rig struct {
	browser   context.Context
	demo, zoo *daemon
}

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := with(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func with(tests func() int) (code int, err error) {
	if err := os.MkdirAll(*shots, 0o750); err != nil {
		return 0, err
	}
	program, err := chromium()
	if err != nil {
		return 0, err
	}
	options := append([]chromedp.ExecAllocatorOption{}, chromedp.DefaultExecAllocatorOptions[:]...)
	options = append(options,
		chromedp.ExecPath(program),
		// No name has an address: the pages have to do with the daemon alone, and Chromium with itself.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"),
		chromedp.Flag("hide-scrollbars", true),
		chromedp.DisableGPU,
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	browser, closed := chromedp.NewContext(allocator)
	defer closed()
	if err := chromedp.Do(browser); err != nil {
		return 0, fmt.Errorf("start %s: %w", program, err)
	}
	rig.browser = browser
	rig.demo, err = startDemo("127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer rig.demo.stop()
	rig.zoo, err = startServe("testdata/zoo.yml")
	if err != nil {
		return 0, err
	}
	defer rig.zoo.stop()
	return tests(), nil
}

func chromium() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no Chromium: test/install/chromium.sh")
}
