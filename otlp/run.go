package otlp

import (
	"context"
	"reflect"
)

// Run sends each interval, until ctx ends; then once more, with the configuration that was put into effect last.
func (e *Exporter) Run(ctx context.Context) {
	var left *legacy
	for over := false; !over; {
		s, life := e.begin(ctx)
		if s.sends() {
			s.inherit(left)
			left = s.run(life, ctx)
		} else {
			<-life.Done()
		}
		over = e.ends(ctx, s)
	}
}

// ends tells whether nothing comes after a session.
func (e *Exporter) ends(ctx context.Context, s *session) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = ctx.Err() != nil && e.session.Load() == s
	return e.over
}

// begin gives the session whose turn it is. Its context ends with ctx, or when another session takes its place.
func (e *Exporter) begin(ctx context.Context) (*session, context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.session.Load()
	life, stop := context.WithCancel(ctx)
	s.stop = stop
	return s, life
}

// Change is another configuration, made ready beside the one that holds. It ends with Commit or Discard; changes are made one after the other.
type Change struct {
	exporter *Exporter
	session  *session
}

// Plan makes a change ready; nothing that runs is touched, and nothing is connected to. Errors are those of files that cannot be read, and of the
// environment.
func (e *Exporter) Plan(c Config) (*Change, error) {
	if now := e.session.Load(); reflect.DeepEqual(now.config, c) {
		return &Change{e, now}, nil
	}
	s, err := e.newSession(c)
	if err != nil {
		return nil, err
	}
	return &Change{e, s}, nil
}

// Commit puts the change into effect. What runs sends once more, has 5 s for it, and ends before anything is sent with the new configuration, which goes
// on where the old one stopped: differences are sent once, whatever changed. What was sent as differences and is sent as a whole from now on, or the other
// way round, begins anew.
func (ch *Change) Commit() {
	e := ch.exporter
	e.mu.Lock()
	defer e.mu.Unlock()
	old := e.session.Load()
	if old == ch.session {
		return
	}
	e.put(ch.session)
	switch {
	case old.stop != nil:
		old.stop()
	default:
		old.discard()
	}
	if e.over {
		ch.session.discard()
	}
}

// Discard gives the change up.
func (ch *Change) Discard() {
	if ch.session != ch.exporter.session.Load() {
		ch.session.discard()
	}
}

// put makes a session the current one. The caller holds mu, or is New.
func (e *Exporter) put(s *session) {
	e.session.Store(s)
	if s.sends() {
		e.tally.begin(s.config.Traces.Enabled, e.now())
	}
}

// Removing is called before series of targets go, by the value of their label `target`: where differences are sent, what was counted until then is part
// of the next export. It costs one look at all series, so that several are better told of at once.
func (e *Exporter) Removing(targets ...string) {
	if s := e.session.Load(); s.sends() && s.config.Temporality != Cumulative {
		e.looks.note(targets)
	}
}
