#!/usr/bin/env bash
# clock.sh TRAIN DATA [options of TRAIN ...]
#
# The wall clock is set back and forth while a run is under way, and by a year
# between its kill and its resumption, where checkpoints seem to come from the
# future: same bits, no absurd rate or time, nothing waits. That the check of
# rates can fail is shown with a monotonic clock that jumps. TRAIN must be
# dynamically linked. Choose options for a run of a second or more.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
source "$here/equal.sh"
train=$1 data=$2
shift 2
options=("$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -shared -fPIC -O1 "$here/StepClock.c" -o "$work/clock.so"

run() { # run NAME
  exec "$train" --data "$data" --output "$work/$1" \
    --log "$work/$1.jsonl" "${options[@]}" >>"$work/out" 2>&1
}
jumping() { LD_PRELOAD=$work/clock.so run "$@"; }
fail() {
  echo "clock: $1" >&2
  tail -n 5 "$work/out" >&2
  exit 1
}
# Between 10 and 1e9 tokens a second; nothing left takes an hour.
absurd() { # absurd NAME
  grep -qE 'eta [0-9]+h| -[0-9.]+ (tok|s)' "$work/out" ||
    awk -F'"tokens_per_second": ' 'NF > 1 && ($2 + 0 < 10 || $2 + 0 > 1e9) {
      found = 1 } END { exit !found }' "$work/$1.jsonl"
}

: >"$work/out"
(run whole) || fail "the undisturbed run failed"
! absurd whole || fail "the undisturbed run is absurd"

: >"$work/out"
jumping run &
pid=$!
until [[ -n $(compgen -G "$work/run/checkpoint-??????") ]]; do
  kill -0 "$pid" 2>/dev/null || fail "ended before it was killed"
  sleep 0.01
done
kill -9 "$pid"
wait "$pid" 2>/dev/null || true
find "$work/run" -exec touch -d '+1 year' {} +
export HONE_CLOCK=-31536000
(jumping run) || fail "the run did not resume a year earlier"
grep -q '^resuming' "$work/out" || fail "the run was not killed midway"
! absurd run || fail "a rate or a time is absurd"
cmp "$work"/{whole,run}/adapter_model.safetensors || fail "the bits differ"
cmp <(losses "$work/whole.jsonl") <(losses "$work/run.jsonl") ||
  fail "the losses differ"

(HONE_CLOCK_ALL=1 jumping all) || fail "a run without any clock failed"
absurd all || fail "absurd rates would not be seen"
echo "clock: set while running and by a year before a resumption, same bits"
