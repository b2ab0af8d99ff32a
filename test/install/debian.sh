#!/usr/bin/env bash
# Makes .cache/debian/bookworm, a Debian system of what is required and apt, and sees to it that there are the tools that read packages. One to two
# minutes, 190 MB; one has to be root.
set -euo pipefail
# shellcheck source=once.sh
source "$(dirname "$0")/once.sh"
suite=bookworm

build() {
  mmdebstrap --quiet --variant=minbase --format=directory --skip=cleanup/apt "$suite" "$1/$suite" http://deb.debian.org/debian
  rm -rf "$1/$suite/var/cache/apt/archives" "$1/$suite/var/lib/apt/lists"
}

missing=()
for tool in mmdebstrap lintian rpm; do
  command -v "$tool" >/dev/null || missing+=("$tool")
done
if ((${#missing[@]})); then
  apt-get -qq update
  DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends "${missing[@]}"
fi
once debian "$suite" build
