#!/usr/bin/env bash
# optimizer-in-backward.sh MODEL WORK
#
# Compiles MODEL with and without optimizer_in_backward and compares the
# adapters of equal runs, on two threads and one, and the gradients.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/twelve-lines.sh"
model=$1 work=$2
here=$(dirname "${BASH_SOURCE[0]}")
mkdir -p "$work"
cd "$work"
twelve_lines >data.jsonl
cat >spec.yaml <<YAML
model: $model
lora: {r: 4, lora_alpha: 8, target_modules: all-linear}
train: {batch_size: 2, max_seq_length: 8, max_grad_norm: 0}
YAML

compare() { # compare LABEL [--set ...]
  local label=$1
  shift
  rm -rf after during after-run during-run
  honec spec.yaml -o after "$@"
  honec spec.yaml -o during "$@" --set train.optimizer_in_backward=true
  ./after/train --data data.jsonl --output after-run --epochs 3 \
    --learning-rate 0.01 --weight-decay 0.1 --threads 2 >log
  ./during/train --data data.jsonl --output during-run --epochs 3 \
    --learning-rate 0.01 --weight-decay 0.1 --threads 1 >log
  cmp after-run/adapter_model.safetensors during-run/adapter_model.safetensors
  echo "$label: same adapter"
}

compare sgd --set train.optimizer=sgd
compare 'sgd with momentum' --set train.optimizer=sgd --set train.momentum=0.9
compare 'bfloat16 adapter' --set lora.dtype=bfloat16 --set train.optimizer=sgd
compare adamw
for run in after during; do
  ./$run/train --data data.jsonl --adapter after-run \
    --dump-gradients $run.safetensors >log
done
cmp after.safetensors during.safetensors
echo "adamw: same gradients"
echo "adamw: $(bash "$here/memory.sh" during/train data.jsonl 0)"
echo "adamw: $(bash "$here/kill-resume.sh" during/train data.jsonl 4 \
  --epochs 150 --save-every 60 --threads 2)"
