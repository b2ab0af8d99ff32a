package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// generated loads a text and gives its targets, and their clients apart.
func generated(t *testing.T, text string) (generator.Config, []transport.Config) {
	t.Helper()
	config, problems := loadTexts(t, nil, text)
	if problems != "" {
		t.Fatal(problems)
	}
	out, err := config.Generator()
	if err != nil {
		t.Fatal(err)
	}
	clients := make([]transport.Config, 0, len(out.Targets))
	for i := range out.Targets {
		clients = append(clients, out.Targets[i].Client)
	}
	return out, clients
}

// withoutClients leaves out what cannot be compared: the types of Prometheus have unexported fields.
func withoutClients() cmp.Option {
	return cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Client" }, cmp.Ignore())
}

func TestAFiveLineTargetRunsWithDefaults(t *testing.T) {
	t.Parallel()
	got, clients := generated(t, fiveLines)
	protocol := endpoint.DefaultConfig()
	protocol.Type = endpoint.Chat
	want := generator.Config{
		Limits: generator.Limits{MaxInFlight: 64, MaxStartRate: 10, Budget: budget.DefaultConfig()},
		Targets: []generator.TargetConfig{{
			Name: "a", URL: "http://127.0.0.1:8000", Model: "m", Endpoint: protocol,
			WorkloadName: "default", Workload: workload.DefaultConfig(), LoadName: "default", Load: load.DefaultConfig(),
			SLOs: []metrics.SLO{}, Budget: budget.DefaultConfig(), Fingerprint: answer.DefaultFingerprintConfig(), MachineCost: metrics.DefaultCostConfig(), Accounting: metrics.Estimated, Seed: got.Targets[0].Seed,
		}},
	}
	if diff := cmp.Diff(want, got, withoutClients()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	client := clients[0]
	wantTimeouts := transport.Timeouts{Connect: 5 * time.Second, FirstToken: time.Minute, Idle: 30 * time.Second, Total: 5 * time.Minute}
	if diff := cmp.Diff(wantTimeouts, client.Timeouts); diff != "" {
		t.Errorf("timeouts (-want +got):\n%s", diff)
	}
	if client.Version != transport.HTTP1 || client.Reuse != transport.Fresh || client.MaxEventBytes != 16<<20 || client.MaxBodyBytes != 32<<20 {
		t.Errorf("got client %v %v %d %d", client.Version, client.Reuse, client.MaxEventBytes, client.MaxBodyBytes)
	}
	if client.Credential != nil || client.HTTP.FollowRedirects || client.HTTP.EnableHTTP2 {
		t.Error("a client without settings must have no credential, follow no redirect and speak HTTP/1.1")
	}
}

func TestTargetsGetWhatTheyName(t *testing.T) {
	t.Parallel()
	got, clients := generated(t, `
global: {max_in_flight: 3, max_rate: 2.5}
workloads:
  default: {output_tokens: 1}
  long: {output_tokens: {mean: 500, stddev: 10}, extra: {temperature: 0}}
loads:
  default: {rate: 1}
  fast: {rate: 10, mode: poisson}
slos:
  a: {time_to_first_token: 500ms, objective: 0.9, window: 1d}
  b: {output_token_throughput_per_user: 20}
http_clients:
  default: {reuse: keepalive}
  h2: {http_version: "2", max_event_size: 1KiB, max_response_size: 2KiB, basic_auth: {username: joe, password: x}}
targets:
  - {name: second, url: "https://llm:8000/v1/", model: m, endpoint: {type: completions, path: /x}, workload: long, load: fast, slo: [b, a], client: h2,
     seed: 9, labels: {team: ml}, timeouts: {total: 0, idle: 1s}, accounting: even_spread}
  - {name: off, url: "http://h", model: m, endpoint: {type: chat}, enabled: false}
  - {name: first, url: "http://h", model: m, endpoint: {type: chat}, seed: 1}
`)
	long := workload.DefaultConfig()
	long.OutputTokens = workload.Length{Mean: 500, Stddev: 10}
	long.Extra = map[string]any{"temperature": 0}
	short := workload.DefaultConfig()
	short.OutputTokens = workload.Length{Mean: 1}
	fast, slow := load.DefaultConfig(), load.DefaultConfig()
	fast.Rate, fast.Mode, slow.Rate = 10, load.Poisson, 1
	completions, chat := endpoint.DefaultConfig(), endpoint.DefaultConfig()
	completions.Type, completions.Path, chat.Type = endpoint.Completions, "/x", endpoint.Chat
	want := generator.Config{
		Limits: generator.Limits{MaxInFlight: 3, MaxRate: 2.5, MaxStartRate: 10, Budget: budget.DefaultConfig()},
		Targets: []generator.TargetConfig{
			{
				Name: "second", URL: "https://llm:8000/v1/", Model: "m", Endpoint: completions, WorkloadName: "long", Workload: long, LoadName: "fast", Load: fast,
				SLOs: []metrics.SLO{
					{Name: "b", Objective: 0.99, Window: 30 * 24 * time.Hour, CountDrops: true, Thresholds: []metrics.Threshold{{Metric: metrics.SLOPerUserThroughput, Limit: 20}}},
					{Name: "a", Objective: 0.9, Window: 24 * time.Hour, CountDrops: true, Thresholds: []metrics.Threshold{{Metric: metrics.SLOTimeToFirstToken, Limit: 5e8}}},
				},
				Budget: budget.DefaultConfig(), Fingerprint: answer.DefaultFingerprintConfig(), MachineCost: metrics.DefaultCostConfig(), Accounting: metrics.EvenSpread, Seed: 9, Labels: map[string]string{"team": "ml"},
			},
			{
				Name: "first", URL: "http://h", Model: "m", Endpoint: chat, WorkloadName: "default", Workload: short, LoadName: "default", Load: slow,
				SLOs: []metrics.SLO{}, Budget: budget.DefaultConfig(), Fingerprint: answer.DefaultFingerprintConfig(), MachineCost: metrics.DefaultCostConfig(), Accounting: metrics.Estimated, Seed: 1,
			},
		},
	}
	if diff := cmp.Diff(want, got, withoutClients()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	h2, def := clients[0], clients[1]
	if h2.Version != transport.HTTP2 || !h2.HTTP.EnableHTTP2 || h2.Reuse != transport.Fresh || h2.MaxEventBytes != 1<<10 || h2.MaxBodyBytes != 2<<10 {
		t.Errorf("got h2 %v %v %v %d %d", h2.Version, h2.HTTP.EnableHTTP2, h2.Reuse, h2.MaxEventBytes, h2.MaxBodyBytes)
	}
	if h2.HTTP.BasicAuth == nil || string(h2.HTTP.BasicAuth.Password) != "x" || h2.HTTP.FollowRedirects {
		t.Error("the settings of Prometheus are not in the client")
	}
	if h2.Timeouts.Total != 0 || h2.Timeouts.Idle != time.Second || h2.Timeouts.Connect != 5*time.Second {
		t.Errorf("got timeouts %+v", h2.Timeouts)
	}
	if def.Reuse != transport.KeepAlive {
		t.Errorf("a target without a client got reuse %v, want that of the entry default", def.Reuse)
	}
}

func TestCredentialsAreSentAsBearerTokens(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"key": "from-file\n",
		"c.yml": `
secrets: {file: {file: key}, variable: {value: "${API_KEY}"}}
targets:
  - {name: a, url: "http://h", model: m, endpoint: {type: chat, secret: file}}
  - {name: b, url: "http://h", model: m, endpoint: {type: chat, secret: variable}}
  - {name: c, url: "http://h", model: m, endpoint: {type: chat, api_key_file: key}}
  - {name: d, url: "http://h", model: m, endpoint: {type: chat, api_key: "from-literal"}}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config, err := loadFiles(filepath.Join(dir, "c.yml"))
	if err != nil {
		t.Fatal(err)
	}
	generated, err := config.Generator()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"from-file", "variable-hunter22", "from-file", "from-literal"} {
		header, value, err := generated.Targets[i].Client.Credential()
		if header != "Authorization" || value != "Bearer "+want || err != nil {
			t.Errorf("%s: got %q, %q, %v", generated.Targets[i].Name, header, value, err)
		}
	}
}

func TestRandomSeedsDifferAndStayForTheLifeOfTheConfiguration(t *testing.T) {
	t.Parallel()
	config, problems := loadTexts(t, nil, fiveLines+"  - {name: b, url: \"http://h\", model: m, endpoint: {type: chat}}\n")
	if problems != "" {
		t.Fatal(problems)
	}
	var seeds [2][2]uint64
	for i := range seeds {
		generated, err := config.Generator()
		if err != nil {
			t.Fatal(err)
		}
		seeds[i] = [2]uint64{generated.Targets[0].Seed, generated.Targets[1].Seed}
	}
	if seeds[0] != seeds[1] || seeds[0][0] == seeds[0][1] || seeds[0][0] >= 1<<53 {
		t.Errorf("got seeds %v", seeds)
	}
}

func TestListsForTheMetrics(t *testing.T) {
	t.Parallel()
	config, err := loadFiles("testdata/good/everything.yml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"team", "tier"}, config.LabelNames()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	slos := config.AllSLOs()
	if len(slos) != 2 || slos[0].Name != "interactive" || slos[1].Name != "strict" {
		t.Errorf("got SLOs %v", slos)
	}
}
