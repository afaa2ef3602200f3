#!/usr/bin/env bash
# gradients.sh GOLDEN NAME DTYPE RESIDUALS WORK HONEC-ARG...: compiles a golden
# model and compares both batches' gradients with the float64 references.
# EMULATOR, if set, is the command that runs programs of another machine; METHOD
# says of which method the references are, as in batch1.METHOD; default: backprop.
# ADAPTER is of a model that is not trained as the figures' own adapter says.
set -euo pipefail
golden=$1 name=$2 dtype=$3 residuals=$4 work=$5
shift 5
figures=$golden/gradients/$name
method=${METHOD:+.$METHOD}

rm -rf "$work"
mkdir -p "$work"
honec "$(dirname "$0")/Inputs/lora.yaml" -o "$work/out" "$@" \
  --set train.compute_dtype="$dtype" --set weights.dtype="$dtype" \
  --set lora.dtype="$dtype" --set train.residuals="$residuals"
for batch in batch1 batch3; do
  ${EMULATOR-} "$work/out/train" --data "$figures/$batch.jsonl" \
    --adapter "${ADAPTER-$figures/adapter}" --dump-gradients "$work/$batch.safetensors"
  compare-gradients "$work/$batch.safetensors" "$figures/figures.json" \
    "$batch$method" "$figures/$batch$method.safetensors"
done
