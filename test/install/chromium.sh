#!/usr/bin/env bash
# Sees to it that there is a Chromium; where there is none it comes from the distribution, for which one has to be root.
set -euo pipefail
if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
  apt-get -qq update
  DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends chromium fonts-dejavu-core
fi
