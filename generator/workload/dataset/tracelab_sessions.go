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

// owner is whose agents a session can have.
type owner struct{ user, project string }

// spawn is a period of a session in which a sub-agent may have run.
type spawn struct {
	period
	by *tracelabSession
}

// adopt infers which sessions are sub-agents: those of the same user and project that lie wholly within a period of another session, the
// tightest if there are several. The sub-agent of a sub-agent stays a session of its own.
func adopt(sessions []*tracelabSession) {
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
		s.find(spawns[owner{s.user, s.project}])
	}
	nested := map[*tracelabSession]bool{}
	for _, s := range sessions {
		nested[s] = s.parent != nil && s.parent.parent != nil
	}
	for _, s := range sessions {
		switch {
		case nested[s]:
			s.parent = nil
		case s.parent != nil:
			s.parent.agents = append(s.parent.agents, s)
		}
	}
}

// find chooses the session that began this one.
func (s *tracelabSession) find(spawns []spawn) {
	for _, w := range spawns {
		fits := len(s.rounds) > 0 && w.by != s && w.holds(s.span)
		if fits && (s.parent == nil || w.until-w.from < s.within.until-s.within.from) {
			s.parent, s.within = w.by, w.period
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
	out := tracelabLine{round: tracelabRound{call: call{input: -1, think: -1}}}
	var reasoning, appended int
	texts := map[string]*string{"session_id": &out.session, "user": &out.user, "project": &out.project, "provider": &out.provider}
	lengths := map[string]*int{
		"input_tokens_total": &out.round.input, "prefix_tokens": &out.round.prefix, "newly_append_tokens": &appended,
		"output_tokens": &out.round.output, "reasoning_output_tokens": &reasoning,
	}
	err := object(data, func(key, value []byte) error {
		var err error
		switch name := string(key); {
		case null(value):
		case texts[name] != nil:
			*texts[name], err = text(value)
		case lengths[name] != nil:
			*lengths[name], err = length(value, 0)
		case name == "round_index":
			out.round.index, err = whole(value, 0)
		case name == "timing_events":
			err = out.events(value)
		case name == "tools":
			err = out.readTools(value)
		}
		return err
	})
	switch {
	case err != nil:
		return out, err
	case out.session == "":
		return out, errors.New("session_id: is missing")
	case out.round.input < 0:
		out.round.input = out.round.prefix + appended
	}
	out.round.prefix = min(out.round.prefix, out.round.input)
	out.round.output += reasoning
	return out, nil
}

// events reads what happened in the round. It was asked when the last thing that it answers had come, or else when the answer began, which
// took until the last thing that the model said.
func (l *tracelabLine) events(value []byte) error {
	var asked, answered period
	err := elements(value, func(_ int, v []byte) error {
		kind, at := "", time.Duration(0)
		inner := members(v, func(key, value []byte) error {
			var err error
			switch {
			case null(value):
			case string(key) == "event_type":
				kind, err = text(value)
			case string(key) == "timestamp":
				at, err = instant(value)
			}
			return err
		})
		if inner != nil || at == 0 {
			return inner
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
	switch {
	case asked != (period{}):
		l.round.at, l.asked = asked.until, true
	case answered != (period{}):
		l.round.at, l.asked = answered.from, true
	}
	l.round.took = max(0, answered.until-l.round.at)
	return err
}

func (l *tracelabLine) readTools(value []byte) error {
	return elements(value, func(_ int, v []byte) error {
		var tool tracelabTool
		err := members(v, func(key, value []byte) error {
			var err error
			switch {
			case null(value):
			case string(key) == "tool_name":
				tool.name, err = text(value)
			case string(key) == "emitted_at":
				tool.emitted, err = instant(value)
			case string(key) == "result_at":
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
