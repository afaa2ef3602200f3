#!/usr/bin/env bash
# estimates.sh GOLDEN NAME WORK SCALE...: NAME is a golden model; a layer moves along
# SCALE of a direction.
set -euo pipefail
here=$(dirname "$0")
golden=$1 name=$2 work=$3
shift 3
figures=$golden/gradients/$name
model=$golden/models/$name
directions=256
rm -rf "$work"
mkdir -p "$work"
compile() { # compile NAME HONEC-ARG...
  local name=$1
  shift
  honec "$here/../numerics/Inputs/lora.yaml" -o "$work/$name" \
    --set model="$model" --set train.compute_dtype=float64 \
    --set weights.dtype=float64 --set lora.dtype=float64 "$@"
}
compile exact
compile mezo --set train.method=mezo
compile one-sided --set train.method=mezo-one-sided
compile fgd --set train.method=fgd
compile many --set train.method=fgd --set train.directions=$directions
common=(--data "$figures/batch1.jsonl" --adapter "$figures/adapter")
list=()
estimate() { # estimate NAME PROGRAM [options]: one direction, and its coefficient
  local name=$1 program=$2
  shift 2
  "$work/$program/train" "${common[@]}" --dump-gradients "$work/$name.safetensors" "$@"
  "$work/$program/train" "${common[@]}" --output "$work/$name" --steps 1 \
    --shuffle false "$@" >"$work/out"
  list+=("$work/$name.safetensors" "$work/$name/replay.hone")
}
"$work/exact/train" "${common[@]}" --dump-gradients "$work/exact.safetensors"
"$work/many/train" "${common[@]}" --dump-gradients "$work/many.safetensors"
estimate forward fgd
for scale in 0.004 0.002 0.001; do
  estimate $scale mezo --perturbation-scale $scale
done
for scale in 0.0004 0.0002 0.0001; do
  estimate one-sided-$scale one-sided --perturbation-scale $scale
done
for scale; do
  compile scaled --set train.method=fgd \
    --set "train.direction_scales=[0=$scale]"
  "$work/scaled/train" "${common[@]}" \
    --dump-gradients "$work/scaled.safetensors"
  python3 "$here/scaled-estimate.py" "$work/exact.safetensors" \
    "$work/forward.safetensors" "$work/scaled.safetensors" $scale
done
python3 "$here/estimates.py" "$work/exact.safetensors" "$work/many.safetensors" \
  $directions "${list[@]}"
