#!/usr/bin/env bash
# directions.sh METHOD MODEL DATA WORK HONEC-ARG...: a run along directions is its
# coefficients. They make its bits again, without data, after kills, and nothing
# else does.
set -euo pipefail
here=$(dirname "$0")
method=$1 model=$2 data=$3 work=$4
shift 4
rm -rf "$work"
mkdir -p "$work"
compile() { # compile NAME SPEC HONEC-ARG...
  local name=$1 spec=$2
  shift 2
  honec "$here/$spec" -o "$work/$name" --set model="$model" "$@"
}
source "$here/refuses.sh"
adapter=adapter_model.safetensors

set -- --set train.method="$method" "$@"
compile program Inputs/directions.yaml "$@"
train=$work/program/train
bash "$here/../reliability/threads.sh" "$train" "$data" --steps 6
bash "$here/../reliability/kill-resume.sh" "$train" "$data" 5 --steps 400 \
  --save-every 7

# In parts, and again from its coefficients.
"$train" --data "$data" --output "$work/whole" --steps 20 >"$work/out"
"$train" --data "$data" --output "$work/parts" --steps 7 >"$work/out"
"$train" --data "$data" --output "$work/parts" --steps 20 >"$work/out"
cmp "$work/whole/replay.hone" "$work/parts/replay.hone"
"$train" --replay "$work/whole/replay.hone" --output "$work/again"
cmp "$work/whole/$adapter" "$work/again/$adapter"
echo "replay: same bits"

# From an adapter, which is part of the run.
"$train" --data "$data" --output "$work/more" --steps 5 --seed 7 \
  --adapter "$work/whole" >"$work/out"
"$train" --replay "$work/more/replay.hone" --output "$work/more-again" \
  --adapter "$work/whole"
cmp "$work/more/$adapter" "$work/more-again/$adapter"
refuses "H0815.*other parameters" "$train" --replay "$work/more/replay.hone" \
  --output "$work/other"
[[ ! -e $work/other/$adapter ]]

# A rate of zero moves nothing: probes leave no trace.
"$train" --data "$data" --output "$work/still1" --steps 1 --learning-rate 0 >"$work/out"
"$train" --data "$data" --output "$work/still9" --steps 9 --learning-rate 0 >"$work/out"
cmp "$work/still1/$adapter" "$work/still9/$adapter"

# What is not such a file, not whole, or not of this program.
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
compile other Inputs/directions.yaml "$@" --set train.max_seq_length=16
refuses "H0815.*max_seq_length" "$work/other/train" --replay "$work/whole/replay.hone" \
  --output "$work/other-out"
compile exact ../numerics/Inputs/lora.yaml
refuses "H0103.*backprop" "$work/exact/train" \
  --replay "$work/whole/replay.hone" --output "$work/other-out"
refuses "only methods mezo and mezo-one-sided read it" "$work/exact/train" --data "$data" \
  --output "$work/other-out" --perturbation-scale 1
[[ ! -e $work/other-out ]]
echo "refused: what is of another run"
