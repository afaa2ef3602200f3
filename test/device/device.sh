#!/usr/bin/env bash
# device.sh MODEL DATA
#
# Trains MODEL on the host and on a device whose memory the host cannot see:
# every loss, checkpoint, adapter and gradient must be the same, bit for bit,
# also when a run goes on from the other device's checkpoint.
set -euo pipefail

model=$1 data=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
steps=4

# build NAME TRAIN [options of honec]: NAME.so and NAME/ with its weights.
build() {
  local name=$1
  cat >"$work/spec.yaml" <<SPEC
model: $model
lora: {r: 4, lora_alpha: 8, target_modules: all-linear, dtype: bfloat16}
train: {optimizer: adamw, learning_rate: 1e-2, batch_size: 2,
        max_seq_length: 32, $2}
SPEC
  shift 2
  honec "$work/spec.yaml" -o "$work/$name.o" --emit=object "$@" >/dev/null
  c++ -shared -o "$work/$name.so" "$work/$name.o"
  honec "$work/spec.yaml" -o "$work/$name" "$@" >/dev/null
}

# on DEVICE NAME FOLDER LAST: prints its output.
on() {
  mkdir -p "$work/$3"
  train-on "$1" "$work/$2.so" "$work/$2/weights.hone.safetensors" "$data" \
    "$work/$3" "$4" $steps
}

# same NAME: on both devices, and resumed with either's checkpoint.
same() {
  local name=$1 folder
  on host "$name" "$name.host" $steps >"$work/host.out"
  on guarded "$name" "$name.guarded" $steps >"$work/guarded.out"
  cmp "$work/host.out" "$work/guarded.out"
  on guarded "$name" "$name.back" 2 >/dev/null
  on host "$name" "$name.back" $steps >/dev/null
  on host "$name" "$name.forth" 2 >/dev/null
  on guarded "$name" "$name.forth" $steps >/dev/null
  for folder in guarded back forth; do
    for file in checkpoint-00000$steps/state.safetensors \
      adapter_model.safetensors gradients.safetensors; do
      cmp "$work/$name.host/$file" "$work/$name.$folder/$file"
    done
  done
  echo "same bits on both devices: $name"
}

build accumulation \
  'residuals: mesp, max_grad_norm: 0.5, gradient_accumulation_steps: 2'
same accumulation
build layers 'residuals: mesp, optimizer_in_backward: true, max_grad_norm: 0'
same layers
build pipeline 'residuals: full, max_grad_norm: 0.5' \
  --step-options="split-after=1 in-flight=2"
same pipeline
