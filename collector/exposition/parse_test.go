package exposition_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

// whole is a page with one of each kind.
const whole = `# HELP up_total Requests \\ all\nof them.
# TYPE up_total counter
up_total{model="m"} 3
# TYPE busy gauge
busy 0.5
# TYPE lat histogram
lat_bucket{le="0.1"} 1
lat_bucket{le="+Inf"} 2
lat_sum 0.7
lat_count 2
# TYPE size summary
size{quantile="0.5"} 4
size_sum 9
size_count 2
plain 7
`

var wholeLines = []string{
	"up_total counter Requests \\ all\nof them.", `  model="m" 3`, "busy gauge", "  0.5", "lat histogram", "  count=2 sum=0.7 0.1:1 +Inf:2",
	"size summary", "  count=2 sum=9 0.5:4", "plain untyped", "  7",
}

var pages = []struct {
	name, page, contentType string
	want                    []string
}{
	{"each kind of family is read", whole, "", append(slices.Clip(wholeLines), "samples 10 duplicates 0 dropped 0")},
	{"a family whose TYPE stands behind its samples", "x_bucket{le=\"+Inf\"} 1\nx_sum 1\nx_count 1\n# TYPE x histogram\n", "", []string{
		"x histogram", "  count=1 sum=1 +Inf:1", "samples 3 duplicates 0 dropped 0",
	}},
	{"an OpenMetrics counter is named as its samples are, and knows when it began", "# TYPE x counter\n# HELP x What.\n# UNIT x seconds\nx_total{a=\"1\"} 2\nx_created{a=\"1\"} 1600000000.5\nx_total{a=\"2\"} 3\n# EOF\n", openMetrics, []string{
		"x_total counter What.", `  a="1" 2 since 1600000000.500`, `  a="2" 3`, "samples 3 duplicates 0 dropped 0",
	}},
	{"OpenMetrics histograms and summaries know when they began", "# TYPE h histogram\nh_created 1.6e9\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\n# TYPE s summary\ns_count 1\ns_sum 1\ns_created 1.7e9\n# EOF", openMetrics, []string{
		"h histogram", "  count=1 sum=1 +Inf:1 since 1600000000.000", "s summary", "  count=1 sum=1 since 1700000000.000", "samples 7 duplicates 0 dropped 0",
	}},
	{"OpenMetrics that is called plain text is typed likewise", "# TYPE x counter\nx_total 2\n# TYPE b info\nb_info{version=\"1\"} 1\n# EOF\n", "text/plain; version=0.0.4", []string{
		"x_total counter", "  2", "b_info gauge", `  version="1" 1`, "samples 2 duplicates 0 dropped 0",
	}},
	{"info and state sets are gauges", "# TYPE build info\nbuild_info{version=\"1\"} 1\n# TYPE state stateset\nstate{state=\"on\"} 1\nstate{state=\"off\"} 0\n# EOF\n", openMetrics, []string{
		"build_info gauge", `  version="1" 1`, "state gauge", `  state="on" 1`, `  state="off" 0`, "samples 3 duplicates 0 dropped 0",
	}},
	{"a creation that has a TYPE of its own, as Python writes it, is both a gauge and the beginning of its counter", "# TYPE x_total counter\nx_total{a=\"1\"} 2\n# TYPE x_created gauge\nx_created{a=\"1\"} 1.6e9\n", "", []string{
		"x_total counter", `  a="1" 2 since 1600000000.000`, "x_created gauge", `  a="1" 1.6e+09`, "samples 2 duplicates 0 dropped 0",
	}},
	{"a gauge that counts creations is not the beginning of a counter", "# TYPE threads_total counter\nthreads_total 2\n# TYPE threads_created gauge\nthreads_created 12\n", "", []string{
		"threads_total counter", "  2", "threads_created gauge", "  12", "samples 2 duplicates 0 dropped 0",
	}},
	{"a creation of something that is not on the page makes no series", "# TYPE x counter\nx_created 1.6e9\n# TYPE h histogram\nh_created 1.6e9\n", "", []string{"samples 2 duplicates 0 dropped 0"}},
	{"a creation without a family is a series like any other", "x_created 5\n", "", []string{"x_created untyped", "  5", "samples 1 duplicates 0 dropped 0"}},
	{"exemplars in plain text are dropped, braces and hashes in quotes are none", "# TYPE x_total counter\nx_total{a=\"}# {\"} 2 # {trace_id=\"}\"} 0.5\nx_total{a=\"2\"} 3 1600000000000 # {} 0.5 1600000000.123\n", "", []string{
		"x_total counter", `  a="}# {" 2`, `  a="2" 3`, "samples 2 duplicates 0 dropped 0",
	}},
	{"TYPE unknown is untyped", "# TYPE x unknown\nx 1\n# TYPE y untyped\ny 2\n", "", []string{"x untyped", "  1", "y untyped", "  2", "samples 2 duplicates 0 dropped 0"}},
	{"types in capitals, and a comment whose word touches the hash", "#TYPE x COUNTER\n#HELP x   Blanks around it.  \nx 1\n", "", []string{
		"x counter Blanks around it.", "  1", "samples 1 duplicates 0 dropped 0",
	}},
	{"of a TYPE and a HELP that come again the first holds", "# HELP x first\n# TYPE x gauge\nx{a=\"1\"} 1\n# HELP x second\n# TYPE x counter\nx{a=\"2\"} 2\n# TYPE y gauge\ny 3\n", "", []string{
		"x gauge first", `  a="1" 1`, `  a="2" 2`, "y gauge", "  3", "samples 3 duplicates 0 dropped 0",
	}},
	{"a family that is not in one place is one", "# TYPE x gauge\nx{a=\"1\"} 1\ny 2\nx{a=\"2\"} 3\n", "", []string{
		"x gauge", `  a="1" 1`, `  a="2" 3`, "y untyped", "  2", "samples 3 duplicates 0 dropped 0",
	}},
	{"of the same series twice the last one stays, whatever the order of labels", "x{a=\"1\",b=\"2\"} 1\nx{b=\"2\", a=\"1\",c=\"\"} 5\nx 7\nx{} 8\n", "", []string{
		"x untyped", `  a="1" b="2" 5`, "  8", "samples 4 duplicates 2 dropped 0",
	}},
	{"of the same histogram twice the last one stays", "# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\nh_bucket{le=\"1.0\"} 2\nh_bucket{le=\"Inf\"} 3\nh_sum 4\nh_count 3\n", "", []string{
		"h histogram", "  count=3 sum=4 1:2 +Inf:3", "samples 8 duplicates 4 dropped 0",
	}},
	{"line ends of Windows", "# TYPE x counter\r\nx{a=\"1\"} 2\r\n\r\ny 3\r\n", "", []string{"x counter", `  a="1" 2`, "y untyped", "  3", "samples 2 duplicates 0 dropped 0"}},
	{"a last line without an end", "x 1\ny 2", "", []string{"x untyped", "  1", "y untyped", "  2", "samples 2 duplicates 0 dropped 0"}},
	{"a gauge may have a label le", "# TYPE x gauge\nx{le=\"5\",gt=\"1\"} 2\n", "", []string{"x gauge", `  gt="1" le="5" 2`, "samples 1 duplicates 0 dropped 0"}},
	{"buckets without a type are series like any other", "x_bucket{le=\"5\"} 2\n", "", []string{"x_bucket untyped", `  le="5" 2`, "samples 1 duplicates 0 dropped 0"}},
	{"histograms of gauges are dropped", "# TYPE g gaugehistogram\ng_bucket{le=\"+Inf\"} 2\ng_gcount 2\ng_gsum 3\ng_bucket{a=\"1\",le=\"+Inf\"} 2\nx 1\n", "", []string{
		"x untyped", "  1", "samples 5 duplicates 0 dropped 2",
	}},
	{"a histogram without +Inf gets it from its count", "# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_sum 3\nh_count 4\n", "", []string{"h histogram", "  count=4 sum=3 1:2 +Inf:4", "samples 3 duplicates 0 dropped 0"}},
	{"a histogram without buckets has that of all", "# TYPE h histogram\nh_sum 3\nh_count 4\n", "", []string{"h histogram", "  count=4 sum=3 +Inf:4", "samples 2 duplicates 0 dropped 0"}},
	{"a histogram without a count gets it from +Inf", "# TYPE h histogram\nh_bucket{le=\"+Inf\"} 2\nh_sum 3\n", "", []string{"h histogram", "  count=2 sum=3 +Inf:2", "samples 2 duplicates 0 dropped 0"}},
	{"a histogram with neither is dropped", "# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_sum 3\nx 1\n", "", []string{"x untyped", "  1", "samples 3 duplicates 0 dropped 1"}},
	{"a histogram without a sum is dropped, others of the family are not", "# TYPE h histogram\nh_bucket{le=\"+Inf\"} 2\nh_count 2\nh_bucket{a=\"1\",le=\"+Inf\"} 2\nh_count{a=\"1\"} 2\nh_sum{a=\"1\"} 2\n", "", []string{
		"h histogram", `  a="1" count=2 sum=2 +Inf:2`, "samples 5 duplicates 0 dropped 1",
	}},
	{"buckets in any order are sorted", "# TYPE h histogram\nh_bucket{le=\"+Inf\"} 3\nh_bucket{le=\"10\"} 2\nh_bucket{le=\"9\"} 1\nh_sum 3\n", "", []string{"h histogram", "  count=3 sum=3 9:1 10:2 +Inf:3", "samples 4 duplicates 0 dropped 0"}},
	{"a histogram whose buckets fall is dropped", "# TYPE h histogram\nh_bucket{le=\"1\"} 3\nh_bucket{le=\"+Inf\"} 2\nh_sum 3\nh_count 2\n", "", []string{"samples 4 duplicates 0 dropped 1"}},
	{"a histogram with a bucket that is no number, endless or negative is dropped", "# TYPE h histogram\nh_bucket{a=\"1\",le=\"+Inf\"} NaN\nh_sum{a=\"1\"} 3\nh_bucket{a=\"2\",le=\"+Inf\"} Inf\nh_sum{a=\"2\"} 3\nh_bucket{a=\"3\",le=\"+Inf\"} -1\nh_sum{a=\"3\"} 3\n", "", []string{
		"samples 6 duplicates 0 dropped 3",
	}},
	{"a histogram with a bucket whose bound cannot be read is dropped", "# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1\nh_bucket{le=\"x\"} 1\nh_sum 3\nh_bucket{a=\"1\",le=\"NaN\"} 1\nh_count{a=\"1\"} 1\nh_sum{a=\"1\"} 1\nh_bucket{a=\"2\"} 1\nh_count{a=\"2\"} 1\nh_sum{a=\"2\"} 1\n", "", []string{
		"samples 9 duplicates 0 dropped 3",
	}},
	{"a sample that its family cannot have is dropped", "# TYPE h histogram\nh 5\n# TYPE g gaugehistogram\ng 5\nx 1\n", "", []string{"x untyped", "  1", "samples 3 duplicates 0 dropped 2"}},
	{"a sum or a count with the label of buckets or quantiles is dropped", "# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_sum 2\nh_count 1\nh_sum{le=\"1\"} 2\nh_count{le=\"1\"} 1\n" +
		"# TYPE s summary\ns_sum{quantile=\"1\"} 2\ns_count{quantile=\"1\"} 1\ns_sum{le=\"1\"} 2\ns_count{le=\"1\"} 1\n", "", []string{
		"h histogram", "  count=1 sum=2 1:1 +Inf:1", "s summary", `  le="1" count=1 sum=2`, "samples 9 duplicates 0 dropped 4",
	}},
	{"a family with a TYPE of its own is no part of another", "# TYPE x histogram\n# TYPE x_count gauge\nx_bucket{le=\"+Inf\"} 1\nx_sum 1\nx_count 7\n", "", []string{
		"x histogram", "  count=1 sum=1 +Inf:1", "x_count gauge", "  7", "samples 3 duplicates 0 dropped 0",
	}},
	{"a summary without quantiles, and one without a count, which is dropped", "# TYPE s summary\ns_sum 1\ns_count 2\ns_sum{a=\"1\"} 1\ns{a=\"1\",quantile=\"0.9\"} 1\n", "", []string{
		"s summary", "  count=2 sum=1", "samples 4 duplicates 0 dropped 1",
	}},
	{"quantiles are sorted, and may be NaN while there is nothing", "# TYPE s summary\ns{quantile=\"0.9\"} NaN\ns{quantile=\"0.5\"} 2\ns_sum 1\ns_count 2\n", "", []string{
		"s summary", "  count=2 sum=1 0.5:2 0.9:NaN", "samples 4 duplicates 0 dropped 0",
	}},
	{"not a number, in all its spellings", "a nan\nb -nan\nc NaN\nd +NAN\ne -nan(ind)\nf Inf\ng -inf\nh +Infinity\n", "", []string{
		"a untyped", "  NaN", "b untyped", "  NaN", "c untyped", "  NaN", "d untyped", "  NaN", "e untyped", "  NaN", "f untyped", "  +Inf", "g untyped", "  -Inf",
		"h untyped", "  +Inf", "samples 8 duplicates 0 dropped 0",
	}},
	{"names in quotes may hold anything", "# TYPE \"tokens per second\" gauge\n# HELP \"tokens per second\" Speed.\n{\"tokens per second\",\"the model\"=\"a\\\"b\\\\c\\nd\"} 5\n{b=\"1\", \"x.y\"} 6\nz{\"ü\"=\"é\"} 7\n", "", []string{
		"tokens per second gauge Speed.", `  the model="a\"b\\c\nd" 5`, "x.y untyped", `  b="1" 6`, "z untyped", `  ü="é" 7`, "samples 3 duplicates 0 dropped 0",
	}},
	{"blanks where nobody expects them", "  x  {  a = \"1\" , b=\"2\" , }   5   1600000000000  \n\t\ny\t6\nz{}7\n", "", []string{
		"x untyped", `  a="1" b="2" 5`, "y untyped", "  6", "z untyped", "  7", "samples 3 duplicates 0 dropped 0",
	}},
	{"timestamps are dropped, in milliseconds, in seconds, before 1970", "x 1 1600000000000\ny 2 1600000000.5\nz 3 -5\n", "", []string{
		"x untyped", "  1", "y untyped", "  2", "z untyped", "  3", "samples 3 duplicates 0 dropped 0",
	}},
	{"labels that are empty are not there", "x{a=\"\",b=\"1\"} 5\n", "", []string{"x untyped", `  b="1" 5`, "samples 1 duplicates 0 dropped 0"}},
	{"a label of broken UTF-8 does not cost the page", "x{a=\"\xff\"} 5\n# HELP x \xffa\n", "", []string{"x untyped \uFFFDa", "  a=\"\uFFFD\" 5", "samples 1 duplicates 0 dropped 0"}},
	{"backslashes that escape nothing stay, as in the paths of Windows", "x{a=\"C:\\models\\\\x\"} 5\n", "", []string{"x untyped", `  a="C:\\models\\x" 5`, "samples 1 duplicates 0 dropped 0"}},
	{"a page with a wrong content type is read by what it holds", "x 5\n", "text/html; charset=utf-8", []string{"x untyped", "  5", "samples 1 duplicates 0 dropped 0"}},
	{"a page whose content type cannot be read", "x 5\n", ";;;", []string{"x untyped", "  5", "samples 1 duplicates 0 dropped 0"}},
	{"a page on which nothing has been counted yet", "# HELP x What.\n# TYPE x counter\n", "", []string{"samples 0 duplicates 0 dropped 0"}},
	{"a page of OpenMetrics with nothing but its end", "# EOF\n", openMetrics, []string{"samples 0 duplicates 0 dropped 0"}},
	{"comments that say nothing of families", "# a comment\n#\n# TYPE\n# TYPE x\n# HELP x\nx 1\n", "", []string{"x untyped", "  1", "samples 1 duplicates 0 dropped 0"}},
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tc := range pages {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := exposition.NewParser(100)
			for range 2 { // the second time from what was kept
				page, err := p.Parse([]byte(tc.page), tc.contentType)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, lines(page)); diff != "" {
					t.Fatalf("page (-want +got):\n%s", diff)
				}
			}
		})
	}
}

