package exposition_test

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

func parse(t *testing.T, p *exposition.Parser, body, contentType string) *exposition.Page {
	t.Helper()
	page, err := p.Parse([]byte(body), contentType)
	if err != nil {
		t.Fatalf("%v in %q", err, body)
	}
	return page
}

func TestPagesOfOneServerAreReadOneAfterTheOther(t *testing.T) {
	t.Parallel()
	const h = "# TYPE h histogram\nh_bucket{le=\"1\"} %d\nh_bucket{le=\"+Inf\"} 5\nh_sum 3\nh_count 5\n"
	p := exposition.NewParser(100)
	for _, step := range []struct {
		name, page string
		want       []string
	}{
		{"the first page", fmt.Sprintf(h, 1) + "x{a=\"1\"} 1\nx{a=\"2\"} 2\n", []string{
			"h histogram", "  count=5 sum=3 1:1 +Inf:5", "x untyped", `  a="1" 1`, `  a="2" 2`, "samples 6 duplicates 0 dropped 0",
		}},
		{"other values", fmt.Sprintf(h, 4) + "x{a=\"1\"} 7\nx{a=\"2\"} 8\n", []string{
			"h histogram", "  count=5 sum=3 1:4 +Inf:5", "x untyped", `  a="1" 7`, `  a="2" 8`, "samples 6 duplicates 0 dropped 0",
		}},
		{"a series ends, another one begins", fmt.Sprintf(h, 4) + "x{a=\"3\"} 1\nx{a=\"2\"} 8\n", []string{
			"h histogram", "  count=5 sum=3 1:4 +Inf:5", "x untyped", `  a="3" 1`, `  a="2" 8`, "samples 6 duplicates 0 dropped 0",
		}},
		{"a bucket is missing, and with it nothing else", "# TYPE h histogram\nh_bucket{le=\"+Inf\"} 5\nh_sum 3\nh_count 5\n", []string{
			"h histogram", "  count=5 sum=3 +Inf:5", "samples 3 duplicates 0 dropped 0",
		}},
		{"the sum is missing", "# TYPE h histogram\nh_bucket{le=\"+Inf\"} 5\nh_count 5\n", []string{"samples 2 duplicates 0 dropped 1"}},
		{"another family has a type, so nothing is what it was", "# TYPE h gauge\n# TYPE x counter\nh_count 5\nh 2\nx_total 1\n", []string{
			"h_count untyped", "  5", "h gauge", "  2", "x_total counter", "  1", "samples 3 duplicates 0 dropped 0",
		}},
		{"a type is told no longer", "# TYPE h gauge\nx_total 1\n", []string{"x_total untyped", "  1", "samples 1 duplicates 0 dropped 0"}},
		{"a help text changes", "# TYPE h gauge\n# HELP x_total Now.\nx_total 1\n", []string{"x_total untyped Now.", "  1", "samples 1 duplicates 0 dropped 0"}},
		{"a help text is told no longer", "# TYPE h gauge\nx_total 1\n", []string{"x_total untyped", "  1", "samples 1 duplicates 0 dropped 0"}},
	} {
		if diff := cmp.Diff(step.want, lines(parse(t, p, step.page, ""))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

func TestASeriesThatNoLongerTellsWhenItBeganIsNotSaidToHaveBegun(t *testing.T) {
	t.Parallel()
	p := exposition.NewParser(100)
	parse(t, p, "# TYPE x counter\nx_total 1\nx_created 1.6e9\n# EOF\n", openMetrics)
	want := []string{"x_total counter", "  2", "samples 1 duplicates 0 dropped 0"}
	if diff := cmp.Diff(want, lines(parse(t, p, "# TYPE x counter\nx_total 2\n# EOF\n", openMetrics))); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}

func TestTheFormatMayChange(t *testing.T) {
	t.Parallel()
	p := exposition.NewParser(100)
	for _, contentType := range []string{"text/plain", protobuf, openMetrics, "text/plain", openMetrics, protobuf} {
		body, want := "# TYPE x gauge\nx 5\n# EOF\n", "x gauge"
		if contentType == protobuf {
			body, want = string(delimited(t, family("x", counterOf(5)))), `x counter The help \n of it.`
		}
		if diff := cmp.Diff([]string{want, "  5", "samples 1 duplicates 0 dropped 0"}, lines(parse(t, p, body, contentType))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", contentType, diff)
		}
	}
}

func TestStringsStayWhenTheNextPageIsRead(t *testing.T) {
	t.Parallel()
	p := exposition.NewParser(100)
	body := []byte("# HELP x_total What.\n# TYPE x_total counter\nx_total{model=\"m\"} 1\n")
	page, err := p.Parse(body, "")
	if err != nil {
		t.Fatal(err)
	}
	f := page.Families[0]
	kept := []string{f.Name, f.Help, f.Series[0].Labels[0].Name, f.Series[0].Labels[0].Value}
	for i := range body {
		body[i] = 'z'
	}
	parse(t, p, "y{b=\"2\"} 1\n", "")
	if diff := cmp.Diff([]string{"x_total", "What.", "model", "m"}, kept); diff != "" {
		t.Errorf("strings of the first page (-want +got):\n%s", diff)
	}
}

func TestSeriesThatEndedAreForgotten(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]func(i int) (body, contentType string){
		"text": func(i int) (string, string) { return fmt.Sprintf("# HELP y%d What.\nx{pod=\"%d\"} 1\n", i, i), "" },
		"creations of what is not there": func(i int) (string, string) {
			return fmt.Sprintf("# TYPE x counter\nx_created{pod=\"%d\"} 1.6e9\n# EOF\n", i), openMetrics
		},
		"protobuf": func(i int) (string, string) {
			return string(delimited(t, family("x", labelled(gaugeOf(1), "pod", strconv.Itoa(i))))), protobuf
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := exposition.NewParser(100)
			for i := range 10_000 {
				body, contentType := page(i)
				parse(t, p, body, contentType)
				if p.Kept() > 200 {
					t.Fatalf("%d samples and series are kept after %d pages of one each", p.Kept(), i+1)
				}
			}
		})
	}
}

// TestGarbage is not parallel: it counts what the whole process allocates.
func TestGarbage(t *testing.T) { //nolint:paralleltest // see above
	body := largePage(400_000)
	p := exposition.NewParser(20_000)
	for _, step := range []struct {
		name string
		most uint64
	}{{"the first page", 2 << 20}, {"the second", 64 << 10}, {"the third", 64 << 10}} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := p.Parse(body, "text/plain")
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > step.most {
			t.Errorf("%s of %d bytes makes %d bytes of garbage, more than %d", step.name, len(body), got, step.most)
		}
	}
}

