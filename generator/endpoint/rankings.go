package endpoint

import (
	"errors"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// The protocols that rank documents by a query.
const (
	NIMRankings    Type = "nim_rankings"
	Rankings       Type = "rankings" // another name of nim_rankings
	CohereRankings Type = "cohere_rankings"
	TEIRankings    Type = "hf_tei_rankings" // Text Embeddings Inference
)

type rankedText struct {
	Text string `json:"text"`
}

func newNIMRankings(cfg *Config) Codec {
	return rankingsOf(cfg, "/v1/ranking", func(model, query string, passages []string) body {
		texts := make([]rankedText, len(passages))
		for i := range passages {
			texts[i].Text = passages[i]
		}
		return body{{"model", model}, {"query", rankedText{query}}, {"passages", texts}}
	})
}

func newCohereRankings(cfg *Config) Codec {
	return rankingsOf(cfg, "/v2/rerank", func(model, query string, passages []string) body {
		return body{{"model", model}, {"query", query}, {"documents", passages}}
	})
}

func newTEIRankings(cfg *Config) Codec {
	return rankingsOf(cfg, "/rerank", func(_, query string, passages []string) body {
		return body{{"query", query}, {"texts", passages}}
	})
}

// rankingsOf makes a codec by the body that asks for a ranking.
func rankingsOf(cfg *Config, path string, ask func(model, query string, passages []string) body) Codec {
	return &wholeCodec{
		jsonBody: jsonBody{extra: cfg.Extra}, path: always(cfg.pathOr(path)), product: metrics.ProductDocuments, read: readRanking,
		fields: func(turn *Turn) (body, error) {
			q, err := newQuestion(turn.Prompt)
			if err != nil {
				return nil, err
			}
			query, passages, err := toRank(q.Message)
			if err != nil {
				return nil, err
			}
			return ask(turn.Model, query, passages), nil
		},
	}
}

// toRank finds the query and what is to be ranked by it. Datasets of other tools name the query in the plural.
func toRank(m *prompt.Message) (query string, passages []string, err error) {
	queries := append(m.Named(prompt.Query), m.Named("queries")...)
	if len(queries) == 0 {
		return "", nil, errors.New(`prompt has no text named "query": rankings need a workload with passages, or a dataset that has them`)
	}
	if passages = m.Named(prompt.Passages); len(passages) == 0 {
		return "", nil, errors.New(`prompt has no texts named "passages"`)
	}
	return queries[0], passages, nil
}

// readRanking reads a ranking in any of the forms: rankings of NIM, results of Cohere, vLLM and llama.cpp, the bare list of TEI.
func readRanking(data []byte, _ *answer.Transcript, chunk *Chunk) error {
	r := newRoot(data)
	if r.peek() == '[' {
		return r.finish(Chunk{Items: r.objects(), Terminal: true}, true, "", chunk)
	}
	var rankings, results int
	known := false
	for ok := r.begin(); ok; ok = r.nextMember() {
		switch name := r.name(); string(name) {
		case "rankings":
			known = known || r.peek() == '['
			rankings = r.objects()
		case "results":
			known = known || r.peek() == '['
			results = r.objects()
		case "usage":
			r.usage = r.inputUsage()
		default:
			r.common(name)
		}
	}
	return r.finish(Chunk{Items: rankings + results, Terminal: true, Model: shortName(r.model)}, known, "an object without rankings or results", chunk)
}

// objects counts the objects in a list.
func (s *scanner) objects() int {
	n := 0
	for ok := s.enterArray(); ok; ok = s.nextElement() {
		if s.peek() == '{' {
			n++
		}
		s.skip()
	}
	return n
}
