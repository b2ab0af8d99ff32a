package scrape

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestABellMakesLoopsLookAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bell := NewBell()
		ctx, stop := context.WithCancel(t.Context())
		var looks atomic.Int64
		slow := make(chan struct{})
		work := func(context.Context) {
			if looks.Add(1) == 3 {
				<-slow
			}
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			Loop(ctx, slog.New(slog.DiscardHandler), time.Hour, bell, work, func() {}, func(any) {})
		}()
		expect := func(when string, want int64) {
			t.Helper()
			synctest.Wait()
			if got := looks.Load(); got != want {
				t.Errorf("%d looks %s, want %d", got, when, want)
			}
		}
		<-time.NewTimer(10 * time.Minute).C
		expect("after the first tenth of an interval", 1)
		bell.Ring()
		expect("after a ring", 2)
		bell.Ring()
		expect("after another one", 3)
		bell.Ring()
		bell.Ring()
		expect("while the third still lasts", 3)
		close(slow)
		expect("once it has ended: one for all rings meanwhile", 4)
		<-time.NewTimer(time.Hour).C
		expect("an interval later", 5)
		stop()
		<-ended
	})
}

func TestALoopWithoutABellHearsNone(t *testing.T) {
	t.Parallel()
	if (*Bell)(nil).heard() != nil {
		t.Error("there is a channel to listen to")
	}
}
