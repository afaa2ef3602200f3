#!/usr/bin/env bash
# selections.sh GOLDEN WORK: all parameters of a model with three layers and a tied
# head train, the layers by selections that leave the others out of the update.
set -euo pipefail
golden=$1 work=$2
here=$(dirname "${BASH_SOURCE[0]}")
methods=$here/../methods
model=$golden/models/qwen2-tiny data=$golden/gradients/qwen2-tiny/batch3.jsonl
compile() { # compile NAME [KEY=VALUE...]
  local name=$1
  shift
  honec "$here/Inputs/whole.yaml" -o "$work/$name" --set model="$model" \
    --set train.residuals=mesp --set train.lr_scheduler_type=constant "${@/#/--set=}"
}
selected() { # selected NAME [KEY=VALUE...]
  compile "$1" train.method=lcsb "${@:2}"
}

# All layers, selected by any rule, are the plain run.
compile plain
"$work/plain/train" --data "$data" --epochs 6 --output "$work/plain-run" >"$work/out"
for selection in lisa freeze; do
  selected all train.selection=$selection train.selection_ratio=1 train.unselected=exact
  "$work/all/train" --data "$data" --epochs 6 --output "$work/all-run" >"$work/out"
  cmp "$work/plain-run/model.safetensors" "$work/all-run/model.safetensors"
  rm -r "$work/all-run"
done
echo "all layers: the plain run's bits"

selected lisa train.selection=lisa train.selection_period=1 train.selection_ratio=0.34
selected badam train.selection=badam train.selection_period=2
selected freeze train.selection=freeze train.unselected=exact
selected backward train.selection=lisa train.selection_period=1 \
  train.selection_ratio=0.34 train.optimizer_in_backward=true
selected sgd train.selection=lisa train.selection_period=1 train.optimizer=sgd
for some in lisa badam freeze backward sgd; do
  echo "$some: $(bash "$here/../reliability/threads.sh" \
    "$work/$some/train" "$data" --epochs 6)"
done
echo "badam: $(bash "$here/../reliability/kill-resume.sh" \
  "$work/badam/train" "$data" 3 --epochs 300 --save-every 20)"

# The moving layers, and their updates: the plain program has the exact
# gradients before each step.
for some in lisa badam; do
  folder=$work/$some-steps
  mkdir -p "$folder"
  for step in 0 1 2 3 4 5 6 7; do
    more=(--steps "$step")
    ((step > 0)) || more=(--steps 1 --learning-rate 0)
    "$work/$some/train" --data "$data" --output "$folder/$step" "${more[@]}" >"$work/out"
    "$work/plain/train" --data "$data" --adapter "$folder/$step" \
      --dump-gradients "$folder/$step.safetensors" >"$work/out"
  done
  echo "$some: $(python3 "$methods/selected-updates.py" "$some" 1e-3 "$folder" 7)"
done
