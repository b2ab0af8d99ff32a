#!/usr/bin/env bash
# Installs .cache/spdx/bin/pyspdxtools, which checks bills of materials, from PyPI: a few seconds.
set -euo pipefail
# shellcheck source=once.sh
source "$(dirname "$0")/once.sh"
version=0.8.5

build() { venv "$1" "spdx-tools==$version"; }
once spdx "$version" build
