#!/usr/bin/env bash
# rank-plans.sh COUNT...
#
# So many ranks that share the batches of a step of 21 MB of gradients take at
# most their plans, of which up to nine have at most 4 MiB for exchanges: over
# memory that they share, and over TCP. The first one takes no more in addition
# to a program alone, except half a MiB, by which MPI's own memory differs.
set -euo pipefail

. "$(dirname "$0")/plans.sh"
peak() { sed -n 's/^peak .*(\([0-9]*\) of .*/\1/p' "$1"; }

wide_states 2
for count in "$@"; do
  cat >"$work/spec.yaml" <<SPEC
model: $work/model
weights: {dtype: float32}
lora: none
train: {batch_size: 8, max_seq_length: 27, learning_rate: 1e-4, data_parallel: true,
        gradient_accumulation_steps: $count}
target: native
SPEC
  rm -rf "$work"/out "$work"/*.run
  quietly honec "$work/spec.yaml" -o "$work/out"
  each=("$work/out/train" --data "$work/data.jsonl" --threads 1 --timeout 60 --steps 2)
  quietly "${each[@]}" --output "$work/alone.run"
  alone=$(peak "$work/log")
  for way in vader tcp; do
    over $way -np "$count" "${each[@]}" --output "$work/$way.run" >"$work/$way.log" 2>&1 || { tail -n 20 "$work/$way.log" >&2; exit 1; }
    fits "$work/$way.log" $((count > 9 ? 64 : 4))
    awk -v more=$(($(peak "$work/$way.log") - alone)) -v way=$way '$1 == "exchange" {
      if (more > ($2 + 0.5) * 1048576) {
        printf "rank-plans: %.2f MiB more than alone over %s, of %s planned\n", more / 1048576, way, $2
        exit 1
      }
    }' "$work/$way.log" >&2
  done
  first_planned "$work/tcp.log" "$count ranks"
done
