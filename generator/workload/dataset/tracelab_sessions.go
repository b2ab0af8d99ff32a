package dataset

import (
	"cmp"
	"errors"
	"slices"
	"time"
)

// tracelabSession is the rounds of a session.
type tracelabSession struct {
	id, user, project string
	codex             bool
	rounds            []tracelabRound // in the order in which they were asked, after adopt
	first, last       int64           // how many bytes of lines were read with its first line and its last
	span              period          // of everything that happened in it
	calls             []period        // of spawning tools
	spawned, awaited  period          // of codex, where spawning and waiting are calls of their own

	parent *tracelabSession // that began it
	within period           // the call that did
	agents []*tracelabSession
}

// tracelabRound is a call and how many tokens of its prompt were in a cache.
type tracelabRound struct {
	call
	index  int
	prefix int
}

// minSpawn is the shortest call of a spawning tool that ran a sub-agent; shorter ones failed, or did nothing.
const minSpawn = 10 * time.Second

// period is the time from one instant until another; zero = no time at all.
type period struct{ from, until time.Duration }

func (w period) holds(other period) bool { return w.from <= other.from && other.until <= w.until }

func (w *period) grow(at time.Duration) {
	if *w == (period{}) {
		*w = period{at, at}
	}
	w.from, w.until = min(w.from, at), max(w.until, at)
}

// windows are the times in which sub-agents of the session ran. Claude's tool is called until its sub-agent ends; with codex it is only
// known that they ran between the first start and the last wait.
func (s *tracelabSession) windows() []period {
	if !s.codex {
		return s.calls
	}
	if s.spawned == (period{}) || s.awaited.until <= s.spawned.from {
		return nil
	}
	return []period{{s.spawned.from, s.awaited.until}}
}

// before is the index of the last round that was asked before an instant, or at it; -1 = none was.
func (s *tracelabSession) before(at time.Duration) int {
	i, _ := slices.BinarySearchFunc(s.rounds, at, func(r tracelabRound, at time.Duration) int {
		if r.at <= at {
			return -1
		}
		return 1
	})
	return i - 1
}

// adopt infers which sessions are sub-agents: those of the same user and project that lie wholly within a period of another session, the
// tightest if there are several. The sub-agent of a sub-agent stays a session of its own.
func adopt(sessions []*tracelabSession) {
	type owner struct{ user, project string }
	type spawn struct {
		period
		by *tracelabSession
	}
	spawns := map[owner][]spawn{}
	for _, s := range sessions {
		s.parent, s.agents = nil, nil
		slices.SortStableFunc(s.rounds, func(a, b tracelabRound) int { return cmp.Or(cmp.Compare(a.at, b.at), a.index-b.index) })
		for _, w := range s.windows() {
			if s.before(w.from) >= 0 {
				spawns[owner{s.user, s.project}] = append(spawns[owner{s.user, s.project}], spawn{w, s})
			}
		}
	}
	for _, s := range sessions {
		if len(s.rounds) == 0 {
			continue
		}
		for _, w := range spawns[owner{s.user, s.project}] {
			if w.by != s && w.holds(s.span) && (s.parent == nil || w.until-w.from < s.within.until-s.within.from) {
				s.parent, s.within = w.by, w.period
			}
		}
	}
	var nested []*tracelabSession
	for _, s := range sessions {
		if s.parent != nil && s.parent.parent != nil {
			nested = append(nested, s)
		}
	}
	for _, s := range nested {
		s.parent = nil
	}
	for _, s := range sessions {
		if s.parent != nil {
			s.parent.agents = append(s.parent.agents, s)
		}
	}
}

const codexProvider = "codex"

// tracelabLine is what a line tells.
type tracelabLine struct {
	session, user, project, provider string
	round                            tracelabRound
	asked                            bool // it is known when
	tools                            []tracelabTool
	span                             period
}

// tracelabTool is a call of a tool.
type tracelabTool struct {
	name            string
	emitted, result time.Duration // 0 = not known
}

