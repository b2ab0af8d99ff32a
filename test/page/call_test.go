package page

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// call gives the browser a command of its protocol for the tab.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	r, err := chromedp.Call(ctx, command, params)
	b.must(err)
	return r
}

// Steps of people that have a name of their own here.
var (
	back   = chromedp.NavigateBack()
	reload = chromedp.Reload()
)
