package mapping

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed data/*.yml
var data embed.FS

// server is what one file of data says of a kind of server.
type server struct {
	Kind Kind `yaml:"kind"`
	// Prefixes of canonical names tell the kind; in their absence all of Families must be there.
	Prefixes []string `yaml:"prefixes"`
	Families []string `yaml:"families"`
	// Also are the kinds whose names such a server may show beside its own.
	Also []Kind `yaml:"also"`
	// Ranks are labels of the parts of an engine that all tell the same: of those of a model and engine only the lowest is taken.
	Ranks []string `yaml:"ranks"`
	Rows  []row    `yaml:"rows"`
	// Ignored are families that are known and have no series of ours, so that only news is counted as unknown. One that ends in * stands for all
	// whose names begin so.
	Ignored []string `yaml:"ignored"`
}

// row says what becomes of a family.
type row struct {
	Series string `yaml:"series"`
	// Family is the name on the wire, and older ones behind it. Where a page has several, the first that tells something of a model and engine
	// holds for them.
	Family []string `yaml:"family"`
	// Fallback makes the row hold only where the row above for the same series told nothing of a model and engine. Any other row for the same
	// series is joined to it.
	Fallback bool `yaml:"fallback"`
	// Unless names a series: the row is not used where the page has that.
	Unless string `yaml:"unless"`

	// Where are labels whose values must match, Except such that must not; both are whole regular expressions, and an absent label is empty.
	Where  map[string]string `yaml:"where"`
	Except map[string]string `yaml:"except"`
	// Latest takes only the series with the greatest value of a model and engine.
	Latest bool `yaml:"latest"`

	// The value is that of the sample, if none of these says otherwise: the sum of a histogram, the product of the numbers in labels, the
	// count of the items in a label, or 1 for each of them, with the item in a label of ours.
	Sum     bool              `yaml:"sum"`
	Numbers []string          `yaml:"numbers"`
	Items   string            `yaml:"items"`
	Each    map[string]string `yaml:"each"`
	// Scale is the factor to the unit of the series, 0 = 1. Bounds of histograms are scaled, too.
	Scale float64 `yaml:"scale"`
	// Positive takes only values above 0: the server says 0 of what it does not know.
	Positive bool `yaml:"positive"`

	// Labels of ours are those of the same name, or what Labels names, or what Set fixes. Values translates what a label says.
	Labels map[string]string `yaml:"labels"`
	Set    map[string]string `yaml:"set"`
	Values map[string]string `yaml:"values"`
}

// order is the order in which kinds are asked for a family.
var order = []Kind{Dynamo, VLLM, SGLang, TRTLLM, Triton, TGI, LMDeploy, LlamaCPP, NIM}

// servers is what the files say, ready for use. That they can be read is tested.
//
//nolint:gochecknoglobals // never changes
var servers = sync.OnceValue(func() map[Kind]*known {
	files, err := fs.Glob(data, "data/*.yml")
	if err != nil {
		panic(err)
	}
	out := make(map[Kind]*known, len(files))
	for _, name := range files {
		s, err := readServer(name)
		if err != nil {
			panic(err)
		}
		out[s.kind] = s
	}
	return out
})

func readServer(name string) (*known, error) {
	text, err := data.ReadFile(name)
	if err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	var s server
	if err = decoder.Decode(&s); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	out, err := s.compile()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// known is a server with its rows compiled.
type known struct {
	kind               Kind
	prefixes, families []string
	also               []Kind
	chains             []chain
	names              map[string]bool // keys of all families that rows or Ignored name
	ignored            []string        // beginnings of more such names
}

// chain is a row and its fallbacks. What it tells is joined to what other chains tell of the same series.
type chain struct {
	series *normalised
	unless string
	links  []link // the first that tells something of a model and engine holds for them
}

// link is one family of a row.
type link struct {
	*recipe
	keys []string // canonical names, the exact one first
}

func (s *server) compile() (*known, error) {
	out := &known{kind: s.Kind, also: s.Also, prefixes: s.Prefixes, names: map[string]bool{}}
	for _, name := range s.Families {
		out.families = append(out.families, canonical(name))
	}
	last := map[string]int{} // the chain to which a fallback belongs, by series
	for i := range s.Rows {
		r := &s.Rows[i]
		compiled, err := r.compile(s.Kind, s.Ranks)
		if err != nil {
			return nil, fmt.Errorf("row %d, %s: %w", i+1, r.Series, err)
		}
		at, ok := last[r.Series]
		if !r.Fallback {
			at = len(out.chains)
			last[r.Series] = at
			out.chains = append(out.chains, chain{series: compiled.series, unless: r.Unless})
		} else if !ok {
			return nil, fmt.Errorf("row %d, %s: fallback of nothing", i+1, r.Series)
		}
		for _, family := range r.Family {
			l := link{recipe: compiled, keys: keys(family, compiled.counts())}
			out.chains[at].links = append(out.chains[at].links, l)
			for _, key := range l.keys {
				out.names[key] = true
			}
		}
	}
	for _, family := range s.Ignored {
		if beginning, ok := strings.CutSuffix(family, "*"); ok {
			out.ignored = append(out.ignored, canonical(beginning))
			continue
		}
		for _, key := range keys(family, true) {
			out.names[key] = true
		}
	}
	return out, nil
}

// compile makes a row ready for use.
func (r *row) compile(kind Kind, ranks []string) (*recipe, error) {
	series, ok := seriesByName()[r.Series]
	if !ok {
		return nil, errors.New("no such series")
	}
	if len(r.Family) == 0 {
		return nil, errors.New("no family")
	}
	out := &recipe{
		server: string(kind), series: series, sum: r.Sum, numbers: r.Numbers, items: r.Items, latest: r.Latest, ranks: ranks,
		scale: factor(r.Scale), positive: r.Positive, values: r.Values,
	}
	for _, label := range series.Labels {
		from := labelSource{closed: slices.Contains(label.Values, other), complete: slices.Contains(label.Values, all), allowed: label.Values}
		if fixed, ok := r.Set[label.Name]; ok {
			from.fixed = fixed
		} else if from.name = r.Labels[label.Name]; from.name == "" {
			from.name = label.Name
		}
		if name, ok := r.Each[label.Name]; ok {
			out.each, from = name, labelSource{item: true}
		}
		out.labels = append(out.labels, from)
	}
	for name, text := range r.Where {
		out.matchers = append(out.matchers, matcher{name, regexp.MustCompile(anchored(text)), true})
	}
	for name, text := range r.Except {
		out.matchers = append(out.matchers, matcher{name, regexp.MustCompile(anchored(text)), false})
	}
	return out, nil
}
