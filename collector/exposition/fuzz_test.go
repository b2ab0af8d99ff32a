package exposition_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

// FuzzParse reads two pages of one server, one after the other. Of the second it wants what a parser makes that knows nothing of the first, and
// what the reference makes, where that understands the page.
func FuzzParse(f *testing.F) {
	for i, tc := range pages {
		f.Add(tc.page, pages[(i+1)%len(pages)].page, tc.contentType == openMetrics)
		f.Add(tc.page, tc.page, tc.contentType == openMetrics)
	}
	for _, tc := range broken {
		f.Add(tc.page, whole, false)
		f.Add(whole, tc.page, false)
	}
	f.Fuzz(func(t *testing.T, first, second string, marked bool) {
		contentType := ""
		if marked {
			contentType = openMetrics
		}
		p := exposition.NewParser(1000)
		_, _ = p.Parse([]byte(first), contentType)
		page, err := p.Parse([]byte(second), contentType)
		afresh, errAfresh := exposition.NewParser(1000).Parse([]byte(second), contentType)
		if (err == nil) != (errAfresh == nil) {
			t.Fatalf("error %v after another page, %v without", err, errAfresh)
		}
		if err == nil {
			checkPage(t, page)
			if diff := cmp.Diff(lines(afresh), lines(page)); diff != "" {
				t.Fatalf("after another page (-alone +after):\n%s", diff)
			}
		}
		compareWithReference(t, second, marked, page, err)
	})
}

func compareWithReference(t *testing.T, body string, marked bool, page *exposition.Page, err error) {
	t.Helper()
	samples, types, help, ok := referenceText(body)
	if !ok || marked && !strings.HasSuffix(body, "# EOF\n") || errors.Is(err, exposition.ErrTooLarge) {
		return
	}
	if err != nil {
		t.Fatalf("%v, the reference has no error", err)
	}
	if diff := cmp.Diff(referenceLines(samples, types, help), lines(page)); diff != "" {
		t.Fatalf("page (-reference +got):\n%s", diff)
	}
}

// checkPage finds what no page may have.
func checkPage(t *testing.T, page *exposition.Page) {
	t.Helper()
	names := map[string]bool{}
	for i := range page.Families {
		f := &page.Families[i]
		if names[f.Name] || f.Name == "" || len(f.Series) == 0 {
			t.Fatalf("family %q is there twice, has no name or no series", f.Name)
		}
		names[f.Name] = true
		series := map[string]bool{}
		for j := range f.Series {
			s := &f.Series[j]
			var identity strings.Builder
			for k, l := range s.Labels {
				if l.Name == "" || l.Value == "" || k > 0 && s.Labels[k-1].Name >= l.Name {
					t.Fatalf("%s has the labels %q", f.Name, s.Labels)
				}
				identity.WriteString(l.Name + "\xff" + l.Value + "\xff")
			}
			if series[identity.String()] {
				t.Fatalf("%s has a series twice: %q", f.Name, s.Labels)
			}
			series[identity.String()] = true
			if (s.Histogram != nil) != (f.Kind == exposition.Histogram) || (s.Summary != nil) != (f.Kind == exposition.Summary) {
				t.Fatalf("%s is of the kind %v and has %+v", f.Name, f.Kind, s)
			}
		}
	}
}
