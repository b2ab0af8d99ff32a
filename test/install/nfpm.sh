#!/usr/bin/env bash
# Builds .cache/nfpm/bin/nfpm from the Go module: two minutes. Versions from 2.46 on need modules that the Go proxy does not have.
set -euo pipefail
# shellcheck source=once.sh
source "$(dirname "$0")/once.sh"
version=v2.45.0

build() {
  GOBIN=$1/bin GOFLAGS="-mod=mod -trimpath" go install "github.com/goreleaser/nfpm/v2/cmd/nfpm@$version"
}
once nfpm "$version" build
