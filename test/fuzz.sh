#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other, for the given time or number of inputs each: fuzz.sh 10s, fuzz.sh 5000x
# A package is built once for all its targets; go test would link it again for each.
set -euo pipefail
time=${1:?usage: fuzz.sh TIME|COUNTx}
cd "$(dirname "$0")/.."
root=$PWD
binary=$(mktemp)
trap 'rm -f "$binary"' EXIT

count=0 built=
while IFS=: read -r file target; do
  count=$((count + 1))
  package=${file%/*}
  if [[ $package != "$built" ]]; then
    go test -c -fuzz Fuzz -o "$binary" "./$package"
    built=$package
  fi
  echo "--- $target in $package"
  # In the folder of the package, where go test runs it too: an input that fails is written to its testdata.
  (cd "$package" && "$binary" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$time" -test.fuzzminimizetime 10x \
    -test.fuzzcachedir "$root/.cache/fuzz/$package")
done < <(git grep --untracked --only-matching --extended-regexp '^func Fuzz\w+' -- '*_test.go' | sed 's/:func /:/')
((count)) || { echo "no fuzz target found" >&2; exit 1; }
echo "$count fuzz targets, $time each"
