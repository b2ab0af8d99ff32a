#!/usr/bin/env bash
# Builds .cache/toxiproxy/bin/server from the Go module: half a minute.
set -euo pipefail
# shellcheck source=once.sh
source "$(dirname "$0")/once.sh"
version=v2.5.0

build() {
  GOBIN=$1/bin GOFLAGS="-mod=mod -trimpath" go install "github.com/Shopify/toxiproxy/v2/cmd/server@$version"
}
once toxiproxy "$version" build
