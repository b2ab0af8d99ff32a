# What people and CI run; `make help` lists it. What a target needs beyond Go and a C compiler is installed into .cache/ first.
SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
ENGINE      ?= llama
FUZZTIME    ?= 10s
CONTAINER   ?= docker
TAGS        ?=
ROOMS       ?= ./...
ROUNDS      ?= 3
SCENARIOS   ?= 50x50 500x50 2000x10 unpaced1 unpaced8
PEERS       ?= aiperf guidellm
MARKDOWN    ?=
BENCH       ?=
LOADS       ?=
LENGTH      ?= 0
AWAY        ?= 10m
PICTURES    ?= build/dashboards
HOLD        ?= 0
SHORT       ?=
IMAGES      ?=
comma       := ,

binary   := bin/aiperf-exporter
lint     := .cache/bin/golangci-lint
metadata := github.com/prometheus/common/version
# The commit of a tag is a release; what any other commit is called sorts before all of them.
tag      := $(shell git describe --tags --exact-match --dirty 2>/dev/null)
snapshot := $(shell TZ=UTC0 git show --no-patch --abbrev=12 --date=format-local:%Y%m%d%H%M%S --format=0.0.0-%cd-%h HEAD -- 2>/dev/null || echo 0.0.0-unknown)
changed  := $(shell git diff --quiet HEAD -- 2>/dev/null || test $$? -ne 1 || echo -dirty)
version  := $(or $(tag:v%=%),$(snapshot)$(changed))
revision := $(shell git rev-parse --verify --quiet HEAD 2>/dev/null || echo unknown)
date     := $(shell git show --no-patch --format=%cI HEAD -- 2>/dev/null || echo unknown)
# Functions of the NVIDIA driver are looked up when they are called: a linker that binds all of them at the start would make a program that
# only starts where the driver is.
lazy     := $(if $(filter Linux,$(shell uname)),-extldflags=-Wl$(comma)-z$(comma)lazy)
ldflags  := $(lazy) -s -w -X $(metadata).Version=$(version) -X $(metadata).Revision=$(revision) -X $(metadata).BuildDate=$(date)

# Paths of this machine are in nothing that is built, which makes builds the same everywhere; and one cache serves them all.
export GOFLAGS := $(GOFLAGS) -trimpath

# Every rule with a description: a target that has lost its rule is an error then, not "nothing to be done".
.PHONY: $(shell sed -nE 's/^([a-z0-9-]+):.*\#\# .*/\1/p' $(firstword $(MAKEFILE_LIST)))

help: ## list the targets
	@sed -nE 's/^([a-z0-9-]+):.*## (.*)/\1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

build: ## bin/aiperf-exporter, reproducible; TAGS=k8s_sd: with Kubernetes and InferencePools under target_discovery
	go build -tags '$(TAGS)' -ldflags '$(ldflags)' -o $(binary) ./cmd/aiperf-exporter

portable: ## the program without cgo, without NVML, for macOS, and the rooms that read others for Windows
	CGO_ENABLED=0 go build -o /dev/null ./cmd/aiperf-exporter
	go build -tags nonvml -o /dev/null ./cmd/aiperf-exporter
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 go build -o /dev/null ./cmd/aiperf-exporter
	CGO_ENABLED=0 GOOS=windows go build ./collector/... ./otlp/...

test: ## vet and unit tests; TAGS=k8s_sd ROOMS='./discovery …'
	go vet -tags '$(TAGS)' $(ROOMS) && go test -tags '$(TAGS)' $(ROOMS)

race: ## unit tests under the race detector, in random order
	go test -race -shuffle=on -count=1 ./...

lint: $(lint) ## golangci-lint and the formatters, no finding allowed
	$(lint) run ./...

fuzz: ## each fuzz target for FUZZTIME (10s, or a number of inputs: 5000x)
	test/fuzz.sh $(FUZZTIME)

bench: ## all benchmarks, with allocations
	go test -run '^$$' -bench . -benchmem ./...

gen: ## write the generated files again
	go generate ./...

check: build ## examples, rules, module files and generated files are as they should be
	test/check.sh

e2e: build ## the binary as a process, scraped by a real Prometheus, sending to a real OpenTelemetry collector
	test/install/prometheus.sh && test/install/otelcol.sh && go test -tags e2e -count=1 -parallel 3 -v -timeout 20m ./test/e2e

chart: ## the Helm chart and the files for Kustomize: what they render, which values they refuse, and whether the exporter takes what is in it
	$(MAKE) build TAGS=k8s_sd binary=bin/aiperf-exporter-kubernetes
	test/install/prometheus.sh && test/install/validate.sh && go -C test/chart vet ./... && go -C test/chart test -count=1 ./...

kubernetes: ## discovery and every object of the chart with a real API server, 10 to 20 minutes to build once
	$(MAKE) build TAGS=k8s_sd binary=bin/aiperf-exporter-kubernetes
	rm -rf build/chart && go -C test/chart run ./generate -render $(CURDIR)/build/chart $(CURDIR)
	test/install/kubernetes.sh && go test -tags kubernetes -count=1 -v -timeout 20m ./test/kubernetes

systemd: build ## the service, on two real systemds in namespaces of their own; one has to be root
	test/install/systemd.sh && go test -tags systemd -count=1 -v -timeout 15m ./test/systemd

secrets: build ## planted secrets in every place, and a server that says back whatever it hears
	go test -tags 'e2e secrets' -count=1 -v -timeout 15m -run 'TestNoSecretIsShownAnywhere|TestASecretIsPlantedAtEveryPlace' ./test/e2e

engines: build ## real inference servers; ENGINE=llama (default), vllm or ollama, DURATION=1m
	test/install/model.sh && test/install/variants.sh && test/install/$(ENGINE).sh && go test -tags engines -count=1 -v -timeout 30m -run '/^$(ENGINE)$$' ./test/engines

