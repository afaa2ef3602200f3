#!/usr/bin/env bash
# grpc-middle.sh
#
# Three programs over gRPC, with keys, of which the one in the middle meets both
# others, and whose messages are longer than frames, both ways. Each takes at
# most its plan, of which at most 16 MiB are for exchanges.
set -euo pipefail

work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
. "$(dirname "$0")/programs.sh"
seed=1 HONE_RELAY=
wide_states 3
cat >"$work/spec.yaml" <<SPEC
model: $work/model
weights: {dtype: float32}
train: {batch_size: 64, max_seq_length: 27, learning_rate: 1e-4}
parts:
  lower: {layers: 0-0, method: backprop, program: client}
  middle: {layers: 1-1, method: backprop, program: middle}
  upper: {method: backprop, program: server}
target: native
SPEC
quietly honec "$work/spec.yaml" -o "$work/local3"
cp -r "$work/local3" "$work/grpc3"
read -r -a programs < <(names 3)
data=$work/data.jsonl steps=3 patience=60 own=()

# meet RUN: over the engine that is chosen.
meet() {
  start_engine
  for program in "${programs[@]}"; do bring "$program" "$1"; done
  together "$1"
}
meet local3
. "$here/over-grpc.sh"
meet grpc3
for program in "${programs[@]}"; do
  takes "$program" "$work/grpc3.$program.log" "$work/local3.$program.log"
done
