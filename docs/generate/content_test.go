package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/common/promslog/flag"
	"github.com/prometheus/exporter-toolkit/web/kingpinflag"
	"go.yaml.in/yaml/v3"

	"github.com/aiperf-exporter/aiperf-exporter/discovery"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/probe"
	"github.com/aiperf-exporter/aiperf-exporter/series"
)

var namedVariable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)`)

// Each ```yaml block is a whole configuration that loads without a warning. "yaml fragment" is joined with the smallest example, "yaml
// invalid" is refused with exactly what the next ```text block says, "yaml kubernetes" loads in builds with Kubernetes, "yaml values" is for Helm.
func TestYAMLBlocksAreWhatTheySay(t *testing.T) {
	t.Parallel()
	smallest, err := os.ReadFile(filepath.Join(root, "examples", "minimal.yml"))
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for _, d := range documents(t) {
		for i, b := range d.blocks {
			kind, mark, _ := strings.Cut(b.info, " ")
			if kind != "yaml" {
				continue
			}
			t.Run(d.path+":"+strconv.Itoa(b.number), func(t *testing.T) {
				t.Parallel()
				switch {
				case mark == "values":
					checkFits(t, b.text, filepath.Join(root, "deploy", "helm", "aiperf-exporter", "values.schema.json"))
				case checkForeign(t, b.text):
				case mark == "":
					checkLoads(t, b.text)
				case mark == "fragment":
					checkLoads(t, string(smallest), b.text)
				case mark == "kubernetes":
					checkNeedsKubernetes(t, b.text)
				case mark == "invalid" && i+1 < len(d.blocks) && d.blocks[i+1].info == "text":
					checkIsRefused(t, b.text, d.blocks[i+1].text)
				default:
					t.Errorf("unknown mark %q, or no ```text block behind", mark)
				}
			})
			whole++
		}
	}
	if whole < 5 {
		t.Errorf("only %d blocks were found", whole)
	}
}

func checkLoads(t *testing.T, texts ...string) {
	t.Helper()
	c, err := loadText(t, texts...)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range c.Warnings {
		if len(texts) == 1 { // the entries of a fragment are used by nobody
			t.Error(w)
		}
	}
}

// checkNeedsKubernetes loads the text where this build can, and finds nothing else wrong with it where it cannot.
func checkNeedsKubernetes(t *testing.T, text string) {
	t.Helper()
	if discovery.Kubernetes {
		checkLoads(t, text)
		return
	}
	problems := problemsOf(t, text)
	if len(problems) == 0 {
		t.Error("loads without Kubernetes, too")
	}
	for _, f := range problems {
		if !strings.Contains(f.Message, "without Kubernetes") {
			t.Error(f)
		}
	}
}

func checkIsRefused(t *testing.T, text, want string) {
	t.Helper()
	var got strings.Builder
	for _, f := range problemsOf(t, text) {
		f.File = filepath.Base(f.File)
		got.WriteString(f.String() + "\n")
	}
	if got.String() != want {
		t.Errorf("the program says\n%sand the page\n%s", got.String(), want)
	}
}

var code = regexp.MustCompile("`([^`]+)`")

// seriesName finds those that are exposed, and those that rules record: level:name:operation.
var seriesName = regexp.MustCompile(`\b(?:[a-z]+:)?aiperf_[a-z0-9_]+(?::[a-z0-9_]+)?`)

// recordedNames are those of the shipped rules.
func recordedNames(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "alerts", "rules", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	var out []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rules struct {
			Groups []struct{ Rules []struct{ Record string } }
		}
		if err := yaml.Unmarshal(text, &rules); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, group := range rules.Groups {
			for _, rule := range group.Rules {
				out = append(out, rule.Record)
			}
		}
	}
	return out
}

func TestSeriesExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{
		"aiperf_exporter_build_info": true,
		// A key of AIPerf's report, and the name of one of its files.
		"aiperf_version": true, "aiperf_results_ready": true,
	}
	for _, name := range recordedNames(t) {
		known[name] = true
	}
	for _, s := range slices.Concat(series.Table(), probe.AnswerTable()) {
		known[s.Name] = true
		if s.Kind == metrics.Histogram {
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				known[s.Name+suffix] = true
			}
		}
	}
	for _, d := range documents(t) {
		d.eachLine(func(number int, text string) {
			for _, name := range seriesName.FindAllString(text, -1) {
				if !known[name] && !isPrefix(name, known) {
					t.Errorf("%s:%d: there is no series %s", d.path, number, name)
				}
			}
		})
	}
}

// isPrefix tells whether a name stands for several: aiperf_exporter_*.
func isPrefix(name string, known map[string]bool) bool {
	if !strings.HasSuffix(name, "_") {
		return false
	}
	for k := range known {
		if strings.HasPrefix(k, name) {
			return true
		}
	}
	return false
}

// eachLine visits prose and code.
func (d *document) eachLine(visit func(number int, text string)) {
	for _, l := range d.prose {
		visit(l.number, l.text)
	}
	for _, b := range d.blocks {
		for i, text := range strings.Split(b.text, "\n") {
			visit(b.number+i, text)
		}
	}
}

// ourFlag finds flags in code that is the flag alone, or a command of ours.
var (
	flagAlone  = regexp.MustCompile("`--(?:no-)?([a-z][a-z0-9.-]+)")
	ourCommand = regexp.MustCompile(`aiperf-exporter(?: [^|#` + "`" + `]*)? --`)
	anyFlag    = regexp.MustCompile(`(?:^|\s)--(?:no-)?([a-z][a-z0-9.-]+)`)
)

func TestFlagsExist(t *testing.T) {
	t.Parallel()
	known := flagNames(t)
	for _, d := range documents(t) {
		foreign := foreignFlags(t, d.path)
		d.eachLine(func(number int, text string) {
			found := flagAlone.FindAllStringSubmatch(text, -1)
			for _, part := range ourCommand.FindAllStringIndex(text, -1) {
				rest, _, _ := strings.Cut(text[part[1]-2:], "`")
				found = append(found, anyFlag.FindAllStringSubmatch(rest, -1)...)
			}
			for _, f := range found {
				if !known[f[1]] && !foreign[f[1]] {
					t.Errorf("%s:%d: there is no flag --%s", d.path, number, f[1])
				}
			}
		})
	}
}

// flagNames collects the flags of the program: those in its source, and those that libraries add.
func flagNames(t *testing.T) map[string]bool {
	t.Helper()
	app := kingpin.New("", "")
	kingpinflag.AddFlags(app, "")
	flag.AddFlags(app, &promslog.Config{})
	out := map[string]bool{"help-long": true, "help-man": true, "version": true}
	for _, f := range app.Model().Flags {
		out[f.Name] = true
	}
	files, err := filepath.Glob(filepath.Join(root, "cmd", "aiperf-exporter", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if name := flagOf(n); name != "" {
				out[name] = true
			}
			return true
		})
	}
	if !out["config.file"] || !out["web.listen-address"] || !out["log.level"] {
		t.Fatalf("flags were not found: %v", out)
	}
	return out
}

// flagOf is the name in a call such as cmd.Flag("requests", …), "" for anything else.
func flagOf(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 2 {
		return ""
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != "Flag" {
		return ""
	}
	literal, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return ""
	}
	name, err := strconv.Unquote(literal.Value)
	if err != nil {
		return ""
	}
	return name
}

func TestEachErrorClassAndDropReasonHasAdvice(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "docs", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]bool{} // words in the first cells of tables
	for l := range strings.SplitSeq(string(page), "\n") {
		if cells := strings.Split(l, "|"); len(cells) > 2 {
			for _, word := range code.FindAllStringSubmatch(cells[1], -1) {
				first[word[1]] = true
			}
		}
	}
	for _, class := range metrics.ErrorClasses {
		if !first[string(class)] {
			t.Errorf("nothing is said about the error class %s", class)
		}
	}
	for _, reason := range metrics.DropReasons {
		if !first[string(reason)] {
			t.Errorf("nothing is said about the drop reason %s", reason)
		}
	}
}
