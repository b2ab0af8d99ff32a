package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/aiperf-exporter/aiperf-exporter/capture"
)

// replayOptions say what is replayed, where, and how fast.
type replayOptions struct {
	file, listen string
	speed        float64
}

func replayCommand(app *kingpin.Application) command {
	cmd := app.Command("replay", "Serve a captured stream on the loopback interface, with the same bytes, timing and end, to whoever asks. Needs no configuration.")
	o := &replayOptions{}
	cmd.Arg("file", "File of a capture, as the API of the daemon gives it; - is standard input.").Required().StringVar(&o.file)
	cmd.Flag("listen", "Address to listen on, of the loopback interface: the stream may be a user's.").Default("127.0.0.1:0").StringVar(&o.listen)
	cmd.Flag("speed", "How much faster than it came.").Default("1").Float64Var(&o.speed)
	return command{cmd.FullCommand(), func(s *session) int { return replay(s, o) }}
}

// maxSpeed keeps what takes a day longer than the resolution of a timer.
const maxSpeed = 1000

func replay(s *session, o *replayOptions) int {
	if !(o.speed > 0 && o.speed <= maxSpeed) { // so written, NaN is wrong too
		s.complainf("--speed: must be above 0 and at most %d, got %v", maxSpeed, o.speed)
		return exitUsage
	}
	c, err := o.read()
	if err != nil {
		s.complainf("%v", err)
		return exitFailure
	}
	var code int
	killed := supervise(s.logger, nil, func(ctx context.Context) {
		listener, err := capture.Listen(ctx, o.listen)
		if err != nil {
			s.complainf("--listen: %v", err)
			code = exitUsage
			return
		}
		announce(s, c, listener.Addr())
		capture.NewPlayer(c, o.speed).Serve(ctx, listener)
	})
	if killed {
		return exitKilled
	}
	return code
}

func (o *replayOptions) read() (*capture.Capture, error) {
	file := os.Stdin
	if o.file != "-" {
		var err error
		if file, err = os.Open(o.file); err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }() // only read from
	}
	c, err := capture.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.file, err)
	}
	return c, nil
}

// announce says what is served and how to measure it: as a configuration, what is for people in its comments.
func announce(s *session, c *capture.Capture, address net.Addr) {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s of target %s at %s: %s\n", printable(c.ID), printable(c.Target), c.Sent.Format("2006-01-02T15:04:05.000Z07:00"), gist(c))
	if c.Truncated {
		fmt.Fprintf(&out, "# only the first %d bytes of %d were kept, and end as a whole answer does\n", len(c.Body), c.Bytes)
	}
	fmt.Fprintf(&out, "# measure it: save this as replay.yml, then %s run --config.file=replay.yml; Ctrl-C ends the replay\n", program)
	fmt.Fprintf(&out, "targets:\n  - name: replay\n    url: http://%s\n    model: %s\n    endpoint: {type: %s}\n", address, quoted(c.Model), quoted(c.Endpoint))
	fmt.Fprint(s.stdout, out.String())
}

// gist says what the exporter made of it.
func gist(c *capture.Capture) string {
	became := string(c.Outcome)
	if c.Class != "" {
		became = string(c.Class)
	}
	return fmt.Sprintf("%s, status %d, %s in %.3fs, end %s", printable(became), c.Status, plural(len(c.Reads), "piece"), c.EndAt.Seconds(), printable(string(c.End)))
}

// quoted is a text as YAML has it between quotes, on one line.
func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		return `""` // texts can always be encoded
	}
	return printable(string(out))
}
