package workload

import (
	"container/heap"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

// family ties a conversation to the sub-agents that it has begun. Each of them is a conversation of its own that runs beside it, and ends by
// itself: when an agent fails, what waits for it goes on as if it had come to its end, and when their parent fails, agents that run go on.
type family struct {
	parentID string        // session of the conversation that began this one; "" = none did
	parent   *conversation // the same while it has not ended
	name     string        // by which the parent's rows know this one
	joined   bool          // the parent's next turn waits for it

	agents map[string]*conversation // that have not ended
	born   uint64                   // agents so far, theirs included
	awaits int                      // agents for which the next turn waits
}

// spawn begins the agents of a row that was answered just now.
func (w *Workload) spawn(c *conversation, row *dataset.Row, now int64) {
	for i := range row.Agents {
		recorded := &row.Agents[i]
		agent := w.sessions.begin(c.number+1+c.born, c.user)
		c.born += 1 + agentsOf(recorded.Rows)
		agent.nonce = c.nonce // what is shared with the parent stays shared
		agent.parent, agent.parentID, agent.name = c, c.id, recorded.Session
		agent.hold(recorded.Rows)
		agent.due = now + int64(recorded.Rows[0].Delay)
		if agent.several() {
			w.sessions.stats.active.Add(1)
		}
		if c.agents == nil {
			c.agents = map[string]*conversation{}
		}
		c.agents[agent.name] = agent
		w.sessions.put(agent)
	}
}

// agentsOf counts the agents that rows begin, and those that these begin.
func agentsOf(rows []dataset.Row) (n uint64) {
	for i := range rows {
		for j := range rows[i].Agents {
			n += 1 + agentsOf(rows[i].Agents[j].Rows)
		}
	}
	return n
}

// waits tells whether agents have to end before the next turn, and remembers which.
func (c *conversation) waits() bool {
	if c.rows == nil {
		return false
	}
	for _, name := range c.rows[c.asked].Joins {
		if agent := c.agents[name]; agent != nil && !agent.joined {
			agent.joined = true
			c.awaits++
		}
	}
	return c.awaits > 0
}

// leave takes a conversation that has ended out of its family.
func (s *sessions) leave(c *conversation) {
	for _, agent := range c.agents {
		agent.parent = nil // nothing holds its history any more
	}
	p := c.parent
	if p == nil {
		return
	}
	c.parent = nil
	if p.agents[c.name] == c {
		delete(p.agents, c.name)
	}
	if !c.joined {
		return
	}
	if p.awaits--; p.awaits == 0 {
		s.waiting--
		p.due = max(p.due, s.now)
		heap.Push(&s.idle, p)
	}
}

// hold gives a conversation its rows.
func (c *conversation) hold(rows []dataset.Row) {
	c.rows, c.turns = rows, len(rows)
	c.bytes += dataset.Size(rows)
}

// drop forgets the row that was asked last, and gives it to the caller.
func (c *conversation) drop() dataset.Row {
	last := c.rows[c.asked-1 : c.asked]
	row := last[0]
	c.bytes -= dataset.Size(last)
	last[0] = dataset.Row{}
	c.bytes += dataset.Size(last)
	return row
}
