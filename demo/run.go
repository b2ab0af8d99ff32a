package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// shutdownTimeout is how long Run waits for connections that are open but have not sent anything; requests end at once.
const shutdownTimeout = time.Second

// Listen opens the port, so that its address is known before Run; use port 0 for any free one. Requests wait until Run.
func (s *Server) Listen(addr string) (net.Addr, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("demo server: %w", err)
	}
	s.listener = listener
	return listener.Addr(), nil
}

// Run serves on the port opened by Listen until ctx ends, then cuts the answers that are being given and returns nil when all are gone.
// It is called once.
func (s *Server) Run(ctx context.Context) error {
	if s.listener == nil {
		return errors.New("demo server: Listen has not been called")
	}
	requests, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	server := &http.Server{
		Handler:           s,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(s.listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("demo server: %w", err)
	case <-ctx.Done():
	}
	cut()
	grace, done := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer done()
	if server.Shutdown(grace) != nil {
		_ = server.Close() // what is left has not sent a request
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("demo server: %w", err)
	}
	return nil
}
