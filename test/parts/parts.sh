#!/usr/bin/env bash
# parts.sh MODEL LAYERS DATA [COMPUTE-DTYPE]
#
# Trains and evaluates MODEL whole, cut after each of its LAYERS, and cut with
# two batches in flight when evaluating: clipping, AdamW, accumulation and a
# rounded adapter included. Losses and adapter must be the same, bit for bit.
set -euo pipefail

source "$(dirname "$0")/../reliability/equal.sh"

model=$1 layers=$2 data=$3 compute=${4-float32}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/spec.yaml" <<SPEC
model: $model
lora: {r: 4, lora_alpha: 8, target_modules: all-linear, dtype: bfloat16}
train: {compute_dtype: $compute, residuals: full, optimizer: adamw, max_grad_norm: 0.5,
        learning_rate: 1e-2, batch_size: 2, max_seq_length: 32}
SPEC

# digest NAME [options of honec]: the bits of a run and of an evaluation.
digest() {
  local name=$1
  shift
  honec "$work/spec.yaml" -o "$work/$name" "$@" >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; return 1; }
  "$work/$name/train" --data "$data" --eval-data "$data" --steps 4 \
    --gradient-accumulation-steps 2 --eval-every 2 --output "$work/$name.run" \
    --log "$work/$name.jsonl" >"$work/log" 2>&1 || { cat "$work/log" >&2; return 1; }
  sha256sum <"$work/$name.run/adapter_model.safetensors"
  losses "$work/$name.jsonl"
}

digest whole >"$work/whole.digest"
for after in $(seq 0 $((layers - 1))); do
  digest "cut$after" --step-options="split-after=$after" >"$work/cut.digest"
  cmp "$work/whole.digest" "$work/cut.digest" || {
    echo "parts: a cut after layer $after changes the bits" >&2
    exit 1
  }
done
digest pipeline --step-options="split-after=1 in-flight=2" >"$work/cut.digest"
cmp "$work/whole.digest" "$work/cut.digest" || {
  echo "parts: two batches in flight change the bits" >&2
  exit 1
}
echo "parts: same bits whole, cut after each of $layers layers, and in a pipeline"