soak: ## days of requests and exports and weeks of looks at servers and GPUs, simulated, at constant memory; two to four minutes
	go test -tags soak -count=1 -v -timeout 30m -run 'ConstantMemory$$' ./generator ./collector/server ./collector/gpu ./otlp

accuracy: build ## measured latencies against the server's own truth, idle and with busy processors
	go run ./test/accuracy -binary $(binary)

pacing: build ## when requests really arrive, and how late they leave; LOADS='constant 50/s,poisson 40/s' LENGTH=10m
	go run ./test/pacing -binary $(binary) -loads '$(LOADS)' -length $(LENGTH)

sizing: build ## what targets, requests, streams and scrapes cost, a quarter of an hour; LENGTH=20s MARKDOWN=page
	go run ./test/sizing -binary $(binary) -length $(or $(filter-out 0,$(LENGTH)),20s) -markdown '$(MARKDOWN)'

compare: build ## cost and error beside others; ROUNDS=3 SCENARIOS='50x50 …' PEERS='aiperf guidellm' (or none) MARKDOWN=page
	$(if $(PEERS),test/install/model.sh && test/install/peers.sh $(PEERS) && )go run ./test/compare -binary $(binary) -rounds $(ROUNDS) \
		-scenarios '$(SCENARIOS)' -peers '$(PEERS)' -markdown '$(MARKDOWN)'

bodies: build ## requests beside those of AIPerf for the same datasets; a difference without a reason fails
	test/install/model.sh && test/install/peers.sh aiperf && go run ./test/bodies -binary $(binary)

outputs: build ## report files beside those of AIPerf for the same traffic; a difference without a reason fails
	test/install/model.sh && test/install/peers.sh aiperf && go run ./test/outputs -binary $(binary)

energy: build ## energy and server counters of a run beside those of AIPerf and the truth
	test/install/model.sh && test/install/peers.sh aiperf && go run ./test/energy -binary $(binary)

outage: build ## traffic, memory and values while the OpenTelemetry collector is away; AWAY=10m, twice that in all
	test/install/otelcol.sh && go run ./test/outage -binary $(binary) -away $(AWAY)

faults: build ## a fleet whose servers and network fail in every way, and get well again; LENGTH=10m
	test/install/toxiproxy.sh && go run ./test/faults -binary $(binary) -length $(LENGTH)

page: build ## the pages in a real Chromium; screenshots of them in build/page
	test/install/chromium.sh && test/install/axe.sh && rm -rf build/page && go -C test/page test -count=1 -parallel 3 -v -timeout 15m .

dashboards: build ## every query of the Grafana dashboards with a real Prometheus, and a picture of each (PICTURES=folder or none); LENGTH=6m
	test/install/prometheus.sh && test/install/model.sh && test/install/llama.sh $(if $(PICTURES),&& test/install/chromium.sh && test/install/render.sh)
	go run ./test/dashboards -binary $(binary) -length $(or $(filter-out 0,$(LENGTH)),6m) -pictures '$(PICTURES)'

incident: build ## outages, from the demo through Prometheus and Alertmanager to a pager; HOLD=20s SHORT=-short for less than an hour
	test/install/prometheus.sh && test/install/otelcol.sh && test/install/alertmanager.sh && go test -tags 'e2e incident' -count=1 -v $(SHORT) \
		-timeout 100m -run 'TestAnOutageIsPaged|TestAStarvedExporter' ./test/e2e -hold=$(HOLD)

alert-bench: ## false alarms and delays of the alerts, simulated months in Prometheus's rule engine; BENCH='-canaries 100' MARKDOWN=page
	go -C test/alertbench run . -rules '$(CURDIR)/alerts/rules/*.yml' -markdown '$(abspath $(MARKDOWN))' $(BENCH)

docs: build ## every command of README.md, CONTRIBUTING.md and docs/, as a reader would run it
	test/install/prometheus.sh && test/install/alertmanager.sh && go test -tags docs -count=1 -parallel 3 -v -timeout 30m ./test/docs

alert-check: ## a small part of that at a fixed seed, which fails when alerts are worse than they were; about a minute
	go -C test/alertbench test -count=1 . && go -C test/alertbench run . -check -rules '$(CURDIR)/alerts/rules/*.yml'

demo: build ## the exporter with its embedded inference server
	$(binary) demo

image: ## the container image, with CONTAINER (docker)
	$(CONTAINER) build --build-arg VERSION=$(version) --build-arg REVISION=$(revision) --build-arg DATE=$(date) \
		--build-arg SOURCE_DATE_EPOCH=$(shell git log -1 --format=%ct 2>/dev/null || echo 0) -t aiperf-exporter:$(version) .

containers: ## both images built by buildah and run by runc without rights, and what the Compose file describes; one has to be root
	test/install/containers.sh && test/install/prometheus.sh && test/install/alertmanager.sh && go mod download && go -C test/containers test \
		-tags containers -count=1 -v -timeout 40m .

packages: ## deb, rpm and archive, made twice, installed, run, updated and removed in bare systems; one has to be root
	test/install/nfpm.sh && test/install/debian.sh && test/install/systemd.sh && test/install/spdx.sh && \
		go test -tags packages -count=1 -v -timeout 40m ./test/packages

release-snapshot: ## all files of a release, in build/release; IMAGES=folder of OCI layouts
	test/install/nfpm.sh && go run ./deploy/release -out build/release -version $(version) -revision $(revision) -date $(date) $(if $(IMAGES),-images $(IMAGES))

$(lint): tools/go.mod tools/go.sum
	cd tools && GOBIN=$(CURDIR)/.cache/bin go install tool && touch $(CURDIR)/$@
