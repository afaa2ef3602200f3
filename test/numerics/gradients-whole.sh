#!/usr/bin/env bash
# gradients-whole.sh GOLDEN NAME DTYPE RESIDUALS WORK [HONEC-ARG...]: compiles a
# golden model all of whose parameters train, and compares their gradients with
# the float64 references.
set -euo pipefail
golden=$1 name=$2 dtype=$3 residuals=$4 work=$5
shift 5
figures=$golden/gradients/$name

rm -rf "$work"
mkdir -p "$work"
honec "$(dirname "$0")/Inputs/lora.yaml" -o "$work/out" --set lora=none \
  --set model="$golden/models/$name" --set train.compute_dtype="$dtype" \
  --set weights.dtype="$dtype" --set train.residuals="$residuals" "$@"
"$work/out/train" --data "$figures/batch3.jsonl" \
  --dump-gradients "$work/full.safetensors"
reference=$figures/full.safetensors # of the others there are projections
[[ -e $reference ]] || reference=
compare-gradients "$work/full.safetensors" "$figures/figures.json" full $reference
