package main

// configuration of the exporter: driver of the GPUs, demo server, scripted server, an address at which nobody listens, folder of discovered targets,
// llama.cpp.
const configuration = `
global:
  max_in_flight: 500
  budget: {requests_per_day: 1000000}
selftest: {enabled: true}
debug: {capture: {enabled: true}}
collectors:
  server: {interval: 5s}
  gpu:
    source: [nvml, dcgm]
    nvml: {interval: 5s, library_path: %[1]q}
    dcgm: {interval: 5s, urls: ["http://%[3]s/gpu/metrics"]}
slos:
  interactive: {objective: 0.99, time_to_first_token: 400ms, inter_token_latency: 30ms}
  patient: {objective: 0.95, time_to_first_token: 600ms}
workloads:
  chat: {input_tokens: {mean: 256, stddev: 64}, output_tokens: {mean: 32, stddev: 8}, cache: bust}
  question: {input_tokens: {mean: 256, stddev: 32}, output_tokens: {mean: 96, stddev: 16}, cache: bust}
  fixed: {cache: repeat, output_tokens: 16, prompts: ["Name the planets.", "What is 17 times 23?"]}
loads:
  steady: {mode: poisson, rate: 3, max_in_flight: 16}
  many: {mode: poisson, rate: 5, max_in_flight: 40}
  calm: {mode: poisson, rate: 1, max_in_flight: 2, on_full: drop}
  seldom: {mode: probe, interval: 1m}
defaults: {endpoint: {type: chat}, workload: chat, load: steady, slo: interactive}
modules:
  short: {endpoint: {type: chat}, model: demo-steady-8b, workload: chat}
target_discovery:
  - name: files
    file_sd_configs: [{files: ["%[5]s/*.json"], refresh_interval: 5s}]
    relabel_configs:
      - {source_labels: [state], regex: draining, action: drop}
      - {regex: state, action: labeldrop}
    template: {endpoint: {type: chat}, model: truth, workload: chat, load: calm}
targets:
  - {name: steady, url: "%[2]s", model: demo-steady-8b}
  - {name: thinker, url: "%[2]s", model: demo-thinker-32b, workload: question, load: calm, slo: [interactive, patient]}
  - {name: flaky, url: "%[2]s", model: demo-flaky-8b, timeouts: {connect: 2s, first_token: 5s, idle: 3s, total: 20s}}
  - name: canary
    url: "http://%[3]s"
    model: truth
    gpus: {uuids: [GPU-00000000-0000-0000-0000-000000000000, GPU-00000000-0000-0000-0000-000000000001]}
    cost: {per_hour: 4.2, per_kwh: 0.28, currency: eur}
    budget: {usd_per_million_input: 3, usd_per_million_output: 15, usd_per_day: 50}
  - {name: others, url: "http://%[3]s", model: truth, load: many, slo: []}
  - {name: spent, url: "http://%[3]s", model: truth, budget: {requests_per_day: 40}}
  - {name: wrong, url: "http://%[3]s", model: truth, workload: fixed, expect: [{contains: "a word that no answer has"}]}
  - {name: fingerprint, url: "%[2]s", model: demo-steady-8b, workload: fixed, fingerprint: {enabled: true}}
  - {name: seldom, url: "http://%[3]s", model: truth, load: seldom}
  - {name: gone, url: "http://%[4]s", model: truth, load: calm}
  - {name: engine, url: "http://%[6]s", model: tiny, load: calm, slo: patient}
`

// discovered is a file of targets, of which one is not used.
const discovered = `[
  {"targets": ["http://%[1]s"], "labels": {"state": "ready"}},
  {"targets": ["http://%[2]s"], "labels": {"state": "draining"}}
]`

// prometheusFile scrapes the exporter twice and evaluates the shipped rules.
const prometheusFile = `
global: {scrape_interval: 5s, scrape_timeout: 4s, evaluation_interval: 5s}
rule_files: [%[1]q]
scrape_configs:
  - {job_name: native, scrape_native_histograms: true, static_configs: [{targets: [%[2]q], labels: {vantage: here}}]}
  - {job_name: classic, scrape_protocols: [OpenMetricsText1.0.0], static_configs: [{targets: [%[2]q], labels: {vantage: here}}]}
`

// The jobs, one for each form of histograms.
const (
	native  = "native"
	classic = "classic"
)

// scrapeInterval is that of both.
const scrapeInterval = "5"
