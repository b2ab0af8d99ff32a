package page

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
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

// back goes to the page before, as the button of the browser does.
func (b *tab) back() {
	b.t.Helper()
	was := call(b, page.GetNavigationHistory, cdp.Empty{})
	call(b, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: was.Entries[was.CurrentIndex-1].ID})
}
