package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/pprof"
	"sync"
	"syscall"
	"time"

	rungroup "github.com/oklog/run"
	toolkit "github.com/prometheus/exporter-toolkit/web"

	"github.com/aiperf-exporter/aiperf-exporter/reload"
	"github.com/aiperf-exporter/aiperf-exporter/status"
	"github.com/aiperf-exporter/aiperf-exporter/systemd"
	"github.com/aiperf-exporter/aiperf-exporter/web"
)

// serverGrace is how long scrapes that run at the end may take.
const serverGrace = 5 * time.Second

// epilogue is the most that comes after the last request and the last scrape: the last export over OTLP, the end of the server, and files.
const epilogue = 20 * time.Second

// actor is something that runs beside the daemon: run blocks until stop is called or it fails.
type actor struct {
	run  func() error
	stop func()
}

// process is the running daemon.
type process struct {
	options   *daemonOptions
	logger    *slog.Logger
	stderr    io.Writer
	engine    *engine
	handler   *web.Handler
	server    *http.Server
	listening func(net.Addr)
	extra     []actor
	reloads   *reload.Loop
	status    *status.Status
	manager   *systemd.Notifier
	ticker    *time.Ticker  // of looks at the files; nil = there are none
	quit      chan struct{} // holds one wish that the process stops
}

func (p *process) run() int {
	var err error
	killed := supervise(p.logger, map[os.Signal]func(){syscall.SIGHUP: p.reloads.Trigger, syscall.SIGUSR1: p.dump}, func(ctx context.Context) {
		select {
		case <-p.engine.session.hangups:
			p.reloads.Trigger()
		default:
		}
		err = p.group(ctx).Run()
	})
	if p.ticker != nil {
		p.ticker.Stop()
	}
	if killed {
		return exitKilled
	}
	p.engine.generator.Close()
	if err != nil {
		p.logger.Error("stopped", slog.Any("err", err))
		return exitFailure
	}
	p.logger.Info("stopped")
	return exitOK
}

// group is everything that runs, until ctx ends or one of it fails. It is interrupted in the order in which it is added. Whatever comes
// after the traffic waits for the traffic to end first: metrics stay readable while requests finish.
func (p *process) group(ctx context.Context) *rungroup.Group {
	group := &rungroup.Group{}
	asked, ask := context.WithCancel(ctx)
	group.Add(func() error {
		select {
		case <-asked.Done():
		case <-p.quit:
			p.logger.Info("stopping, somebody asked for it over HTTP")
		}
		return nil
	}, func(error) { ask() })

	open := make(chan struct{})
	drained := make(chan struct{})
	traffic, endTraffic := context.WithCancel(context.WithoutCancel(ctx))
	group.Add(func() error {
		defer close(drained)
		p.traffic(traffic, open)
		return nil
	}, func(error) {
		wasReady := p.handler.Stopping()
		endTraffic()
		p.manager.Stopping(p.options.grace+p.options.finalScrape+epilogue, "stopping, running requests may end")
		if wasReady {
			p.logger.Info("no more requests are sent, running ones may end", slog.Duration("grace", p.options.grace))
		}
	})

	beside, endBeside := context.WithCancel(context.WithoutCancel(ctx))
	group.Add(func() error {
		var fed sync.WaitGroup
		fed.Go(func() { p.manager.Run(beside, p.look) })
		defer fed.Wait()
		p.handler.Run(beside)
		return nil
	}, func(error) {
		<-drained
		endBeside()
	})

	for _, a := range p.extra {
		group.Add(a.run, func(error) {
			<-drained
			a.stop()
		})
	}

	p.server.BaseContext = p.baseContext(open)
	group.Add(func() error {
		err := toolkit.ListenAndServe(p.server, p.options.toolkit, p.logger.With(slog.String("component", "web")))
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return fmt.Errorf("web server: %w", err)
	}, func(error) {
		<-drained
		p.closeServer(context.WithoutCancel(ctx))
	})
	return group
}

// traffic runs the targets from when the listeners are open until ctx ends, and returns when the last request has ended
// and there has been time to scrape it. Until then servers and GPUs are read; the last export over OTLP comes after it.
func (p *process) traffic(ctx context.Context, open <-chan struct{}) {
	select {
	case <-ctx.Done():
		return
	case <-open:
	}
	p.handler.Ready()
	p.manager.Ready(p.line())
	p.logger.Info("traffic starts", slog.Int("targets", len(p.engine.effect.Load().targets)))
	p.engine.watched(ctx, func(ctx context.Context) {
		var changing sync.WaitGroup
		changing.Go(func() { p.engine.discovery.Run(ctx) })
		changing.Go(func() { p.reloads.Run(ctx) })
		p.engine.generator.Serve(ctx, p.options.grace)
		changing.Wait()
		last := time.NewTimer(p.options.finalScrape)
		defer last.Stop()
		<-last.C
	})
}

// baseContext is called for each listener when it is open, from goroutines of their own; the first is enough to say so.
func (p *process) baseContext(open chan<- struct{}) func(net.Listener) context.Context {
	var once sync.Once
	return func(l net.Listener) context.Context {
		once.Do(func() {
			if p.listening != nil {
				p.listening(l.Addr())
			}
			close(open)
		})
		return context.Background()
	}
}

func (p *process) closeServer(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, serverGrace)
	defer cancel()
	if err := p.server.Shutdown(ctx); err != nil {
		p.logger.Warn("answers were cut that did not end in time", slog.Any("err", err))
		_ = p.server.Close() // everything worth saying about it was said
	}
}

// dump writes all goroutines to standard error.
func (p *process) dump() {
	if err := pprof.Lookup("goroutine").WriteTo(p.stderr, 1); err != nil {
		p.logger.Error("goroutines could not be dumped", slog.Any("err", err))
	}
}
