#!/usr/bin/env bash
# Builds .cache/prometheus/bin/{prometheus,promtool} from the Go module: 2 to 3 minutes on two cores.
# The module lacks the server's own web pages, so only the API answers. Service discoveries but for files and HTTP are left
# out by build tag; they are most of the build time.
set -euo pipefail
source "$(dirname "$0")/once.sh"
version=v0.316.0

build() {
  GOBIN=$1/bin GOFLAGS="-mod=mod -trimpath" go install -tags remove_all_sd \
    "github.com/prometheus/prometheus/cmd/prometheus@$version" "github.com/prometheus/prometheus/cmd/promtool@$version"
}
once prometheus "$version" build