var broken = []struct {
	name, page, contentType string
	want                    error  // nil = any other
	says                    string // part of the message
}{
	{"HTML", "<!DOCTYPE html>\n<html><body>It works!</body></html>\n", "text/html", exposition.ErrIncompatible, "line 1"},
	{"an object of JSON", `{"error":"not found"}`, "application/json", exposition.ErrIncompatible, "line 1"},
	{"an array of JSON", `[{"iter": 1, "gpu": 2}]`, "application/json", exposition.ErrIncompatible, "line 1"},
	{"an empty array of JSON", `[]`, "application/json", exposition.ErrIncompatible, "line 1"},
	{"an empty object of JSON", `{}`, "application/json", exposition.ErrIncompatible, "line 1"},
	{"a sentence", "Not found\n", "", exposition.ErrIncompatible, "line 1"},
	{"a comment and a sentence", "# Metrics\n\nThere are none.\n", "", exposition.ErrIncompatible, "line 3"},
	{"nothing", "", "", exposition.ErrIncompatible, ""},
	{"nothing of protobuf", "", protobuf, exposition.ErrIncompatible, ""},
	{"blank lines", "\r\n \n", "", exposition.ErrIncompatible, ""},
	{"nothing but a comment", "# hello\n", "", exposition.ErrIncompatible, ""},
	{"half a line behind whole ones", "x 1\ny{a=\"1", "", nil, "line 2: braces are not closed"},
	{"a name without a value", "x 1\ny", "", nil, "line 2: no value"},
	{"labels without a value", "x 1\ny{a=\"1\"}\n", "", nil, "line 2: no value"},
	{"a value that is no number, and long", "x 1\ny " + strings.Repeat("z", 1000) + "\n", "", nil, `zzz…" is no number`},
	{"an exemplar with a timestamp that is none", "x 1\ny 2 # {} 1 now\n", "", nil, "line 2: exemplar is not whole"},
	{"half a name in quotes in a TYPE", "x 1\n# TYPE \"y\n", "", nil, "line 2: name has no closing quote"},
	{"half an exemplar", "x 1\ny 2 # {trace_id=\"5", "", nil, "line 2: exemplar is not whole"},
	{"an exemplar without a value", "x 1\ny 2 # {trace_id=\"5\"}\n", "", nil, "line 2: exemplar is not whole"},
	{"a comment behind a value", "x 1\ny 2 # comment\n", "", nil, "line 2: exemplar is not whole"},
	{"half a type", "x 1\n# TYPE y coun", "", nil, `line 2: family y has the unknown type "coun"`},
	{"a value that is no number", "x 1\ny 1,5\n", "", nil, `line 2: "1,5" is no number`},
	{"a value that is too large", "x 1\ny 1e999\n", "", nil, "is no number"},
	{"a value as Go alone writes it", "x 1\ny 0x1p4\n", "", nil, "is no number"},
	{"two values and more", "x 1\ny 1 2 3\n", "", nil, "line 2: something stands behind the value"},
	{"a timestamp that is none", "x 1\ny 1 now\n", "", nil, "line 2: something stands behind the value"},
	{"a name that begins with a digit", "x 1\n5y 1\n", "", nil, "no valid name"},
	{"a name with a dot and no quotes", "x 1\ny.z 1\n", "", nil, `line 2: "y.z" is no valid name of a metric`},
	{"no name at all", "x 1\n{a=\"1\"} 1\n", "", nil, "no valid name"},
	{"a name in quotes that is empty", "x 1\n{\"\"} 1\n", "", nil, "no valid name"},
	{"two names", "x 1\ny{\"z\"} 1\n", "", nil, "two names"},
	{"a label twice", "x 1\ny{a=\"1\",a=\"2\"} 1\n", "", nil, `label "a" stands there twice`},
	{"the label that is the name", "x 1\ny{__name__=\"z\"} 1\n", "", nil, "line 2"},
	{"a label without quotes", "x 1\ny{a=1} 1\n", "", nil, "line 2: label is not"},
	{"labels without a comma", "x 1\ny{a=\"1\" b=\"2\"} 1\n", "", nil, "line 2: label is not"},
	{"only a comma between braces", "x 1\ny{,} 1\n", "", nil, "line 2: label is not"},
	{"OpenMetrics without an end", "# TYPE x counter\nx_total 1\n", openMetrics, nil, "no # EOF"},
	{"more samples than are read", strings.Repeat("x{a=\"1\"} 1\n", 101), "", exposition.ErrTooLarge, "more than 100 samples"},
	{"more families than samples are read", families(101), "", exposition.ErrTooLarge, "more than 100 families"},
	{"a line that is too long", "x{a=\"" + strings.Repeat("a", 64<<10) + "\"} 1\n", "", exposition.ErrTooLarge, "line 1 has more than 65536 bytes"},
	{"protobuf that is not delimited", "\x01\x02", "application/vnd.google.protobuf; encoding=text", exposition.ErrIncompatible, `"text"`},
}

