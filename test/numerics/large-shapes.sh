#!/usr/bin/env bash
# large-shapes.sh CONFIG WORK ROOMY: four layers of CONFIG's shape, with 1,024 ids,
# on weights that are drawn as int4 and never were floats. A step within the least
# memory and one within ROOMY leave one adapter, and its gradients are those of
# float64.
set -euo pipefail
config=$1 work=$2 roomy=$3
here=$(dirname "$0")
rm -rf "$work" && mkdir -p "$work/model"
trap 'rm -f "$work"/*/weights.hone.safetensors' EXIT # gigabytes
sed -e 's/\("num_hidden_layers"\): [0-9]*/\1: 4/' -e 's/\("vocab_size"\): [0-9]*/\1: 1024/' \
  -e 's/\("[be]os_token_id"\): [0-9]*/\1: 1/' "$config" >"$work/model/config.json"
echo '{"input_ids": [5, 900, 17, 333, 2, 1023, 64, 5]}' >"$work/data.jsonl"
cd "$work"

compile() { # FOLDER HONEC-ARG...
  honec "$here/Inputs/large.yaml" --set model="$work/model" --weights-manifest -o "$@"
}
train() { # FOLDER ARG...
  "$1/train" --data data.jsonl --threads 2 --show-samples 0 "${@:2}" >"$1.log"
  sed -n 's/^resident/'"$1"': resident/p' "$1.log"
}
least=$(compile least --resident-budget 1MiB 2>&1 |
  sed -n 's/.*raise the budget to \([0-9.]*[MG]iB\).*/\1/p')
compile least --resident-budget "$least"
compile roomy --resident-budget "$roomy"
cmp least/weights.manifest.json roomy/weights.manifest.json
hone-make-model --packed least/weights.manifest.json -o least --seed 11
ln least/weights.hone.safetensors roomy
for budget in least roomy; do train $budget --steps 1 --output "run-$budget"; done
cmp run-least/adapter_model.safetensors run-roomy/adapter_model.safetensors
echo "one adapter with two budgets"

train least --adapter run-least --dump-gradients float32.safetensors
rm {least,roomy}/weights.hone.safetensors
compile float64 --set train.compute_dtype=float64 --set lora.dtype=float64
hone-make-model --packed float64/weights.manifest.json -o float64 --seed 11
train float64 --adapter run-least --dump-gradients float64.safetensors
python3 "$here/large-gradients.py" float32.safetensors float64.safetensors
