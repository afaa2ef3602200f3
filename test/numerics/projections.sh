#!/usr/bin/env bash
# projections.sh GOLDEN NAME DTYPE R ALPHA WORK HONEC-ARG...: compiles a golden
# model whose adapter and gradients are not kept as files, makes the adapter and
# compares each batch's gradients with their float64 projections.
set -euo pipefail
golden=$1 name=$2 dtype=$3 r=$4 alpha=$5 work=$6
shift 6

rm -rf "$work"
mkdir -p "$work"
honec "$(dirname "$0")/Inputs/lora.yaml" -o "$work/out" "$@" \
  --set model="$golden/models/$name" --set train.compute_dtype="$dtype" \
  --set weights.dtype="$dtype" --set lora.dtype="$dtype" \
  --set lora.r="$r" --set lora.lora_alpha="$alpha"
for data in "$golden/gradients/$name"/*.jsonl; do
  batch=$(basename "$data" .jsonl)
  "$work/out/train" --data "$data" --dump-gradients "$work/names.safetensors"
  hash-adapter "$work/names.safetensors" "$work/adapter" "$r" "$alpha" random
  "$work/out/train" --data "$data" --adapter "$work/adapter" \
    --dump-gradients "$work/$batch.safetensors"
  compare-gradients "$work/$batch.safetensors" \
    "$golden/gradients/$name/figures.json" "$batch"
done
