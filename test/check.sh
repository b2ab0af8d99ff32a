#!/usr/bin/env bash
# Checks what is neither compiled nor unit-tested: that the shipped configurations load, the rules are valid, the module files
# are tidy, and the generated files are those that the source generates.
set -euo pipefail
cd "$(dirname "$0")/.."
shopt -s nullglob globstar
test/install/prometheus.sh
promtool=.cache/prometheus/bin/promtool

go mod tidy -diff
go mod verify

examples=(examples/*.yml)
for example in "${examples[@]}"; do bin/aiperf-exporter check config "$example"; done

rules=(alerts/rules/*.yml)
if ((${#rules[@]})); then "$promtool" check rules "${rules[@]}"; fi
tests=(alerts/tests/*.yml)
if ((${#tests[@]})); then "$promtool" test rules "${tests[@]}"; fi

# A copy is generated, so that the working tree is not touched; whatever differs from it was not generated again.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files --cached --others --exclude-standard -z | xargs -0 cp --parents --target-directory "$copy"
(cd "$copy" && go generate ./...)
git ls-files --cached --others --exclude-standard | while read -r file; do
  cmp "$file" "$copy/$file" || { echo "$file is not up to date: run make gen" >&2; exit 1; }
done
echo "checked: ${#examples[@]} examples, ${#rules[@]} rule files, ${#tests[@]} rule tests"
