# shellcheck shell=bash disable=SC2154 # given: the folder of this file
# What a page is followed with: sourced before its blocks, in an empty network of its own, where every port is free.
set -Eeuo pipefail
declare -A running=()
at='before the first block'
trap 'printf "\nNOT FOLLOWED: %s: %s\n" "$at" "$BASH_COMMAND" >&2' ERR

# background URL COMMAND starts a daemon and returns once URL answers; file:NAME waits for a file that is not empty, and - for nothing.
background() {
  local url=$1 command=$2 pid=${running[$1]:-} attempt
  if [[ -n $pid ]]; then
    kill -- "-$pid"
    while kill -0 -- "-$pid" 2>/dev/null; do sleep 0.1; done
  fi
  setsid bash -c "$command" &
  running[$url]=$!
  for ((attempt = 0; attempt < 3000; attempt++)); do
    case $url in
    -) return ;;
    file:*) [[ ! -s ${url#file:} ]] || return 0 ;;
    *) ! curl -sf "$url" >/dev/null 2>&1 || { settle "$url"; return 0; } ;;
    esac
    if ! kill -0 "${running[$url]}" 2>/dev/null; then
      echo "ended before it was ready: $command" >&2
      return 1
    fi
    sleep 0.1
  done
  echo "not ready within five minutes: $command" >&2
  return 1
}

# settle gives an exporter the moment that a reader needs to get to another terminal: until a request has succeeded, ten seconds at most.
settle() {
  local page=${1%/-/ready}/metrics attempt
  [[ $1 == *:9749/-/ready ]] || return 0
  for ((attempt = 0; attempt < 20; attempt++)); do
    ! curl -s "$page" | grep -E '^aiperf_requests_total.*"success".* [1-9]' >/dev/null || return 0
    sleep 0.5
  done
}

# server is an inference server on the port that the pages ask, with vLLM's metrics; it answers for every model.
server() {
  background http://127.0.0.1:8000/health "truthserver -listen 127.0.0.1:8000 -ttft=20ms -itl=2ms $*"
}

# configuration NAME lays down one that asks it ten times a second.
configuration() { cp "$given/aiperf-exporter.yml" "$1"; }

# capture FILE lets it keep what fails, and fetches the first of that.
capture() {
  local id='' url=http://127.0.0.1:9749
  echo 'debug: {capture: {enabled: true}}' >>canary.yml
  background "$url/-/ready" 'aiperf-exporter --config.file=canary.yml --web.enable-admin-api'
  until [[ -n $id ]]; do
    sleep 0.2
    id=$(curl -s "$url/api/v1/captures" | jq -r '.data[0].id // empty')
  done
  curl -s "$url/api/v1/captures/$id" >"$1"
}

# exits CODE COMMAND... runs a command that has to end like that.
exits() {
  local want=$1 got=0
  shift
  "$@" || got=$?
  [[ $got == "$want" ]] || { echo "exit code $got, not $want" >&2; return 1; }
}

# measured COMMAND... runs a one-shot. That it misses an SLO, exit code 3, is the fault of a busy machine and not of the page.
measured() {
  local code=0
  "$@" || code=$?
  ((code == 0 || code == 3)) || return "$code"
}
