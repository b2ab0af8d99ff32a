// The test that drives the pages with a browser, apart from the program's go.mod so that none of its dependencies gets there.
module github.com/aiperf-exporter/aiperf-exporter/test/page

go 1.26.8

require (
	github.com/chromedp/cdproto v0.160.1 // indirect
	github.com/chromedp/chromedp v0.23.1 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
)
