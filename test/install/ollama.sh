#!/usr/bin/env bash
# Builds .cache/ollama/bin/ollama (CPU only) from its Go module: 2 to 6 minutes on two cores. The module proxy leaves out every folder
# with the name "vendor", and with it four C++ libraries that are only headers: the same ones are in the sdist of llama-cpp-python on PyPI.
set -euo pipefail
source "$(dirname "$0")/once.sh"
version=v0.17.4
headers=0.3.36

build() {
  local dir=$1
  local work=$dir/src
  mkdir "$work"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary llama-cpp-python \
    --dest "$work" "llama-cpp-python==$headers"
  tar -C "$work" --strip-components=4 --wildcards -xzf "$work"/llama_cpp_python-*.tar.gz '*/vendor/llama.cpp/vendor/*'
  # By CPATH, since flags would make Go build it all again for each folder that it is built in.
  if ! GOBIN=$dir/bin GOFLAGS=-mod=mod GOWORK=off CGO_ENABLED=1 CPATH=$work \
    go install -ldflags '-s -w' "github.com/ollama/ollama@$version" >"$dir/build.log" 2>&1; then
    tail -n 30 "$dir/build.log" >&2
    return 1
  fi
  rm -rf "$work"
}
once ollama "$version" build
