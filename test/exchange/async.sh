#!/usr/bin/env bash
# async.sh MODEL.mlir WEIGHTS DATA KILLS [SEED]
#
# AsyncFGD of 1, 2, 3 and 5 programs over a link which loses, doubles, delays and damages
# frames and is cut, by seed: the logged losses and the results have the bits of one fgd
# program that is asked for every derivative at the parameters that the modules had
# (late-reference). Other delays have other bits. Then KILLS times one of three programs is
# killed and started again.
set -euo pipefail

model=$1 weights=$2 data=$3 kills=$4 seed=${5-1}
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
RANDOM=$seed
steps=12
. "$(dirname "$0")/programs.sh"
engine "$work/engine.so"
declare -A cuts=([2]=3 [3]=2,4 [5]=1,2,3,5)

# compile NAME [keys of train] [options of honec]
compile() {
  cat >"$work/spec.yaml" <<SPEC
model: $model
weights: {path: $weights}
train: {method: fgd, compute_dtype: float32, directions: 2, optimizer: adamw, weight_decay: 0.1,
        learning_rate: 1e-2, batch_size: 2, max_seq_length: 32, gradient_accumulation_steps: 2,
        direction_scales: [1=0.5], direction_scale_steps: 4${2-}}
target: reference
SPEC
  quietly honec "$work/spec.yaml" -o "$work/$1" "${@:3}"
}

losses() { sed -n 's/.*"loss": \([^,]*\),.*/\1/p' "$1"; }

# same REFERENCE PROGRAM-FOLDER...: its losses and its adapter.
same() {
  local reference=$1 program
  shift
  for program in "$@"; do
    python3 - "$program/steps.jsonl" "$reference.losses" <<'PY' ||
import json, struct, sys
found = [json.loads(line)["loss"] for line in open(sys.argv[1])]
wanted = [float(line) for line in open(sys.argv[2])]
single = lambda x: struct.unpack("f", struct.pack("f", x))[0]
sys.exit([single(x) for x in found] != [single(x) for x in wanted])
PY
      { echo "async: $program has other losses" >&2; exit 1; }
  done
  python3 "$here/join.py" "$reference" "$@"
}

# start MODULE COUNT: in the background.
start() {
  local own=()
  [[ $1 != 1 ]] || own=(--data "$data" --steps $steps --save-every 2)
  "$work/of$2/module$1/train" --exchange test --exchange-at "$work/of$2" --timeout 20 \
    --output "$work/run$2/module$1" "${own[@]}" >>"$work/run$2/log$1" 2>&1 &
  running[$1]=$!
}

# fails MODULE COUNT CODE: says why.
fails() {
  echo "async: module $1 of $2 ended with $3" >&2
  tail -n 20 "$work/run$2"/log* >&2
  exit 1
}

compile plain
compile object "" --emit=object
c++ -shared -o "$work/plain.so" "$work/object"
# reference COUNT CUTS [more]
reference() {
  late-reference "$work/plain.so" "$work/plain/weights.hone.safetensors" "$data" $steps \
    "$2" "$work/reference$1" "${@:3}" >"$work/reference$1.losses"
}

compile of1 ', modules: 1, asynchronous: true'
for name in plain of1; do
  "$work/$name/train" --data "$data" --steps $steps --output "$work/run.$name" >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; exit 1; }
done
cmp <(losses "$work/run.plain/steps.jsonl") <(losses "$work/run.of1/steps.jsonl")
cmp "$work/run.plain/adapter_model.safetensors" "$work/run.of1/adapter_model.safetensors"
reference 1 -
same "$work/reference1" "$work/run.of1"
echo 'one module is fgd'

export HONE_TEST_ENGINE="$seed 200 200 3000 100 50"
for count in 2 3 5; do
  compile of$count ", modules: $count, asynchronous: true, module_cuts: [${cuts[$count]}]"
  grep -q "mpirun -np 1 .*/module1/train .* : -np 1 .*/module$count/train" "$work/log"
  mkdir "$work/run$count"
  unset running
  declare -A running=()
  for ((k = 1; k <= count; ++k)); do
    cp "$work/engine.so" "$work/of$count/module$k/hone-exchange-test.so"
    start $k $count
  done
  for ((k = 1; k <= count; ++k)); do
    wait "${running[$k]}" || fails $k $count $?
  done
  reference $count "${cuts[$count]}"
  same "$work/reference$count" "$work/run$count"/module*
  echo "same bits as all versions: $count modules"
  reference other "${cuts[$count]}" 1
  ! cmp -s "$work/referenceother.losses" "$work/reference$count.losses" ||
    { echo "async: a delay of $count modules more has the same bits" >&2; exit 1; }
done
echo 'other bits: with a delay more'

# Kills, of three programs. A run that has ended begins anew.
count=3
for ((done = 0; done < kills;)); do
  rm -rf "$work/run$count"
  mkdir "$work/run$count"
  unset running
  declare -A running=()
  for ((k = 1; k <= count; ++k)); do start $k $count; done
  while ((${#running[@]} > 0)); do
    sleep "0.$(printf %03d $((RANDOM % 300)))"
    for k in "${!running[@]}"; do
      kill -0 "${running[$k]}" 2>/dev/null && continue
      wait "${running[$k]}" || fails $k $count $?
      unset "running[$k]"
    done
    ((${#running[@]} > 0 && done < kills)) || continue
    all=("${!running[@]}")
    k=${all[RANDOM % ${#all[@]}]}
    kill -9 "${running[$k]}" 2>/dev/null || continue
    wait "${running[$k]}" 2>/dev/null || true
    ((++done))
    start $k $count
  done
  same "$work/reference$count" "$work/run$count"/module*
done
echo "same bits as all versions: after $kills kills"
