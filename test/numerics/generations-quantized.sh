#!/usr/bin/env bash
# generations-quantized.sh MODEL DTYPE GROUP WORK: a program with stored weights
# draws the text of one with the float model that they stand for, and of one that
# has no adapter. GROUP is 0 where there are none.
set -euo pipefail
model=$1 dtype=$2 group=$3 work=$4
spec=$(dirname "$0")/Inputs/lora.yaml
rm -rf "$work"
mkdir -p "$work/float"
stored=(--set weights.dtype="$dtype")
[ "$group" -eq 0 ] || stored+=(--set weights.group_size="$group")
honec "$spec" --emit=generate "${stored[@]}" --set model="$model" -o "$work/stored"
cp "$model"/tokenizer*.json "$work/float"
grep -v '"quantization' "$model/config.json" > "$work/float/config.json"
dequantize-weights "$work/stored/weights.hone.safetensors" \
  "$work/float/model.safetensors" float32
honec "$spec" --emit=generate --set model="$work/float" -o "$work/plain"
honec "$spec" --emit=generate "${stored[@]}" --set lora=none \
  --set model="$model" -o "$work/bare"
for program in stored plain bare; do
  "$work/$program/generate" --prompt "Groups share a scale" --show-ids \
    --max-new-tokens 60 --temperature 1 --seed 9 \
    > "$work/$program.ids" 2> "$work/$program.log"
done
cmp "$work/stored.ids" "$work/plain.ids"
cmp "$work/bare.ids" "$work/plain.ids"
echo "$(sort -u "$work/plain.ids" | wc -l) different ids"
