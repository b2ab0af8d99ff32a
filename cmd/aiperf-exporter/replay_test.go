package main

import (
	"bytes"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/config"
)

// captured is the file of a stream that was cut off.
const captured = `{"format":"aiperf-exporter capture","version":1,"exporter":"1.2.3","request_id":"req-1\n\u202e","target":"t","endpoint_type":"chat","model":"a: \"model\"",` +
	`"sent":"2026-11-30T08:00:00Z","reason":"failed","outcome":"error","error_class":"truncated","timeline":{"start":-0.001,"sent":0},` +
	`"measured":{"content_events":1},"request":{"method":"POST","url":"http://h","header":{},"bytes":2,"body":"e30="},` +
	`"answer":{"status":200,"header":{"X-Server":["engine"]},"at":0.001,"bytes":5,"truncated":true}}
{"at":0.001,"data":"YWJj"}
{"at":0.002,"end":"cut"}
`

func TestReplayRefusesWhatItCannotServe(t *testing.T) {
	t.Parallel()
	file := write(t, "capture.jsonl", captured)
	tests := []struct {
		name string
		args []string
		code int
		says string
	}{
		{"no file", []string{"replay"}, exitUsage, "file"},
		{"a file that is not there", []string{"replay", filepath.Join(t.TempDir(), "gone")}, exitFailure, "no such file"},
		{"a file that is no capture", []string{"replay", write(t, "other.yml", "targets: []\n")}, exitFailure, "other.yml: line 1: is no header of a capture"},
		{"no speed", []string{"replay", file, "--speed=0"}, exitUsage, "--speed: must be above 0"},
		{"a speed that is no number", []string{"replay", file, "--speed=NaN"}, exitUsage, "--speed: must be above 0"},
		{"an address that others can reach", []string{"replay", file, "--listen=0.0.0.0:0"}, exitUsage, "--listen: address 0.0.0.0:0 is not one of the loopback interface"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			if code := run(tt.args, &stdout, &stderr); code != tt.code || !strings.Contains(stderr.String(), tt.says) {
				t.Errorf("exit code %d, want %d; %s", code, tt.code, stderr.String())
			}
		})
	}
}

// It sends a signal to this very process, and so is not parallel.
func TestReplayServesAndPrintsWhatMeasuresIt(t *testing.T) {
	stdout, stdoutEnd := io.Pipe()
	var stderr bytes.Buffer
	file := write(t, "capture.jsonl", captured)
	ended := make(chan int, 1)
	go func() {
		defer stdoutEnd.Close()
		ended <- run([]string{"replay", file}, stdoutEnd, &stderr)
	}()
	printed := make([]byte, 8192)
	n, err := stdout.Read(printed)
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	text := string(printed[:n])
	contains(t, "output", text, `# req-1\n\u202e of target t at 2026-11-30T08:00:00.000Z: truncated, status 200, 1 piece in 0.002s, end cut`, "only the first 3 bytes of 5 were kept")

	c, err := config.Load(config.Options{Files: []string{write(t, "replay.yml", text)}})
	if err != nil || len(c.Targets) != 1 || c.Targets[0].Model != `a: "model"` {
		t.Errorf("what it prints is no configuration: %v\n%s", err, text)
	}
	url := regexp.MustCompile(`http://\S+`).FindString(text)
	response, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if string(body) != "abc" || err == nil || response.Header.Get("X-Server") != "engine" {
		t.Errorf("body %q, %v, want abc, cut off", body, err)
	}
	signalSelf(t)
	if code := <-ended; code != exitOK {
		t.Errorf("exit code %d, want %d: %s", code, exitOK, stderr.String())
	}
}
