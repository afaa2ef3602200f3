#!/usr/bin/env bash
# kill-resume.sh TRAIN DATA KILLS [options of TRAIN ...]
#
# Trains once without interruption, then again with KILLS kills (-9) at random
# moments and a restart after each. Both must end with the same adapter and
# the same losses, bit for bit. Choose options for a run of some seconds.
# SEED=N repeats the same moments.
set -euo pipefail

source "$(dirname "$0")/equal.sh"

train=$1 data=$2 kills=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
RANDOM=${SEED:-$$}

run() { # run NAME [options]: one process that trains into $work/NAME
  local name=$1
  shift
  exec "$train" --data "$data" --output "$work/$name" \
    --log "$work/$name.jsonl" "$@" >>"$work/$name.out" 2>&1
}

fail() {
  echo "kill-resume: $1" >&2
  tail -n 20 "$work"/*.out >&2
  exit 1
}

started=$(date +%s%N)
(run whole "$@") || fail "the uninterrupted run failed"
milliseconds=$((($(date +%s%N) - started) / 1000000))

done_kills=0
attempts=0
while ((done_kills < kills)); do
  ((++attempts <= kills * 20)) ||
    fail "the run is too short to be killed $kills times"
  run killed "$@" &
  pid=$!
  wait_ms=$((RANDOM * RANDOM % (milliseconds + 1)))
  sleep "$(printf '%d.%03d' $((wait_ms / 1000)) $((wait_ms % 1000)))"
  if kill -9 "$pid" 2>/dev/null; then
    done_kills=$((done_kills + 1))
  fi
  status=0
  wait "$pid" 2>/dev/null || status=$?
  if ((status == 0)); then
    # It ended before the kill: begin a new one, so that all kills count.
    [[ $(digest_of "$work/whole") == $(digest_of "$work/killed") ]] || fail "bits differ"
    rm -rf "$work/killed" "$work/killed.jsonl"
  elif ((status != 137)); then
    fail "a restart exited with $status"
  fi
done
(run killed "$@") || fail "the last restart failed"

[[ $(digest_of "$work/whole") == $(digest_of "$work/killed") ]] ||
  fail "the adapter or the losses differ after $kills kills"
resumed=$(grep -c '^resuming' "$work/killed.out" || true)
echo "kill-resume: same bits after $done_kills kills, $resumed resumptions"
