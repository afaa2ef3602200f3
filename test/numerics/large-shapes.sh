#!/usr/bin/env bash
# large-shapes.sh CONFIG WORK BUDGET...: four layers of CONFIG's shape, with 1,024
# ids, on weights that are drawn as int4 and never were floats. Steps within each
# budget for all resident memory leave one adapter; with one budget no step is
# taken. The gradients of a random adapter are those of float64.
set -euo pipefail
config=$1 work=$2
shift 2
here=$(dirname "$0")
rm -rf "$work" && mkdir -p "$work/model"
cd "$work"
trap 'rm -f "$work"/*/weights.hone.safetensors' EXIT # gigabytes
sed -e 's/\("num_hidden_layers"\): [0-9]*/\1: 4/' -e 's/\("vocab_size"\): [0-9]*/\1: 1024/' \
  -e 's/\("[be]os_token_id"\): [0-9]*/\1: 1/' "$config" >model/config.json
echo '{"input_ids": [5, 900, 17, 333, 2, 1023, 64, 5]}' >data.jsonl
python3 "$here/large-adapter.py" model/config.json adapter

compile() { # FOLDER HONEC-ARG...
  honec "$here/Inputs/large.yaml" --set model="$work/model" --weights-manifest -o "$@"
}
train() { # FOLDER ARG...
  "$1/train" --data data.jsonl --adapter adapter --threads 2 "${@:2}"
}
for budget; do compile "$budget" --resident-budget "$budget"; done
hone-make-model --packed "$1/weights.manifest.json" -o "$1" --seed 11
for budget in "${@:2}"; do
  cmp {"$1","$budget"}/weights.manifest.json
  ln "$1/weights.hone.safetensors" "$budget"
done
if [ $# -gt 1 ]; then
  for budget; do
    train "$budget" --steps 1 --show-samples 0 --output "run-$budget" | grep '^resident'
    cmp "run-$1/adapter_model.safetensors" "run-$budget/adapter_model.safetensors"
  done
  echo "one adapter with each of $# budgets"
fi

train "$1" --dump-gradients float32.safetensors
rm ./*/weights.hone.safetensors
compile float64 --set train.compute_dtype=float64 --set lora.dtype=float64
hone-make-model --packed float64/weights.manifest.json -o float64 --seed 11
train float64 --dump-gradients float64.safetensors
python3 "$here/large-gradients.py" float32.safetensors float64.safetensors