// add notes what a line tells about the whole session.
func (s *tracelabSession) add(line *tracelabLine) {
	if line.span != (period{}) {
		s.span.grow(line.span.from)
		s.span.grow(line.span.until)
	}
	for _, tool := range line.tools {
		switch {
		case (tool.name == "Agent" || tool.name == "Task") && tool.emitted != 0 && tool.result-tool.emitted >= minSpawn:
			s.calls = append(s.calls, period{tool.emitted, tool.result})
		case tool.name == "spawn_agent" && tool.emitted != 0:
			s.spawned.grow(tool.emitted)
		case tool.name == "wait_agent" && tool.result != 0:
			s.awaited.grow(tool.result)
		}
	}
}

func readTracelab(data []byte) (tracelabLine, error) {
	var out tracelabLine
	var reasoning, appended int
	lengths := false
	asked, answered := period{}, period{}
	err := object(data, func(key, value []byte) error {
		if null(value) {
			return nil
		}
		var err error
		switch string(key) {
		case "session_id":
			out.session, err = text(value)
		case "user":
			out.user, err = text(value)
		case "project":
			out.project, err = text(value)
		case "provider":
			out.provider, err = text(value)
		case "round_index":
			out.round.index, err = whole(value, 0)
		case "input_tokens_total":
			out.round.input, err = length(value, 0)
			lengths = true
		case "prefix_tokens":
			out.round.prefix, err = length(value, 0)
		case "newly_append_tokens":
			appended, err = length(value, 0)
		case "output_tokens":
			out.round.output, err = length(value, 0)
		case "reasoning_output_tokens":
			reasoning, err = length(value, 0)
		case "timing_events":
			asked, answered, err = out.events(value)
		case "tools":
			err = out.readTools(value)
		}
		return err
	})
	switch {
	case err != nil:
		return out, err
	case out.session == "":
		return out, errors.New("session_id: is missing")
	}
	if !lengths {
		out.round.input = out.round.prefix + appended
	}
	out.round.prefix = min(out.round.prefix, out.round.input)
	out.round.output += reasoning
	out.time(asked, answered)
	return out, nil
}

// time finds when the round was asked: when the last thing that it answers had come, or else when the answer began. The answer took until the
// last thing that the model said.
func (l *tracelabLine) time(asked, answered period) {
	l.round.think = -1
	switch {
	case asked != (period{}):
		l.round.at, l.asked = asked.until, true
	case answered != (period{}):
		l.round.at, l.asked = answered.from, true
	}
	l.round.took = max(0, answered.until-l.round.at)
}

// events reads when the things happened that the round answers, and when those that it said.
func (l *tracelabLine) events(value []byte) (asked, answered period, err error) {
	err = elements(value, func(_ int, v []byte) error {
		kind, at := "", time.Duration(0)
		err := members(v, func(key, value []byte) error {
			if null(value) {
				return nil
			}
			var err error
			switch string(key) {
			case "event_type":
				kind, err = text(value)
			case "timestamp":
				at, err = instant(value)
			}
			return err
		})
		if err != nil || at == 0 {
			return err
		}
		l.span.grow(at)
		switch kind {
		case "user_message", "tool_result":
			asked.grow(at)
		case "text", "reasoning", "tool_call":
			answered.grow(at)
		}
		return nil
	})
	return asked, answered, err
}

func (l *tracelabLine) readTools(value []byte) error {
	return elements(value, func(_ int, v []byte) error {
		var tool tracelabTool
		err := members(v, func(key, value []byte) error {
			if null(value) {
				return nil
			}
			var err error
			switch string(key) {
			case "tool_name":
				tool.name, err = text(value)
			case "emitted_at":
				tool.emitted, err = instant(value)
			case "result_at":
				tool.result, err = instant(value)
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, at := range []time.Duration{tool.emitted, tool.result} {
			if at != 0 {
				l.span.grow(at)
			}
		}
		l.tools = append(l.tools, tool)
		return nil
	})
}
