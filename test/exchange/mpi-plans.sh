#!/usr/bin/env bash
# mpi-plans.sh COUNT...
#
# So many programs that mpirun started, one of each layer, with hidden states of
# 64 x 27 tokens and 768 features between them, take at most their plans, of
# which at most 4 MiB are for exchanges: over memory that they share, and over
# TCP.
set -euo pipefail

. "$(dirname "$0")/plans.sh"

# parts COUNT: of the spec.
parts() {
  local i
  echo '  part1: {layers: 0-0, method: mezo, directions: 1, program: part1}'
  for ((i = 2; i < $1; ++i)); do
    echo "  part$i: {layers: $((i - 1))-$((i - 1)), method: fgd, program: part$i}"
  done
  echo "  part$1: {method: backprop, program: part$1}"
}

for count in "$@"; do
  wide_states "$count"
  cat >"$work/spec.yaml" <<SPEC
model: $work/model
weights: {dtype: float32}
train: {batch_size: 64, max_seq_length: 27, learning_rate: 1e-4}
parts:
$(parts "$count")
target: native
SPEC
  rm -rf "$work"/out "$work"/*.run
  quietly honec "$work/spec.yaml" -o "$work/out"
  for way in vader tcp; do
    own=(--data "$work/data.jsonl" --steps 2) line=()
    for ((i = 1; i <= count; ++i)); do
      line+=(: -np 1 bash -c 'exec "$@" >"$0" 2>&1' "$work/$i.log" "$work/out/part$i/train" --exchange mpi
        --timeout 60 --threads 1 --output "$work/$way$i.run" "${own[@]}")
      own=()
    done
    over $way "${line[@]:1}" >"$work/log" 2>&1 ||
      { tail -n 20 "$work/log" "$work"/*.log >&2; exit 1; }
    for ((i = 1; i <= count; ++i)); do
      fits "$work/$i.log" 4
    done
  done
  first_planned "$work/1.log" "$count programs"
done
