#!/usr/bin/env bash
# mezo-sst2: from files of a task to an accuracy, with forward passes alone.
# Usage: run.sh BUILD_DIR [WORK_DIR]

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "${1:?usage: run.sh BUILD_DIR [WORK_DIR]}" && pwd)
work=${2:-$build/mezo-sst2}

step() { printf '\n$ %s\n' "$*" && "$@"; }

rm -rf "$work"
mkdir -p "$work"
cp "$here"/{config.json,spec.yaml,train.jsonl,dev.jsonl} "$work"
cd "$work"
PATH=$build/bin:$PATH

# In the place of a pre-trained model: MeZO has no chance with a random one.
step hone-make-model config.json -o model --seed 1 --tokenizer byte
step honec spec.yaml -o first --set train.method=backprop --set train.optimizer=adamw \
  --set train.lr_scheduler_type=constant
step ./first/train --task sst2 --data train.jsonl --output start --steps 80 --learning-rate 5e-3

step honec spec.yaml -o out
step ./out/train --task sst2 --eval-only --eval-data dev.jsonl --adapter start
step ./out/train --task sst2 --data train.jsonl --eval-data dev.jsonl --adapter start --output run \
  --steps 600 --eval-every 100 --metric-for-best-model accuracy
step ./out/train --task sst2 --eval-only --eval-data dev.jsonl --adapter run/best \
  --predictions predictions.jsonl
step head -n 2 predictions.jsonl

# The run once more, from its coefficients alone.
step ./out/train --replay run/replay.hone --adapter start --output again
cmp run/adapter_model.safetensors again/adapter_model.safetensors
