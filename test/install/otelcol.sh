#!/usr/bin/env bash
# Builds .cache/otelcol/bin/otelcol, an OpenTelemetry collector with an OTLP receiver that writes lines of JSON, from test/otelcol: 2 to 4
# minutes on two cores.
set -euo pipefail
source "$(dirname "$0")/once.sh"
version=$(cat "$root"/test/otelcol/{*.go,go.mod,go.sum} | sha256sum | cut -c1-12)

build() {
  go -C "$root/test/otelcol" build -trimpath -o "$1/bin/otelcol" .
}
once otelcol "$version" build
