#!/usr/bin/env bash
# Makes variants of the tiny random model in .cache/variants: quantised, other weights, broken ones, another chat template.
set -euo pipefail
source "$(dirname "$0")/once.sh"
version=$(cat "$root"/test/install/{tiny_model,variants}.py | sha256sum | cut -c1-12)

build() {
  venv "$1/venv" numpy==2.3.5 safetensors==0.8.0 tokenizers==0.23.3 gguf==0.19.0
  "$1/venv/bin/python" "$root/test/install/variants.py" "$1"
  rm -rf "$1/venv"
}
once variants "$version" build
