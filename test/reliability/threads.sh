#!/usr/bin/env bash
# threads.sh TRAIN DATA [options of TRAIN ...]
#
# Trains with 1, 2 and 3 threads. The adapter and the losses must be the same,
# bit for bit. EMULATOR, if set, is the command that runs TRAIN.
set -euo pipefail

source "$(dirname "$0")/equal.sh"

train=$1 data=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for threads in 1 2 3; do
  ${EMULATOR-} "$train" --data "$data" --output "$work/$threads" --threads "$threads" \
    --log "$work/$threads.jsonl" "$@" >"$work/out" 2>&1 || {
    cat "$work/out" >&2
    exit 1
  }
  {
    result_of "$work/$threads"
    losses "$work/$threads.jsonl"
  } >"$work/digest$threads"
  cmp "$work/digest1" "$work/digest$threads" || {
    echo "threads: $threads threads change the bits" >&2
    exit 1
  }
done
echo "threads: same bits with 1, 2 and 3"
