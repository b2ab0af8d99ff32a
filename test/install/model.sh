#!/usr/bin/env bash
# Makes the tiny random model in .cache/model: model.safetensors and its tokenizer for vLLM, tiny.gguf for llama.cpp.
set -euo pipefail
source "$(dirname "$0")/once.sh"
version=$(sha256sum "$root/test/install/tiny_model.py" | cut -c1-12)

build() {
  venv "$1/venv" numpy==2.3.5 safetensors==0.8.0 tokenizers==0.23.3 gguf==0.19.0
  "$1/venv/bin/python" "$root/test/install/tiny_model.py" "$1"
  rm -rf "$1/venv"
}
once model "$version" build
