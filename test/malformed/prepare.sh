#!/usr/bin/env bash
# prepare.sh DIR SPEC MODELS
#
# Makes in DIR: wide/ and its train (the shape of qwen2-tiny with a vocabulary
# that has room for a byte-level tokenizer), narrow/ and its train (the
# committed qwen2-tiny: another model, without a tokenizer), data.jsonl, and
# kept/, the output of a run of three steps that no later command may change.
set -euo pipefail
dir=$1 spec=$2 models=$3
cd "$dir"

sed 's/"vocab_size": [0-9]*/"vocab_size": 300/' \
  "$models/qwen2-tiny/config.json" >config.json
hone-make-model config.json -o model --tokenizer=byte
honec "$spec" --set model=model --set train.lr_scheduler_type=constant -o wide
honec "$spec" --set model="$models/qwen2-tiny" \
  --set train.lr_scheduler_type=constant -o narrow

for i in 1 2 3 4; do
  echo "{\"input_ids\": [$i, 2, 3, 4, 5, 6, 7, 8]}"
done >data.jsonl
wide/train --data data.jsonl --output kept --steps 2 --save-every 1 >run.log
