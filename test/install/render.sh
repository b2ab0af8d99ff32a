#!/usr/bin/env bash
# Installs what draws dashboards, Grafana's own components among it, into .cache/render: 470 MB, a minute or two. See test/dashboards/render.
set -euo pipefail
# shellcheck source=once.sh
source "$(dirname "$0")/once.sh"
packages=$root/test/dashboards/render/package.json

build() {
  local dir=$1
  if ! command -v npm >/dev/null; then
    apt-get -qq update
    DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends npm
  fi
  cp "$packages" "$dir"
  (cd "$dir" && npm install --silent --no-audit --no-fund)
}
once render "$(sha256sum <"$packages")" build
