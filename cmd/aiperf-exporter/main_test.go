package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// asProgram is the environment variable that makes this test binary the program itself, for what needs a process of its own.
const asProgram = "RUN_AS_AIPERF_EXPORTER"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// result is what a command that ends by itself leaves behind.
type result struct {
	code           int
	stdout, stderr string
}

// execute runs a command line in this process.
func execute(args ...string) result {
	var stdout, stderr bytes.Buffer
	code := run(args, &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// write makes a file and gives its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// contains tells which texts are missing.
func contains(t *testing.T, where, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%s has no %q:\n%s", where, want, text)
		}
	}
}

const minimal = `
targets:
  - {name: one, url: "http://127.0.0.1:1", model: m, endpoint: {type: chat}}
`

func TestMistakesOnTheCommandLineAreUsageErrors(t *testing.T) {
	t.Parallel()
	good := write(t, "good.yml", minimal)
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"an unknown command":              {[]string{"nonsense"}, "unexpected nonsense, try --help"},
		"an unknown flag":                 {[]string{"--config.fil=x"}, "unknown long flag '--config.fil', try --help"},
		"a flag of another command":       {[]string{"run", "--web.telemetry-path=/m"}, "unknown long flag '--web.telemetry-path'"},
		"a stray argument":                {[]string{"serve", "stray"}, "unexpected stray"},
		"check without what":              {[]string{"check"}, "must select a subcommand of 'check'"},
		"check config without a file":     {[]string{"check", "config"}, "required argument 'file' not provided"},
		"check with a format of run":      {[]string{"check", "config", "--format=csv", good}, "enum value must be one of text,json, got 'csv'"},
		"check that prints YAML as JSON":  {[]string{"check", "config", "--format=json", "--print", good}, "--print: the configuration is YAML"},
		"a log level that does not exist": {[]string{"--log.level=loud", "serve"}, `unrecognized log level loud`},
		"a telemetry path without slash":  {[]string{"serve", "--web.telemetry-path=metrics"}, `--web.telemetry-path: must be a path like /metrics, got "metrics"`},
		"a telemetry path of one slash":   {[]string{"serve", "--web.telemetry-path=/"}, `--web.telemetry-path: must be a path like /metrics, got "/"`},
		"a telemetry path with a pattern": {[]string{"demo", "--web.telemetry-path=/{x}"}, `--web.telemetry-path: must be a path like /metrics, got "/{x}"`},
		"an external URL without a host":  {[]string{"serve", "--web.external-url=/x"}, `--web.external-url: must be a URL like https://host/path, got "/x"`},
		"an external URL of a file":       {[]string{"serve", "--web.external-url=ftp://x/y"}, `--web.external-url: must be a URL like`},
		"an external URL with a space":    {[]string{"serve", "--web.external-url=http://x/y%20z"}, `must be a path like /aiperf, got "/y z"`},
		"a prefix without slash":          {[]string{"serve", "--web.route-prefix=x"}, `--web.route-prefix, or the path of --web.external-url: must be a path like /aiperf, got "x"`},
		"a negative number of scrapes":    {[]string{"serve", "--web.max-requests=-1"}, "--web.max-requests: must not be negative, got -1"},
		"a negative grace":                {[]string{"serve", "--shutdown.grace=-1s"}, "--shutdown.grace: must not be negative, got -1s"},
		"a memory limit over all of it":   {[]string{"serve", "--runtime.memory-limit-ratio=1.5"}, "--runtime.memory-limit-ratio: must be between 0 and 1, got 1.5"},
		"a memory limit that is no number": {
			[]string{"demo", "--runtime.memory-limit-ratio=NaN"}, "--runtime.memory-limit-ratio: must be between 0 and 1, got NaN",
		},
		"a negative duration":      {[]string{"run", "--duration=-1s"}, "--duration: must not be negative, got -1s"},
		"a negative number":        {[]string{"run", "--requests=-1"}, "--requests: must not be negative, got -1"},
		"a negative grace of run":  {[]string{"run", "--grace=-1s"}, "--grace: must not be negative, got -1s"},
		"records without a folder": {[]string{"run", "--records"}, "--records: needs --out"},
		"a target that is unknown": {[]string{"run", "--config.file=" + good, "--target=two"}, `--target: no enabled target "two" in the configuration`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := execute(test.args...)
			if got.code != exitUsage {
				t.Errorf("exit code %d, want %d", got.code, exitUsage)
			}
			if !strings.HasPrefix(got.stderr, "aiperf-exporter: ") || strings.Count(got.stderr, "\n") != 1 {
				t.Errorf("not one line of the program:\n%s", got.stderr)
			}
			contains(t, "standard error", got.stderr, test.want)
			if got.stdout != "" {
				t.Errorf("standard output has:\n%s", got.stdout)
			}
		})
	}
}

