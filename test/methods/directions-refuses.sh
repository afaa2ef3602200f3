#!/usr/bin/env bash
# directions-refuses.sh METHOD MODEL DATA WORK, after directions.sh has run with
# them: nothing but a run's own coefficients makes its bits.
set -euo pipefail
here=$(dirname "$0")
method=$1 model=$2 data=$3 work=$4
source "$here/refuses.sh"
adapter=adapter_model.safetensors
train=$work/program/train

# Files of another kind, damaged ones, and those of another program.
head -c -3 "$work/whole/replay.hone" >"$work/torn"
refuses "H0814.*a part of one" "$train" --replay "$work/torn" --output "$work/other"
refuses "H0813" "$train" --replay "$data" --output "$work/other"
refuses "H0103" "$train" --replay "$work/whole/replay.hone" --output "$work/whole"
cp "$work/whole/replay.hone" "$work/copy.hone"
refuses "H0801" "$train" --replay "$work/copy.hone" --output "$work/whole"
refuses "H0103" "$train" --replay "$work/whole/replay.hone" --output "$work/other" --seed 1
refuses "H0103.*replay.hone" "$train" --data "$data" --output "$work/whole" \
  --steps 30 --log "$work/whole/replay.hone"
# A run that lost its checkpoints still has its log, which nothing replaces.
cp -r "$work/whole" "$work/lost"
for manifest in "$work"/lost/checkpoint-*/MANIFEST.json; do
  : >"$manifest"
done
refuses "H0804.*replay.hone" "$train" --data "$data" --output "$work/lost" --steps 20
cmp "$work/whole/replay.hone" "$work/lost/replay.hone"
honec "$here/Inputs/directions.yaml" -o "$work/short" --set model="$model" \
  --set train.method="$method" --set train.max_seq_length=16
refuses "H0815.*max_seq_length" "$work/short/train" --replay "$work/whole/replay.hone" \
  --output "$work/other-out"
honec "$here/../numerics/Inputs/lora.yaml" -o "$work/exact" --set model="$model"
refuses "H0103.*backprop" "$work/exact/train" \
  --replay "$work/whole/replay.hone" --output "$work/other-out"
refuses "only methods mezo and mezo-one-sided read it" "$work/exact/train" --data "$data" \
  --output "$work/other-out" --perturbation-scale 1
[[ ! -e $work/other-out ]]
echo "refused: what is of another run"
