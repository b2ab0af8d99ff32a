#!/usr/bin/env bash
# Installs the load generators that `make compare` sets the exporter against, from PyPI, each into a Python environment of its own:
# peers.sh aiperf guidellm makes .cache/peers/aiperf and .cache/peers/guidellm, which have the programs in bin/. 0.9 and 5.3 GB, of
# which torch is most; less than a minute with a fast index.
set -euo pipefail
source "$(dirname "$0")/once.sh"

declare -A versions=([aiperf]=0.13.0 [guidellm]=0.8.1)

# What they depend on is as it was on this day. Needs an index that tells when files were uploaded, as PyPI does.
day=2026-11-29

# uv is many times as fast as pip with the hundred packages that each of them needs.
build() {
  local dir=$1 tool=${1##*/}
  venv "$dir" uv
  VIRTUAL_ENV=$dir "$dir/bin/uv" pip install --quiet --exclude-newer "$day" "$tool==${versions[$tool]}"
}

mkdir -p "$cache/peers"
for tool in "$@"; do
  if [[ -z ${versions[$tool]:-} ]]; then
    echo "peers.sh: no such tool: $tool" >&2
    exit 2
  fi
  once "peers/$tool" "${versions[$tool]}" build
done
