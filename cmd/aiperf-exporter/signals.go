package main

import (
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"

	"github.com/coreos/go-systemd/v22/daemon"
)

var (
	errSignal       = errors.New("signal")
	errSecondSignal = errors.New("second signal")
)

// signals is the actor that ends when the process is asked to. A second request while it ends stops the process at once.
type signals struct {
	logger *slog.Logger
	got    chan os.Signal
	quit   chan struct{}
}

func newSignals(logger *slog.Logger) *signals {
	s := &signals{logger: logger, got: make(chan os.Signal, 4), quit: make(chan struct{})}
	signal.Notify(s.got, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1)
	return s
}

func (s *signals) run() error {
	for {
		select {
		case <-s.quit:
			return nil
		case sig := <-s.got:
			switch sig {
			case syscall.SIGHUP:
				s.logger.Warn("reload is not available in this version, the configuration stays as it is")
			case syscall.SIGUSR1:
				s.dump()
			default:
				s.logger.Info("stopping, once more stops at once", "signal", sig.String())
				return errSignal
			}
		}
	}
}

// dump writes all goroutines to standard error.
func (s *signals) dump() {
	if err := pprof.Lookup("goroutine").WriteTo(os.Stderr, 1); err != nil {
		s.logger.Error("goroutines could not be dumped", "err", err)
	}
}

// stop lets run end, and from now on ends the process at the next signal.
func (s *signals) stop(error) {
	close(s.quit)
	go func() {
		for sig := range s.got {
			if sig == syscall.SIGINT || sig == syscall.SIGTERM {
				s.logger.Warn("stopped at once", "signal", sig.String())
				os.Exit(exitKilled) //nolint:forbidigo // the one way to stop without waiting
			}
		}
	}()
}

// notify tells systemd, if it started this process, how it is doing.
func notify(state string) {
	// Without systemd there is nobody to tell, and with it nothing better to do about an error.
	_, _ = daemon.SdNotify(false, state)
}
