#!/usr/bin/env bash
# signals.sh TRAIN DATA [options of TRAIN ...]
#
# Each signal that would end a process: the step is finished and saved, the
# exit code is 128 + its number, nothing half-written is left, and the next run
# ends with the bits of an uninterrupted one. A closed pipe stops nothing, nor do
# closed standard descriptors, into which no file falls; a limit on file size is
# an error with an exit code. Choose options for a run of a second or more.
set -euo pipefail

train=$1 data=$2
shift 2
options=("$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "signals: $1" >&2
  tail -n 20 "$work"/out >&2
  exit 1
}

left() { find "$1" -name '*.tmp-*' | wc -l; }

"$train" --data "$data" --output "$work/whole" "${options[@]}" >"$work/out" ||
  fail "the uninterrupted run failed"
same() {
  cmp "$work/whole/adapter_model.safetensors" \
    "$work/$1/adapter_model.safetensors" || fail "$1: the bits differ"
}

signals=(HUP INT QUIT USR1 USR2 ALRM TERM VTALRM PROF XCPU IO PWR STKFLT RTMIN)
# stop SIGNAL: begins a run and sends the signal after its first line of steps.
# This script may be under nohup, whose SIGHUP a run ignores, too.
stop() {
  : >"$work/out"
  env --default-signal=HUP "$train" --data "$data" --output "$work/$1" \
    "${options[@]}" >>"$work/out" 2>&1 &
  pid=$!
  until grep -q '^step' "$work/out" || ! kill -0 "$pid" 2>/dev/null; do
    sleep 0.01
  done
  status=0
  kill "-$1" "$pid" 2>/dev/null || true
  wait "$pid" || status=$?
}

for signal in "${signals[@]}"; do
  # A busy machine may let a run end before this script is heard.
  for attempt in {1..20}; do
    rm -rf "${work:?}/$signal"
    stop "$signal"
    ((status == 0)) || break
  done
  ((status == 128 + $(kill -l "$signal"))) ||
    fail "$signal: expects exit code 128 + its number but got $status"
  (($(left "$work/$signal") == 0)) || fail "$signal: temporaries are left"
  "$train" --data "$data" --output "$work/$signal" "${options[@]}" \
    >"$work/out" 2>&1 || fail "$signal: the next run failed"
  same "$signal"
done

# Nobody reads its output.
"$train" --data "$data" --output "$work/pipe" "${options[@]}" 2>"$work/out" |
  head -n 1 >"$work/head" || fail "a closed pipe stopped the run"
same pipe
"$train" --help | head -n 1 >"$work/head" || fail "--help into a closed pipe"

# The first opened file would be standard output.
"$train" --data "$data" --output "$work/closed" --log "$work/log" \
  "${options[@]}" <&- >&- 2>&- || fail "closed descriptors stopped the run"
same closed
[[ $(tr -d '0-9a-f' <"$work/closed/lock" | wc -c) == 1 ]] &&
  [[ -z $(grep -v '^{"step"' "$work/log") ]] ||
  fail "what was printed went into a file"

# Too small for the cache, then for a checkpoint.
for blocks in 1 20; do
  status=0
  (ulimit -f $blocks && exec "$train" --data "$data" \
    --output "$work/size$blocks" "${options[@]}" >"$work/head" 2>"$work/out") ||
    status=$?
  ((status == 74)) || fail "$blocks KiB a file: got exit code $status"
  grep -q 'help: raise the limit on file size' "$work/out" ||
    fail "$blocks KiB a file: the message does not help"
  [[ ! -e $work/size$blocks ]] || (($(left "$work/size$blocks") == 0)) ||
    fail "$blocks KiB a file: temporaries are left"
done
[[ ! -e $work/size1 ]] || fail "a run that wrote nothing left a folder"

echo "signals: ${#signals[@]} of them, closed pipes and descriptors, and a limit" \
  "on file size"
