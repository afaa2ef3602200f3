#!/usr/bin/env bash
# stop-at-each.sh MODEL DATA
#
# A step of two layers stops at each of its launches, by each method, and goes on
# with the bits of one that never stopped.
set -euo pipefail

model=$1 data=$2
work=$(mktemp -d -p "$([[ -w /dev/shm ]] && echo /dev/shm || echo "${TMPDIR:-/tmp}")")
trap 'rm -rf "$work"' EXIT

# stops NAME TRAIN [options of honec]
stops() {
  local name=$1
  cat >"$work/spec.yaml" <<SPEC
model: $model
lora: {r: 4, lora_alpha: 8, target_modules: all-linear}
train: {learning_rate: 1e-2, batch_size: 2, max_seq_length: 32, $2}
SPEC
  shift 2
  honec "$work/spec.yaml" -o "$work/module.o" --emit=object "$@" >/dev/null
  c++ -shared -o "$work/$name.so" "$work/module.o"
  [[ -d $work/weights ]] || honec "$work/spec.yaml" -o "$work/weights" "$@" >/dev/null
  echo "$name: $(stop-at-each "$work/$name.so" "$work/weights/weights.hone.safetensors" \
    "$data" "$work" 3)"
}

stops mesp 'residuals: mesp, optimizer: adamw, max_grad_norm: 0.5, gradient_accumulation_steps: 2'
stops tiles 'residuals: full, optimizer: sgd, max_grad_norm: 0'
stops offloaded 'residuals: mesp, optimizer: adamw, max_grad_norm: 0.5, gradient_accumulation_steps: 2, activation_offloading: true'
stops in-backward 'residuals: mesp, optimizer: adamw, optimizer_in_backward: true, max_grad_norm: 0, activation_offloading: true' \
  --set weights.streaming=true
stops pipeline 'residuals: full, max_grad_norm: 0.5, gradient_accumulation_steps: 3' \
  --step-options="split-after=1 in-flight=2"
stops mezo 'method: mezo, directions: 2, perturbation_scale: 1e-2'
stops fgd 'method: fgd, directions: 2'
stops lcsb 'method: lcsb, selection_warmup: 1, optimizer: adamw, gradient_accumulation_steps: 2'
