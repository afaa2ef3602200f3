#!/usr/bin/env bash
# directions.sh METHOD MODEL DATA WORK HONEC-ARG...: a run along directions is its
# coefficients. They make its bits again, without data, and after kills.
set -euo pipefail
here=$(dirname "$0")
method=$1 model=$2 data=$3 work=$4
shift 4
rm -rf "$work"
mkdir -p "$work"
source "$here/refuses.sh"
adapter=adapter_model.safetensors

honec "$here/Inputs/directions.yaml" -o "$work/program" --set model="$model" \
  --set train.method="$method" "$@"
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
