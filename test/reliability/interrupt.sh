#!/usr/bin/env bash
# interrupt.sh TRAIN DATA [options of TRAIN ...]
#
# SIGINT and SIGTERM: the step is finished and saved, the exit code is 130 or
# 143, an adapter is there, and the restarted run ends with the bits of an
# uninterrupted one. Choose options for a run of a second or more.
set -euo pipefail

train=$1 data=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "interrupt: $1" >&2
  tail -n 20 "$work"/out >&2
  exit 1
}

# run NAME [options]: becomes the training process.
run() {
  local name=$1
  shift
  exec "$train" --data "$data" --output "$work/$name" "$@" >>"$work/out" 2>&1
}

# interrupted NAME CODE KILL...: runs until step 1 is printed, sends each
# signal, and expects the exit code.
interrupted() {
  local name=$1 code=$2 status=0
  shift 2
  : >"$work/out"
  run "$name" "${options[@]}" &
  local pid=$!
  until grep -q '^step' "$work/out"; do
    kill -0 "$pid" 2>/dev/null || fail "the run ended before it was stopped"
    sleep 0.01
  done
  for signal in "$@"; do
    kill "-$signal" "$pid" 2>/dev/null || true
  done
  wait "$pid" || status=$?
  ((status == code)) || fail "expects exit code $code but got $status"
}

options=("$@")
(run whole "${options[@]}") || fail "the uninterrupted run failed"

interrupted stopped 130 INT
grep -q 'the same command resumes' "$work/out" || fail "the run was not saved"
[[ -f $work/stopped/adapter_model.safetensors ]] || fail "there is no adapter"
[[ -n $(ls -d "$work"/stopped/checkpoint-*) ]] || fail "there is no checkpoint"
interrupted stopped 143 TERM
(run stopped "${options[@]}") || fail "the restart failed"
cmp "$work/whole/adapter_model.safetensors" \
  "$work/stopped/adapter_model.safetensors" || fail "the bits differ"

echo "interrupt: exit codes 130 and 143, and the same bits after them"
