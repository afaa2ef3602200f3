#!/usr/bin/env bash
# regularization.sh MODEL DATA WORK: dropout, noise on embeddings and smoothed
# labels are of training alone, and of nothing that a run may not change.
set -euo pipefail
here=$(dirname "$0")
model=$1 data=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
none=(--set lora.lora_dropout=0 --set train.neftune_noise_alpha=0
  --set train.label_smoothing_factor=0)
some=(--set lora.lora_dropout=0.1 --set train.neftune_noise_alpha=5
  --set train.label_smoothing_factor=0.1)
compile() { # compile NAME HONEC-ARG...
  local name=$1
  shift
  honec "$here/Inputs/lora.yaml" --set model="$model" -o "$work/$name" "$@"
}

# Zeros are the program without.
compile plain
compile zeros "${none[@]}"
for name in plain zeros; do
  "$work/$name/train" --data "$data" --steps 4 --output "$work/$name.run" >"$work/out"
done
cmp "$work"/{plain,zeros}.run/adapter_model.safetensors
echo "zeros: same bits"

# Losses that train differ; of one adapter, losses that are evaluated do not.
compile some "${some[@]}"
"$work/some/train" --data "$data" --steps 4 --output "$work/some.run" >"$work/out"
if cmp -s "$work"/{plain,some}.run/adapter_model.safetensors; then
  echo "regularization: a run with it has the bits of one without" >&2
  exit 1
fi
for name in plain some; do
  "$work/$name/train" --eval-only --eval-data "$data" --adapter "$work/some.run" |
    sed -n 's/^eval loss *\([^ ]*\).*/\1/p' >"$work/$name.loss"
  test -s "$work/$name.loss"
done
cmp "$work"/{plain,some}.loss
echo "evaluation: same loss"

# Masks follow from the step: no thread and no kill changes them. That they differ
# between steps and batches is in unit/TrainerTest.cpp.
accumulate=(--gradient-accumulation-steps 2 --epochs 8 --save-every 3)
bash "$here/../reliability/threads.sh" "$work/some/train" "$data" --steps 4 \
  --gradient-accumulation-steps 2
bash "$here/../reliability/kill-resume.sh" "$work/some/train" "$data" 4 \
  "${accumulate[@]}"
for method in lcsb mezo fgd; do
  warm=()
  [[ $method != lcsb ]] || warm=(--set train.selection_warmup=0)
  compile "$method" "${some[@]}" --set train.method=$method "${warm[@]}"
  bash "$here/../reliability/threads.sh" "$work/$method/train" "$data" --steps 4
done
