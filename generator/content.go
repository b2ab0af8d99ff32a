package generator

import (
	"encoding/json"
	"log/slog"
	"sync/atomic"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
)

// content is the workload of a target, which generations share that ask the same: conversations go on, and a recording where it was.
type content struct {
	*workload.Workload
	logger *slog.Logger
	totals *totals
	users  atomic.Int64 // generations
}

// newContent makes the content of a target, for one generation.
func newContent(c *TargetConfig, deps *Deps) (*content, error) {
	w, err := workload.New(&c.Workload, deps.Tokenizers, c.Seed, c.Name)
	if err != nil {
		return nil, err
	}
	logger := deps.Logger.With(slog.String("target", c.Name))
	w.OnSkip(tellSkipped(logger))
	out := &content{Workload: w, logger: logger}
	out.users.Store(1)
	return out, nil
}

// share gives the content to one generation more.
func (c *content) share() *content {
	c.users.Add(1)
	return c
}

// startUsers has the users of a load begin in the middle of their conversations.
func (c *content) startUsers(of *TargetConfig) {
	if of.Load.Mode == load.Users {
		count, turns := of.Load.Users, of.Workload.MeanTurns()
		c.StartUsers(func(user uint64) int { return load.TurnsLeft(count, turns, user) })
	}
}

// release takes a generation away. The last one closes the files. A nil one has none.
func (c *content) release() {
	if c == nil || c.users.Add(-1) > 0 {
		return
	}
	if c.totals != nil {
		c.totals.leave(c)
	}
	if err := c.Close(); err != nil {
		c.logger.Warn("files of the workload could not be closed", slog.Any("err", err))
	}
}

// toldRows is how many rows of a dataset that are passed over are told one by one; all are counted.
const toldRows = 20

// tellSkipped makes what logs the first rows that are passed over.
func tellSkipped(logger *slog.Logger) func(error) {
	var told atomic.Int64
	return func(err error) {
		switch n := told.Add(1); {
		case n <= toldRows:
			logger.Warn("a row of the dataset cannot be used and is passed over", slog.Any("err", err))
		case n == toldRows+1:
			logger.Warn("more rows cannot be used; check dataset tells all")
		}
	}
}

// questions are the fixed ones of the workload, each with everything that shapes its answer.
func (g *generation) questions() []string {
	c := g.config
	shape, err := json.Marshal([]any{c.Endpoint.Type, c.Model, c.Endpoint.Extra, c.Workload.Extra, c.Workload.OutputTokens, c.Workload.SystemPrompt})
	if err != nil {
		shape = []byte(c.Model) // extra that cannot be sent is told with the first request
	}
	asked := g.content.Questions()
	out := make([]string, len(asked))
	for i := range asked {
		out[i] = string(shape) + "\x00" + asked[i]
	}
	return out
}

// recording is what a load replays; nil = it makes its own arrivals.
func (c *content) recording(l *load.Config) load.Recording {
	if l.Mode != load.Replay {
		return nil
	}
	return replayed{c.Recording(), c.Workload}
}

// replayed shows the turns of a workload to a load, which do not know each other.
type replayed struct {
	turns *workload.Recording
	from  *workload.Workload
}

// Next implements load.Recording.
func (r replayed) Next() (load.Recorded, error) {
	e, err := r.turns.Next()
	return load.Recorded(e), err
}

// Forget implements load.Recording.
func (r replayed) Forget(key uint64) { r.from.Forget(key) }
