package transport_test

import (
	"testing"
	"time"
)

// The server of these tests answers with a first event and waits for the client to go away: nothing but the client can end the exchange.
func TestARequestIsAbandonedAsWished(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]time.Duration{"as soon as it has been written": 0, "some time after that": 30 * time.Millisecond} {
		eachWay(t, name, func(t *testing.T, way option) {
			t.Helper()
			gone := make(chan struct{})
			url := serve(t, func(p *peer) {
				if p.request() == nil {
					return
				}
				p.send(chunkedHead + chunk(sse("a")))
				if p.request() == nil { // the connection has been closed
					close(gone)
				}
			})
			request := stream(url)
			request.Abandon, request.AbandonAfter = true, after
			got := doWith(t.Context(), newClient(t, way), request, nil)
			if !got.Cancelled || got.Class != "" {
				t.Errorf("cancelled %t, class %q: %v", got.Cancelled, got.Class, got.Err)
			}
			if got.time.Sent == 0 || got.time.End-got.time.Sent < int64(after) {
				t.Errorf("sent at %d, ended at %d, want %v between", got.time.Sent, got.time.End, after)
			}
			select {
			case <-gone:
			case <-time.NewTimer(10 * time.Second).C:
				t.Error("the connection stays open")
			}
		})
	}
}

func TestAnAnswerThatIsThereBeforeIsNotAbandoned(t *testing.T) {
	t.Parallel()
	eachWay(t, "whole answer", func(t *testing.T, way option) {
		t.Helper()
		url := serve(t, func(p *peer) {
			if p.request() != nil {
				p.send(chunkedHead + chunk(sse("a")) + lastChunk)
			}
		})
		request := stream(url)
		request.Abandon, request.AbandonAfter = true, time.Hour
		if err := doWith(t.Context(), newClient(t, way), request, nil).failed(); err != nil {
			t.Error(err)
		}
	})
}
