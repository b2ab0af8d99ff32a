package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// rig is an exporter and the server that it asks.
type rig struct {
	exporter, server *process.Process
	url              string // of the exporter
	end              context.CancelFunc
}

// listening is what the truth server writes first.
var listening = regexp.MustCompile(`(?m)^(127\.0\.0\.1:\d+)$`)

// patience is how long a start and an end may take.
const patience = 3 * time.Minute

// start starts both, with a configuration in which %[1]s is the URL of the server.
func (o *options) start(ctx context.Context, configuration string, script ...string) (*rig, error) {
	r := &rig{}
	ctx, r.end = context.WithCancel(ctx)
	err := r.start(ctx, o, configuration, script)
	if err != nil {
		r.end()
		return nil, err
	}
	return r, nil
}

func (r *rig) start(ctx context.Context, o *options, configuration string, script []string) error {
	var err error
	if r.server, err = process.Start(ctx, nil, o.server, script...); err != nil {
		return err
	}
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	host, err := r.server.Find(soon, listening)
	if err != nil {
		return err
	}
	file := filepath.Join(o.folder, "aiperf-exporter.yml")
	if err = os.WriteFile(file, []byte(strings.ReplaceAll(configuration, "%[1]s", "http://"+host)), 0o600); err != nil {
		return err
	}
	address, err := process.FreeAddress(ctx)
	if err != nil {
		return err
	}
	r.url = "http://" + address
	r.exporter, err = process.Start(ctx, nil, o.binary, "serve", "--config.file="+file, "--web.listen-address="+address, "--log.level=error")
	if err != nil {
		return err
	}
	return r.exporter.Ready(soon, r.url+"/-/ready")
}

// close ends both.
func (r *rig) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	r.end()
	_, err := r.exporter.Wait(ctx)
	if err == nil {
		_, err = r.server.Wait(ctx)
	}
	return err
}

// tick is the unit of /proc/PID/stat, which Linux fixes for programs.
const tick = 10 * time.Millisecond

// cpu is the processor time of the exporter so far, in the program and in the kernel.
func (r *rig) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.exporter.ID()))
	if err != nil {
		return 0, err
	}
	const user, system = 11, 12 // behind the name, which is in parentheses
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) <= system {
		return 0, fmt.Errorf("processor time: %q", text)
	}
	sum := int64(0)
	for _, i := range []int{user, system} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("processor time: %w", err)
		}
		sum += n
	}
	return time.Duration(sum) * tick, nil
}

// memory is what the exporter holds now, and the most that it has held, in bytes.
func (r *rig) memory() (now, most float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.exporter.ID()))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line) // "VmRSS: 1234 kB"
		if len(fields) < 2 || fields[0] != "VmRSS:" && fields[0] != "VmHWM:" {
			continue
		}
		n, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			return 0, 0, fmt.Errorf("memory: %w", err)
		}
		if fields[0] == "VmRSS:" {
			now = n * 1024
		} else {
			most = n * 1024
		}
	}
	return now, most, nil
}

// during gives the processor time that passes while something is done, or for so long.
func (r *rig) during(ctx context.Context, length time.Duration) (used, wall time.Duration, err error) {
	begin := time.Now()
	before, err := r.cpu()
	if err != nil {
		return 0, 0, err
	}
	if err = pause(ctx, length); err != nil {
		return 0, 0, err
	}
	after, err := r.cpu()
	return after - before, time.Since(begin), err
}

func pause(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
