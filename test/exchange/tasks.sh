#!/usr/bin/env bash
# tasks.sh CONFIG.json EXAMPLES.tsv
#
# Examples of a task, whose candidates are scored and whose answers alone are trained on:
# two programs have the losses, the accuracies and the adapters of one, with more batches
# in a step than the last one has examples for, and clipped.
set -euo pipefail

data=$2
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
steps=5
. "$(dirname "$0")/programs.sh"
own=(--save-every 2 --eval-data "$data" --eval-every 2 --metric-for-best-model accuracy)

# spec COUNT PROGRAM...: see programs.sh.
spec() {
  local named=("" "")
  (($# == 1)) || named=(", program: $2" ", program: $3")
  cat >"$work/spec.yaml" <<SPEC
model: $work/model
lora: {r: 4, lora_alpha: 8}
train: {task: sst2, compute_dtype: float32, batch_size: 3, max_seq_length: 64, learning_rate: 1e-2,
        gradient_accumulation_steps: 2, max_grad_norm: 0.1}
parts:
  first: {layers: 0-1, method: mezo, directions: 3, perturbation_scale: 1e-2${named[0]}}
  last: {method: backprop${named[1]}}
target: reference
SPEC
}

sed 's/128/512/' "$1" >"$work/config.json"
quietly hone-make-model "$work/config.json" -o "$work/model" --tokenizer=byte
prepare 2
train client together2
client=$!
train server together2
server=$!
for program in client server; do
  wait "${!program}" || fails $program together2 $?
done
of "$work/together2.client/steps.jsonl" | cmp - <(of "$work/one2.run/steps.jsonl")
for folder in '' /best; do
  python3 "$here/join.py" "$work/one2.run$folder" "$work/together2.client$folder" \
    "$work/together2.server$folder"
  # Parts of two runs are never joined.
  for program in client server; do
    cmp "$work/together2.client/together.run" "$work/together2.$program$folder/together.run"
  done
done
grep -q eval_accuracy "$work/one2.run/steps.jsonl"
echo "same bits as one program: a task, $(grep -c eval_accuracy "$work/one2.run/steps.jsonl") evaluations"
