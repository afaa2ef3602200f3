#!/usr/bin/env bash
# identity.sh MODEL WORK
#
# Compiles MODEL again and again with one thing changed, and lets each program
# go on with the run of the first. Prints each answer: the difference, or that
# it resumed.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/twelve-lines.sh"
model=$1 work=$2
mkdir -p "$work"
cd "$work"
twelve_lines >data.jsonl
cat >spec.yaml <<YAML
model: $model
lora: {r: 4, lora_alpha: 8, target_modules: all-linear}
train: {batch_size: 2, max_seq_length: 8, max_grad_norm: 0, steps: 4}
target: x86-64-v3
YAML

honec spec.yaml -o first 2>note
first/train --data data.jsonl --output kept --log kept.jsonl >log

# resume LABEL PROGRAM [TRAIN-ARG...]
resume() {
  local label=$1 program=$2
  shift 2
  rm -rf run && cp -r kept run
  if "$program/train" --data data.jsonl --output run "$@" >log 2>err; then
    echo "$label: $(grep -o 'resuming after step 4' log)"
  else
    echo "$label: $(grep -o 'this folder is .*' err)"
  fi
}

# changed LABEL [HONEC-ARG...]
changed() {
  local label=$1
  shift
  honec spec.yaml "$@" -o other 2>note
  resume "$label" other
}

# config LABEL CHANGES: MODEL with other values in config.json
config() {
  rm -rf model && cp -r "$model" model
  python3 - "$2" <<'PY'
import json, sys
config = json.load(open("model/config.json"))
config.update(json.loads(sys.argv[1]))
json.dump(config, open("model/config.json", "w"))
PY
  changed "$1" --set model=model
}

resume nothing first
config theta '{"rope_theta": 500000.0}'
config epsilon '{"rms_norm_eps": 0.001}'
config heads '{"num_attention_heads": 12, "num_key_value_heads": 4}'
changed rank --set lora.r=2
changed scale --set lora.use_rslora=true
changed optimizer --set train.optimizer=sgd
changed beta --set train.adam_beta2=0.9990000000000001
changed rate --set train.learning_rate=1e-3
changed weights --set weights.dtype=bfloat16

# A plan, an update in the backward, streaming and threads change no bit.
changed plan --set train.residuals=full
changed 'in backward' --set train.optimizer_in_backward=true
changed streaming --set weights.streaming=true
resume threads first --threads 3

# A path that is no UTF-8 is the same path again.
adapter=$'adapter-\xff'
cp -r kept "$adapter"
for start in 1 2; do
  first/train --data data.jsonl --output named --adapter "$adapter" >log 2>err ||
    cat err
done
echo "path: $(grep -o 'resuming after step 4' log)"

# A change that only rounds is allowed by name, and then on record.
changed target --set target=x86-64-v2
changed reference --set target=reference
honec spec.yaml --set train.kept_dtype=bfloat16 --memory-budget=1 \
  --print-plan 2>note && exit 1
least=$(grep -oE '\([0-9]+ bytes, the' note | tr -dc 0-9)
changed rounding --set train.kept_dtype=bfloat16 --memory-budget="$least"
cp kept.jsonl run.jsonl
resume allowed other --allow-other-numerics --log run.jsonl
grep -o '^warning.*' err
tail -n 1 run.jsonl
resume 'allowed, another run' first --allow-other-numerics --seed 9
