#!/usr/bin/env bash
# mezo-estimate.sh GOLDEN WORK
set -euo pipefail
here=$(dirname "$0")
golden=$1 work=$2
figures=$golden/gradients/llama-tiny
rm -rf "$work"
mkdir -p "$work"
for method in mezo backprop; do
  honec "$here/../numerics/Inputs/lora.yaml" -o "$work/$method" \
    --set model="$golden/models/llama-tiny" --set train.method=$method \
    --set train.compute_dtype=float64 --set weights.dtype=float64 \
    --set lora.dtype=float64
done
common=(--data "$figures/batch1.jsonl" --adapter "$figures/adapter")
"$work/backprop/train" "${common[@]}" --dump-gradients "$work/exact.safetensors"
list=()
for epsilon in 0.004 0.002 0.001; do
  "$work/mezo/train" "${common[@]}" --perturbation-scale $epsilon \
    --dump-gradients "$work/$epsilon.safetensors"
  "$work/mezo/train" "${common[@]}" --perturbation-scale $epsilon \
    --output "$work/run$epsilon" --steps 1 --shuffle false >"$work/out"
  list+=("$work/$epsilon.safetensors" $epsilon "$work/run$epsilon/replay.hone")
done
python3 "$here/mezo-estimate.py" "$work/exact.safetensors" "${list[@]}"
