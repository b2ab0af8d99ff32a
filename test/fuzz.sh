#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other, for the given time or number of inputs each: fuzz.sh 10s, fuzz.sh 5000x
# go test takes one target of one package at a time.
set -euo pipefail
time=${1:?usage: fuzz.sh TIME|COUNTx}
cd "$(dirname "$0")/.."

count=0
while IFS=: read -r file target; do
  count=$((count + 1))
  echo "--- $target in ${file%/*}"
  go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x "./${file%/*}"
done < <(git grep --untracked --only-matching --extended-regexp '^func Fuzz\w+' -- '*_test.go' | sed 's/:func /:/')
((count)) || { echo "no fuzz target found" >&2; exit 1; }
echo "$count fuzz targets, $time each"
