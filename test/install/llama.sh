#!/usr/bin/env bash
# Builds .cache/llama/bin/llama-server, llama.cpp's own server (CPU only, without TLS and web pages), from the source that
# the sdist of llama-cpp-python on PyPI carries: 5 to 11 minutes on two cores. Needs cmake, make or ninja, and a C++ compiler.
set -euo pipefail
source "$(dirname "$0")/once.sh"
version=0.3.36

build() {
  local dir=$1 generator=()
  local work=$dir/src
  mkdir "$work"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary llama-cpp-python \
    --dest "$work" "llama-cpp-python==$version"
  tar -C "$work" --strip-components=1 -xzf "$work"/llama_cpp_python-*.tar.gz
  if command -v ninja >/dev/null; then generator=(-G Ninja); fi
  local option options=(-DCMAKE_BUILD_TYPE=Release)
  for option in BUILD_SHARED_LIBS GGML_NATIVE GGML_OPENMP LLAMA_CURL LLAMA_OPENSSL LLAMA_BUILD_TESTS LLAMA_BUILD_EXAMPLES \
    LLAMA_BUILD_MTMD LLAMA_BUILD_UI LLAMA_USE_PREBUILT_UI; do
    options+=("-D$option=OFF")
  done
  cmake "${generator[@]}" -S "$work/vendor/llama.cpp" -B "$work/build" "${options[@]}" >"$dir/cmake.log"
  if ! cmake --build "$work/build" --target llama-server --parallel "$(nproc)" >"$dir/build.log" 2>&1; then
    tail -n 30 "$dir/build.log" >&2
    return 1
  fi
  install -D "$work/build/bin/llama-server" "$dir/bin/llama-server"
  rm -rf "$work"
}
once llama "$version" build
