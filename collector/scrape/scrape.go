// Package scrape is how collectors reach what they read: an HTTP client of their own with limits on everything, the reasons for which it can
// fail, the loop that asks again and again, and the series that say how it went (aiperf_scrape_*).
package scrape

// Accept asks for what exposition reads best.
const Accept = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
