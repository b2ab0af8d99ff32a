// Package page holds the tests that drive the pages of the exporter with a real browser; there is nothing in it but tests. `make page` runs
// them and leaves the screenshots of what they saw in build/page.
package page
