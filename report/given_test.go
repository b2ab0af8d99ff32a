package report

import (
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func TestWhatIsNoTokenIsToldByItsOwnName(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		product metrics.Product
		items   int64
		audio   float64
		want    string
	}{
		"vectors":            {metrics.ProductVectors, 4, 0, "Given     8 vectors, "},
		"documents":          {metrics.ProductDocuments, 5, 0, "Given     10 documents, "},
		"a transcript":       {metrics.ProductTranscript, 0, 2.5, "Given     the text of 5 seconds of audio"},
		"whatever was found": {metrics.ProductTokens, 3, 0, "Given     6 vectors or documents, "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := NewCollector(nil)
			for i := range int64(2) {
				r := stream(100*i, 10)
				r.Streaming, r.Product, r.Items, r.AudioSeconds = false, test.product, test.items, test.audio
				r.Usage.Output, r.OutputSource = metrics.Count{}, metrics.SourceNone
				add(c, r)
			}
			var out strings.Builder
			report := c.Report(testMeta())
			if err := report.WriteTable(&out, 100); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), test.want) {
				t.Errorf("no line %q in\n%s", test.want, out.String())
			}
			if told := strings.Contains(out.String(), "output tokens of 2 requests are not known"); told != test.product.Generates() {
				t.Errorf("missing output tokens are told: %t", told)
			}
		})
	}
}
