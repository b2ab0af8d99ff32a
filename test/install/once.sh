# shellcheck shell=bash
# Sourced by the install scripts of this folder. What they install lies under .cache/, which git ignores.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=$root/.cache

# once NAME VERSION BUILD runs the function BUILD with the folder .cache/NAME, unless VERSION is installed there already.
# The version is written last, so an aborted install counts as none; a lock makes a second installer wait for the first.
once() {
  local name=$1 version=$2 build=$3 dir=$cache/$1 lock
  mkdir -p "$cache"
  exec {lock}>"$cache/$name.lock"
  flock "$lock"
  if [[ $(cat "$dir/.version" 2>/dev/null) != "$version" ]]; then
    echo "installing $name $version into $dir" >&2
    rm -rf "$dir"
    mkdir -p "$dir"
    "$build" "$dir"
    echo "$version" >"$dir/.version"
  fi
  exec {lock}>&-
}

# venv DIR PACKAGE... makes a Python environment in DIR that holds the packages.
venv() {
  local dir=$1
  shift
  python3 -m venv "$dir"
  "$dir/bin/pip" install --quiet --disable-pip-version-check "$@"
}
