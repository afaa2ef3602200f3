#!/usr/bin/env bash
# follow-whole.sh GOLDEN NAME WORK: trains all parameters of a golden model for
# 100 steps, and compares its losses, and its result, with PyTorch's.
set -euo pipefail
golden=$1 name=$2 work=$3
figures=$golden/losses/$name

rm -rf "$work"
mkdir -p "$work"
honec "$(dirname "$0")/Inputs/lora.yaml" -o "$work/out" --set lora=none \
  --set model="$golden/models/$name" --set train.batch_size=1 \
  --set train.max_seq_length=24 --set train.learning_rate=1e-3 \
  --set train.lr_scheduler_type=constant --set train.shuffle=false
"$work/out/train" --data "$figures.jsonl" --output "$work/run" --steps 100 \
  --log "$work/log.jsonl"
compare-losses "$work/log.jsonl" "$figures.json" 1e-3
compare-gradients "$work/run/model.safetensors" "$figures.json" parameters
