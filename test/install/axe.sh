#!/usr/bin/env bash
# Puts axe-core, the checker of accessibility, into .cache/axe/axe.min.js. It is a file of a package, nothing of it is run here.
set -euo pipefail
# shellcheck source=once.sh
source "$(dirname "$0")/once.sh"
version=4.14.1

build() {
  local dir=$1
  if ! command -v npm >/dev/null; then
    apt-get -qq update
    DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends npm
  fi
  (cd "$dir" && npm pack --silent "axe-core@$version" >/dev/null && tar -xzf "axe-core-$version.tgz" package/axe.min.js package/LICENSE)
  mv "$dir/package/axe.min.js" "$dir/package/LICENSE" "$dir"
  rm -r "$dir/package" "$dir/axe-core-$version.tgz"
}
once axe "$version" build