func TestLabel(t *testing.T) {
	t.Parallel()
	page := parse(t, exposition.NewParser(100), "x{a=\"1\",b=\"2\"} 5\n", "")
	s := &page.Families[0].Series[0]
	for name, want := range map[string]string{"a": "1", "b": "2", "c": ""} {
		if got := s.Label(name); got != want {
			t.Errorf("label %s is %q, want %q", name, got, want)
		}
	}
}

func families(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("# HELP x" + strings.Repeat("y", i) + " What.\n")
	}
	return b.String()
}

func TestPagesThatAreNotRead(t *testing.T) {
	t.Parallel()
	for _, tc := range broken {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := exposition.NewParser(100)
			page, err := p.Parse([]byte(tc.page), tc.contentType)
			if err == nil || page != nil {
				t.Fatalf("got the page %v and the error %v", page, err)
			}
			if !strings.Contains(err.Error(), tc.says) || len(err.Error()) > 200 {
				t.Errorf("error %q, want %q in it", err, tc.says)
			}
			for _, sentinel := range []error{exposition.ErrIncompatible, exposition.ErrTooLarge} {
				if got, want := errors.Is(err, sentinel), errors.Is(tc.want, sentinel); got != want {
					t.Errorf("%v: is %v: %t, want %t", err, sentinel, got, want)
				}
			}
			page, err = p.Parse([]byte(whole), "")
			if err != nil {
				t.Fatalf("the next page: %v", err)
			}
			if diff := cmp.Diff(append(slices.Clip(wholeLines), "samples 10 duplicates 0 dropped 0"), lines(page)); diff != "" {
				t.Errorf("the next page (-want +got):\n%s", diff)
			}
		})
	}
}
