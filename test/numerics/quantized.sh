#!/usr/bin/env bash
# quantized.sh MODEL DTYPE GROUP COMPUTE WORK HONEC-ARG...: compiles MODEL with
# stored weights, and the float model that those stand for; both must give the
# same bits for loss and gradients. GROUP is 0 where there are none. EMULATOR,
# if set, is the command that runs programs of another machine.
set -euo pipefail
model=$1 dtype=$2 group=$3 compute=$4 work=$5
shift 5
inputs=$(dirname "$0")/Inputs
rm -rf "$work"
mkdir -p "$work/float"
set -- "$inputs/lora.yaml" --set train.compute_dtype="$compute" "$@"
if [ "$group" -ne 0 ]; then
  stored=(--set weights.dtype="$dtype" --set weights.group_size="$group")
elif [ "$dtype" = unset ]; then
  stored=()
else
  stored=(--set weights.dtype="$dtype")
fi
honec "$@" "${stored[@]}" --set model="$model" -o "$work/stored"

cp "$model"/tokenizer*.json "$work/float"
grep -v '"quantization' "$model/config.json" > "$work/float/config.json"
dequantize-weights "$work/stored/weights.hone.safetensors" \
  "$work/float/model.safetensors" "$compute"
honec "$@" --set model="$work/float" -o "$work/plain"

# A few steps, so that the adapter's B is not zero.
${EMULATOR-} "$work/stored/train" --data "$inputs/lines.jsonl" --steps 3 \
  --learning-rate 1e-2 --output "$work/run" 2> "$work/train.log"
for program in stored plain; do
  ${EMULATOR-} "$work/$program/train" --data "$inputs/lines.jsonl" \
    --adapter "$work/run" --dump-gradients "$work/$program.safetensors"
done
cmp "$work/stored.safetensors" "$work/plain.safetensors"
echo "equal bits"
