#!/usr/bin/env bash
# moved.sh TRAIN DATA [options of TRAIN ...]
#
# The folder of a run is moved away while the run stands still, and another run
# begins one in its place: the first may not save into the folder of the second.
set -euo pipefail

train=$1 data=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "moved: $1" >&2
  tail -n 20 "$work"/*.out >&2
  exit 1
}

"$train" --data "$data" --output "$work/run" --steps 1000000000 --save-every 0 \
  "$@" >"$work/first.out" 2>&1 &
first=$!
until grep -q '^step' "$work/first.out"; do
  kill -0 "$first" 2>/dev/null || fail "the first run ended"
  sleep 0.01
done
kill -STOP "$first"
mv "$work/run" "$work/elsewhere"
"$train" --data "$data" --output "$work/run" --steps 2 "$@" >"$work/second.out" 2>&1 ||
  fail "the second run failed"
sha256sum "$work"/run/checkpoint-*/state.safetensors "$work"/run/adapter_model.safetensors >"$work/sums"
kill -TERM "$first" # which saves
kill -CONT "$first"
status=0
wait "$first" || status=$?
grep -o '^error.*' "$work/first.out" | sed "s|$work/||"
echo "the first ended with $status"
sha256sum --quiet -c "$work/sums" || fail "the run has files of another"
echo "the second is as it was: $(cd "$work/run" && echo checkpoint-*)"
