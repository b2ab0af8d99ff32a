package docs

import "regexp"

// languages are those that a block may have. Those that other tests read are only named here: YAML, JSON and PromQL are parsed in docs/generate.
var languages = map[string]bool{
	"sh": true, "python": true, // executed
	"console": true, // not executed, for one of the reasons below
	"yaml":    true, "json": true, "promql": true,
	"text": true, // output, drawings
	"ini":  true, "jsonnet": true, "toml": true, "dockerfile": true,
}

// reasons say why a block is not executed. One of these patterns is in it.
var reasons = []struct {
	pattern *regexp.Regexp
	reason  string
}{
	{regexp.MustCompile(`\b(kubectl|helm|kustomize)\b`), "needs a cluster; make kubernetes types docs/kubernetes.md at an API server"},
	{regexp.MustCompile(`\b(docker|podman|buildah|crictl|nerdctl)\b|make image`), "needs a container engine; make containers builds and runs the images"},
	{regexp.MustCompile(`\b(systemctl|journalctl|systemd-\w+|systemd-creds)\b`), "needs systemd as the first process"},
	{regexp.MustCompile(`\b(apt|apt-get|dpkg|dnf|yum|rpm|sudo)\b|(^|[ >])/(etc|usr|srv|var|opt)/`), "changes the machine; make packages does it in a clean root"},
	{regexp.MustCompile(`\b(nvidia-smi|dcgmi|rocm-smi)\b`), "needs a GPU"},
	{regexp.MustCompile(`\b(vllm|trtllm|text-generation|tritonserver|lmdeploy|ollama|llama)[- ](serve|launcher|server|create|run)\b|sglang\.launch_server|python -m dynamo|\btritonserver\b`), "an inference server; make engines starts those that can be had"},
	{regexp.MustCompile(`\b(zsh|fish)\b`), "another shell"},
	{regexp.MustCompile(`\bVERSION\b|SHA256SUMS|\bgo install\b`), "needs what is released; make packages and make release-snapshot make and try it"},
	{regexp.MustCompile(`https://|git clone|\bgit (tag|push|log)\b|\b(cosign|syft|gpg|ssh)\b`), "speaks to somebody else's service, or needs a key"},
	{regexp.MustCompile(`api/v1/events|--follow|tail -f|watch `), "never ends by itself"},
	{regexp.MustCompile(`\b(aiperf profile|guidellm|genai-perf|blackbox_exporter)\b`), "another program, which make compare installs"},
	{regexp.MustCompile(`import (mlflow|wandb)`), "needs a package; test/outputs compares it with the file in examples/"},
}

// reasonOf is the reason for which a block of commands is not executed, "" if there is none.
func reasonOf(b *block) string {
	for _, r := range reasons {
		if r.pattern.MatchString(b.text) {
			return r.reason
		}
	}
	return ""
}

// daemons are commands that run until they are stopped. The page goes on once ready answers; a second one on an address takes the place of the first.
var daemons = []struct {
	pattern *regexp.Regexp
	ready   string
}{
	{regexp.MustCompile(`^make demo\b`), exporterReady},
	{regexp.MustCompile(`^(bin/)?aiperf-exporter( serve| demo)?( --([a-z]+\.|shard|enable-feature)\S+)*( *#.*)?$`), exporterReady},
	{regexp.MustCompile(`^prometheus --config\.file=`), "http://127.0.0.1:9090/-/ready"},
	{regexp.MustCompile(`^alertmanager --config\.file=`), "http://127.0.0.1:9093/-/ready"},
	{regexp.MustCompile(`^(bin/)?aiperf-exporter replay .*> ?replay\.yml$`), "file:replay.yml"},
	{regexp.MustCompile(`^(bin/)?aiperf-exporter replay `), "-"},
}

const exporterReady = "http://127.0.0.1:9749/-/ready"

// targets are those of the Makefile that take longer than a page may; it is only checked that they can be called as written. The reason says where
// they are run, and those in .ci/run are looked for there.
var targets = map[string]string{
	"test": inCI, "race": inCI, "lint": inCI, "check": inCI, "fuzz": inCI, "e2e": inCI, "engines": inCI, "page": inCI, "secrets": inCI, "soak": inCI,
	"faults": inCI, "alert-check": inCI, "compare": inCI, "dashboards": inCI, "incident": inCI, "portable": inCI,
	"gen":         "make check generates in a copy and compares",
	"bench":       "minutes, and figures that nobody compares",
	"accuracy":    "figures of a quiet machine",
	"pacing":      "figures of a quiet machine",
	"sizing":      "a quarter of an hour, and figures that nobody compares",
	"outage":      "twenty minutes",
	"alert-bench": "twenty minutes; alert-check is a part of it",
	"bodies":      "installs AIPerf, 6 GB",
	"outputs":     "installs AIPerf, 6 GB",
	"energy":      "installs AIPerf, 6 GB",
	"kubernetes":  "as long to build as all of continuous integration",
	"chart":       inCI, "packages": inCI, "systemd": inCI,
	"containers": "ten minutes the first time", "release-snapshot": "all platforms, minutes each",
	"image": "needs a container engine", "docs": "is this",
}

const inCI = ".ci/run"

// shorter is what takes minutes for a reader and seconds here.
var shorter = []struct{ from, to string }{
	{"--duration=5m", "--duration=5s"},
	{"--target vllm-cold --requests 3", "--target vllm-cold --requests 1"},
}

// prelude is what a page takes for granted, in bash, with the functions of testdata/session.sh. Pages without an entry need nothing.
var prelude = map[string]string{
	"README.md":         "server",
	"docs/hardening.md": "server",
	"docs/servers.md": `server
configuration aiperf-exporter.yml
background ` + exporterReady + ` 'aiperf-exporter --config.file=aiperf-exporter.yml'
until curl -s http://127.0.0.1:9749/metrics | grep '^aiperf_server_up' >/dev/null; do sleep 0.5; done`,
	"docs/api.md": `server -fail-every=3
configuration canary.yml
background ` + exporterReady + ` 'aiperf-exporter --config.file=canary.yml'
sleep 3`,
	"docs/commands.md": `server -fail-every=3
configuration canary.yml
capture capture.json
server
configuration aiperf-exporter.yml
cat "$given/fleet.yml" >>aiperf-exporter.yml
echo '[{"targets": ["127.0.0.1:8000"]}]' >fleet.json
echo '{"text_input": "Say something.", "output_length": 8}' >trace.jsonl
echo 'http_server_config: {http2: false}' >web.yml`,
	"docs/coming-from-aiperf.md":            "server",
	"docs/coming-from-blackbox-exporter.md": "server",
	"docs/coming-from-guidellm.md":          "server",
	"docs/costs.md":                         "server",
	"docs/traces.md":                        "server",
	"docs/whose-fault.md": `server -fail-every=3
configuration canary.yml
background ` + exporterReady + ` 'aiperf-exporter --config.file=canary.yml'
sleep 3`,
	"docs/get-started.md": "server",
	"docs/vllm.md":        "server",
	"docs/incidents.md": `server -fail-every=3
configuration canary.yml
capture first.jsonl`,
	"docs/load.md": `server
configuration canary.yml
background ` + exporterReady + ` 'aiperf-exporter --config.file=canary.yml --web.enable-admin-api'`,
	"docs/outputs.md": `server
configuration aiperf-exporter.yml
sed -i '/name: vendor/d' aiperf-exporter.yml`,
}
