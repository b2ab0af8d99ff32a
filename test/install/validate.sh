#!/usr/bin/env bash
# Puts kubernetes-validate into .cache/validate/bin: it holds objects against the schemas of many versions of Kubernetes, without a server.
set -euo pipefail
# shellcheck source=once.sh
source "$(dirname "$0")/once.sh"
version=1.37.0

build() { venv "$1" "kubernetes-validate==$version"; }
once validate "$version" build
