#!/usr/bin/env bash
# Makes .cache/systemd/{bookworm,trixie}: two Debian systems that have little more than systemd, 252 and 257, from the packages of the distribution.
# One to three minutes, 340 MB; one has to be root. test/systemd/boot.sh starts one of them.
set -euo pipefail
# shellcheck source=once.sh
source "$(dirname "$0")/once.sh"
suites="bookworm trixie"

build() {
  local suite
  if ! command -v mmdebstrap >/dev/null; then
    apt-get -qq update
    DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends mmdebstrap
  fi
  for suite in $suites; do
    mmdebstrap --quiet --variant=apt --include=systemd,dbus --format=directory "$suite" "$1/$suite" http://deb.debian.org/debian
    rm -rf "$1/$suite/var/cache/apt"/* "$1/$suite/var/lib/apt/lists"/*
  done
}
once systemd "$suites" build
