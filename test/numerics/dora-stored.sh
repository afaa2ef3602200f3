#!/usr/bin/env bash
# dora-stored.sh MODEL WORK HONEC-ARG...: DoRA over weights that are stored as said.
# It is DoRA over the float model that they stand for, from the first magnitudes on;
# a resumed run is a whole one; the merged model has the adapter's loss and text.
set -euo pipefail
here=$(dirname "$0")
model=$1 work=$2
shift 2
source "$here/../reliability/equal.sh"
rm -rf "$work"
mkdir -p "$work/float"
compile() { # compile NAME MODEL HONEC-ARG...
  local name=$1 from=$2
  shift 2
  honec "$here/Inputs/lora.yaml" --set model="$from" -o "$work/$name" "$@"
}
train() { # train NAME PROGRAM TRAIN-ARG...
  local name=$1 program=$2
  shift 2
  "$work/$program/train" --data "$here/Inputs/lines.jsonl" --lr-scheduler-type constant --output "$work/$name" --log "$work/$name.jsonl" \
    "$@" >"$work/out" 2>&1 || { cat "$work/out" >&2 && exit 1; }
}
loss() { # loss PROGRAM TRAIN-ARG...
  "$work/$1/train" --eval-only --eval-data "$here/Inputs/lines.jsonl" "${@:2}" |
    sed -n 's/^eval loss *\([0-9.]*\).*/\1/p'
}
text() { # text PROGRAM GENERATE-ARG...
  "$work/$1/generate" --prompt "Groups share" --show-ids --max-new-tokens 40 \
    "${@:2}" 2>"$work/out" || { cat "$work/out" >&2 && exit 1; }
}

dora=(--set lora.use_dora=true --set 'lora.rank_pattern={(q_proj|c_attn): 2}')
compile stored "$model" "$@" "${dora[@]}"
cp "$model"/tokenizer*.json "$model/config.json" "$work/float"
dequantize-weights "$work/stored/weights.hone.safetensors" \
  "$work/float/model.safetensors" float32
compile plain "$work/float" "${dora[@]}"

train first stored --steps 1 --learning-rate 0
rate=(--learning-rate 2e-2)
python3 "$here/first-magnitudes.py" "$work/first" "$work/float"
train whole stored --steps 6 "${rate[@]}"
train plain-whole plain --steps 6 "${rate[@]}"
cmp "$work/whole/adapter_model.safetensors" "$work/plain-whole/adapter_model.safetensors"
diff <(losses "$work/whole.jsonl") <(losses "$work/plain-whole.jsonl")
echo "the float model's run"
train resumed stored --steps 3 --save-every 1 "${rate[@]}"
train resumed stored --steps 6 --save-every 1 "${rate[@]}"
diff <(result_of "$work/whole") <(result_of "$work/resumed")
echo "resumed"

hone-adapter merge "$work/float" "$work/whole" -o "$work/merged" >"$work/out"
compile merged "$work/merged" --set lora=none
compile generate "$model" "$@" "${dora[@]}" --emit=generate
compile merged-generate "$work/merged" --set lora=none --emit=generate
python3 - "$(loss stored)" "$(loss stored --adapter "$work/whole")" "$(loss merged)" <<'EOF'
import sys
base, adapter, merged = map(float, sys.argv[1:])
assert base - adapter > 0.1, sys.argv
assert abs(merged - adapter) < 1e-5 * adapter, sys.argv
EOF
text generate --adapter "$work/whole" >"$work/ids"
text merged-generate >"$work/merged.ids"
text generate >"$work/base.ids"
diff "$work/ids" "$work/merged.ids"
if cmp -s "$work/ids" "$work/base.ids"; then
  echo "dora-stored: the adapter's text is the base's" >&2
  exit 1
fi
echo "merged: the adapter's loss and text"
