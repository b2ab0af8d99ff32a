package dataset

import (
	"cmp"
	"maps"
	"os"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// openRandomPool opens lines of JSON with contents to choose from. In a folder each file is a pool, and what has no name of its own has
// that of its file.
func openRandomPool(c *settings) (reader, error) {
	info, err := os.Stat(c.File)
	if err != nil {
		return nil, plain(err, c.File)
	}
	named := c.library != "" || info.IsDir()
	d := turnDecoder{library: libraryOf(c), untimed: true}
	return openLines(c, decode(func(r *record) (entry, error) {
		row := Row{SelfContained: true}
		if err := valid(r.data); err != nil {
			return entry{}, err
		}
		if named {
			d.name = stem(r.file)
		}
		cost, err := d.turn(r.data, &row)
		if err == nil {
			rename(row.Prompt.Last())
		}
		return entry{rows: []Row{row}, cost: cost}, err
	}))
}

// rename gives the parts of a ranking the names by which they are known; files say both one and many.
func rename(m *prompt.Message) {
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Name {
		case "queries":
			p.Name = prompt.Query
		case "passage":
			p.Name = prompt.Passages
		}
	}
}

// pools asks for one row of each pool at once.
type pools []sampler

func (p pools) next() (*Conversation, error) {
	var out *Conversation
	for _, pool := range p {
		c, err := pool.next()
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = c
			continue
		}
		out.Rows[0].merge(&c.Rows[0])
	}
	return out, nil
}

// merge puts the contents of other behind those of r, each kind by itself. What r points at stays as it is: a pool may give it again.
func (r *Row) merge(other *Row) {
	m := *r.Prompt.Last()
	m.Parts = slices.Concat(m.Parts, other.Prompt.Last().Parts)
	slices.SortStableFunc(m.Parts, func(a, b prompt.Part) int { return cmp.Compare(a.Kind, b.Kind) })
	r.Prompt.Messages = []prompt.Message{m}
	r.OutputTokens = cmp.Or(r.OutputTokens, other.OutputTokens)
	if r.Expect == nil {
		r.Expect = other.Expect
	}
	if r.Extra = maps.Clone(r.Extra); r.Extra == nil {
		r.Extra = other.Extra
		return
	}
	maps.Copy(r.Extra, other.Extra)
}