func TestHelpAndVersionGoToStandardOutput(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args  []string
		wants []string
	}{
		"help":                  {[]string{"--help"}, []string{"usage: aiperf-exporter", "serve* ", "check config", "check web-config", "run ", "series ", "schema", "completion ", "demo "}},
		"help in short":         {[]string{"-h"}, []string{"usage: aiperf-exporter"}},
		"help of a command":     {[]string{"run", "--help"}, []string{"--duration", "--requests", "--target", "$AIPERF_EXPORTER_DURATION"}},
		"help as a command":     {[]string{"help", "serve"}, []string{"--web.listen-address", "--shutdown.grace"}},
		"version":               {[]string{"--version"}, []string{"aiperf-exporter, version ", "revision: ", "go version:"}},
		"version of a command":  {[]string{"run", "--version"}, []string{"aiperf-exporter, version "}},
		"help in spite of a no": {[]string{"serve", "--web.telemetry-path=bad", "--help"}, []string{"usage: aiperf-exporter"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := execute(test.args...)
			if got.code != exitOK {
				t.Errorf("exit code %d, want %d", got.code, exitOK)
			}
			contains(t, "standard output", got.stdout, test.wants...)
			if got.stderr != "" {
				t.Errorf("standard error has:\n%s", got.stderr)
			}
		})
	}
}

func TestEveryCommandThatNeedsAConfigurationSaysThatItIsMissing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "absent.yml")
	for _, args := range [][]string{{"serve"}, {"run"}, {"series"}, {}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			got := execute(append(args, "--config.file="+path)...)
			want := result{exitFailure, "", path + ": cannot be read: no such file or directory\n"}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWithoutAnyConfigurationTheDemoIsPointedOut(t *testing.T) {
	t.Chdir(t.TempDir())
	got := execute("run")
	want := result{exitFailure, "", `aiperf-exporter.yml: cannot be read: no such file or directory
aiperf-exporter: name a configuration with --config.file, or see it work without one: aiperf-exporter demo
`}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFlagsCanBeEnvironmentVariables(t *testing.T) {
	good := write(t, "good.yml", minimal)
	t.Setenv("AIPERF_EXPORTER_CONFIG_FILE", good)
	if got := execute("series"); got.code != exitOK {
		t.Errorf("AIPERF_EXPORTER_CONFIG_FILE is not read: %v", got)
	}
	t.Setenv("AIPERF_EXPORTER_WEB_TELEMETRY_PATH", "wrong")
	contains(t, "standard error", execute("serve").stderr, `--web.telemetry-path: must be a path like /metrics, got "wrong"`)
	t.Setenv("AIPERF_EXPORTER_SHUTDOWN_GRACE", "-3s")
	contains(t, "standard error", execute("serve", "--web.telemetry-path=/m").stderr, "--shutdown.grace: must not be negative, got -3s")
	t.Setenv("AIPERF_EXPORTER_CONFIG_EXPAND_ENV", "false")
	unexpanded := write(t, "dollar.yml", `targets: [{name: one, url: "http://127.0.0.1:1", model: "${NOWHERE}", endpoint: {type: chat}}]`)
	if got := execute("check", "config", unexpanded); got.code != exitOK {
		t.Errorf("AIPERF_EXPORTER_CONFIG_EXPAND_ENV is not read: %v", got)
	}
	if got := execute("check", "config", "--config.expand-env", unexpanded); got.code != exitFailure {
		t.Errorf("a flag does not win over its variable: %v", got)
	}
}

func TestVariablesThatAreNoSettingsAreIgnored(t *testing.T) {
	t.Setenv("AIPERF_EXPORTER_VERSION", "1.2.3")
	t.Setenv("AIPERF_EXPORTER_HELP", "true")
	t.Setenv("AIPERF_EXPORTER_SERVICE_PORT", "9749") // what Kubernetes sets for a service of that name
	if got := execute("check", "config", write(t, "good.yml", minimal)); got.code != exitOK || !strings.HasPrefix(got.stdout, "ok: 1 target\n") {
		t.Errorf("got %+v, want ok", got)
	}
}
