#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other, for the given time each: fuzz.sh 10s
# go test takes one target of one package at a time.
set -euo pipefail
time=${1:?usage: fuzz.sh TIME}

while read -r package; do
  targets=$(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true)
  for target in $targets; do
    echo "${package##*/} $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package"
  done
done < <(grep -rl --include='*_test.go' --exclude-dir='.*' '^func Fuzz' . | xargs -r dirname | sort -u)