func TestACutPage(t *testing.T) {
	t.Parallel()
	body := strings.Replace(whole, `\\ all\nof them`, "of all", 1) // the reference knows no escapes
	for i := range len(body) {
		cut := body[:i]
		last := cut[strings.LastIndexByte(cut, '\n')+1:]
		page, err := exposition.NewParser(100).Parse([]byte(cut), "")
		wantError := i == 0 || !sampleLine.MatchString(last) && !comment.MatchString(last) || halfType(last) || onlyComment(cut)
		if (err != nil) != wantError {
			t.Errorf("error %v for a page that ends with %q", err, last)
		}
		if err != nil {
			continue
		}
		samples, types, help, ok := referenceText(cut)
		if !ok { // half a HELP or TYPE line, which says nothing yet
			samples, types, help, _ = referenceText(strings.TrimSuffix(cut, last))
		}
		if diff := cmp.Diff(referenceLines(samples, types, help), lines(page)); diff != "" {
			t.Errorf("page that ends with %q (-want +got):\n%s", last, diff)
		}
	}
}

// halfType tells whether a line is a TYPE that was cut within the word that matters.
func halfType(line string) bool {
	words := strings.Fields(line)
	return len(words) == 4 && words[1] == "TYPE" && !typeLine.MatchString(line)
}

// onlyComment tells whether a page says nothing yet.
func onlyComment(page string) bool {
	return !strings.Contains(page, "\n") && !slices.Contains(strings.Fields(page), "HELP")
}

func TestACutPageOfOpenMetricsIsNeverRead(t *testing.T) {
	t.Parallel()
	body := "# TYPE x counter\nx_total{a=\"1\"} 12 # {trace_id=\"5\"} 1.5 1600000000.5\n# EOF\n"
	for i := range len(body) - len("\n") {
		if _, err := exposition.NewParser(100).Parse([]byte(body[:i]), openMetrics); err == nil {
			t.Errorf("no error for %q", body[:i])
		}
	}
	parse(t, exposition.NewParser(100), strings.TrimSuffix(body, "\n"), openMetrics)
}
