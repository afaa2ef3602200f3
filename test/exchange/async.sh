#!/usr/bin/env bash
# async.sh MODEL.mlir WEIGHTS DATA KILLS [SEED]
#
# AsyncFGD of 1, 2, 3 and 5 programs over a link which loses, doubles, delays and damages
# frames and is cut, by seed: the logged losses and the results have the bits of one fgd
# program that is asked for every derivative at the parameters that the modules had
# (late-reference). Other delays have other bits; probes in flight have the same, and modules
# that are not asynchronous those of fgd. Then KILLS times one of three programs is
# killed and started again.
set -euo pipefail

model=$1 weights=$2 data=$3 kills=$4 seed=${5-1}
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
RANDOM=$seed
steps=12
. "$(dirname "$0")/programs.sh"
. "$here/modules.sh"
engine "$work/engine.so"
# start MODULE COUNT: in the background.
start() {
  local own=()
  [[ $1 != 1 ]] || own=(--data "$data" --steps $steps --save-every 2)
  "$work/of$2/module$1/train" --exchange test --exchange-at "$work/of$2" --timeout "$patience" \
    --output "$work/run$2/module$1" "${own[@]}" >>"$work/run$2/log$1" 2>&1 &
  running[$1]=$!
}

# fails MODULE COUNT CODE: says why.
fails() {
  echo "async: module $1 of $2 ended with $3" >&2
  tail -n 20 "$work/run$2"/log* >&2
  exit 1
}

prepare_reference
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

# together COUNT RUN: all modules of of$RUN, to their end.
together() {
  local count=$1 k
  rm -rf "$work/run$2"
  mkdir "$work/run$2"
  unset running
  declare -gA running=()
  for ((k = 1; k <= count; ++k)); do
    cp "$work/engine.so" "$work/of$2/module$k/hone-exchange-test.so"
    start $k "$2"
  done
  for ((k = 1; k <= count; ++k)); do
    wait "${running[$k]}" || fails $k "$2" $?
  done
}

for flight in 1 2; do
  compile ofone ", modules: 2, module_cuts: [3]" --set exchange.in_flight=$flight
  together 2 one
  same "$work/reference1" "$work/runone"/module*
done
echo 'modules that wait for each other are fgd'
for count in 2 3 5; do
  compile of$count ", modules: $count, asynchronous: true, module_cuts: [${cuts[$count]}]"
  grep -q "mpirun -np 1 .*/module1/train .* : -np 1 .*/module$count/train" "$work/log"
  together $count $count
  reference $count "${cuts[$count]}"
  same "$work/reference$count" "$work/run$count"/module*
  for log in "$work/run$count"/log*; do
    grep -q "after $steps of $steps steps" "$log" ||
      { echo "async: $log ends after another step" >&2; exit 1; }
  done
  if ((count == 2)); then
    other=" another's"
    compile "of$other" ", modules: 2, asynchronous: true, module_cuts: [${cuts[2]}]" --set exchange.in_flight=3
    grep -qF -e "-np 1 '$work/of another'\\''s/module1/train' --exchange mpi" "$work/log"
    # A relative folder is no option of mpirun, with any first character.
    (cd "$work" && quietly honec spec.yaml -o -of)
    grep -qF -e "-np 1 ./-of/module1/train --exchange mpi" "$work/log"
    together 2 "$other"
    same "$work/reference2" "$work/run$other"/module*
    echo 'with more in flight, too'
  fi
  echo "same bits as all versions: $count modules"
  reference other "${cuts[$count]}" 1
  ! cmp -s "$work/referenceother.losses" "$work/reference$count.losses" ||
    { echo "async: a delay of $count modules more has the same bits" >&2; exit 1; }
done
echo 'other bits: with a delay more'
# No vector crosses a step: a checkpoint has parameters and moments, and of each module but the first
# directions + 1 numbers, which are under way to the one before it.
python3 - "$work"/run3/module?/checkpoint-*/state.safetensors <<'PY'
import json, sys
for path in sys.argv[1:]:
    data = open(path, "rb").read()
    header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
    header.pop("__metadata__", None)
    late = sum(header.pop(name)["shape"][0] for name in list(header) if name.startswith("before."))
    if sorted(header) != ["state0", "state1", "theta"] or late != ("module1" not in path) * (2 + 1):
        sys.exit(f"async: {path} has {late} numbers, {sorted(header)}")
PY
echo 'checkpoints have parameters, and numbers that are under way'
# Of 5 modules each meets its neighbours.
[[ $(cd "$work/of5" && echo module?-module?) == \
  'module1-module2 module2-module3 module3-module4 module4-module5' ]] ||
  { echo "async: other links: $(cd "$work/of5" && echo module?-module?)" >&2; exit 1; }
echo 'links to neighbours alone'

# Kills, of three programs.
count=3 programs=(1 2 3)
fresh() {
  rm -rf "$work/run$count"
  mkdir "$work/run$count"
}
starts() { start "$1" $count; }
pause() { sleep "0.$(printf %03d $((RANDOM % 300)))"; }
broke() { fails "$1" $count "$2"; }
whole() { same "$work/reference$count" "$work/run$count"/module*; }
survives "$kills"
echo "same bits as all versions: after $kills kills"

# Late messages are in no checkpoint, also where the end is interrupted: module
# 2 is killed there, and comes back with nothing to say. Over a sound link: a
# damaged frame is counted as well.
unset HONE_TEST_ENGINE
late=$((steps / 2 + 1)) # of saves
fresh
patience=10
for k in 1 3; do
  start $k $count
done
HONE_TEST_EVENT="save $late kill" start 2 $count
{ wait "${running[2]}" || true; } 2>/dev/null
HONE_TEST_EVENT='greeting 1 mute' start 2 $count
for k in 1 2 3; do
  wait "${running[$k]}" || true
done
grep -q 'began anew' "$work/run$count/log1" || fails 1 $count 'no interruption'
for folder in "$work/run$count"/module?/checkpoint-*; do
  ((10#${folder##*-} <= steps)) || { echo "async: $folder is of no step" >&2; exit 1; }
done
# all: together, to the end that the reference has.
all() {
  local k
  patience=20
  for k in 1 2 3; do
    start $k $count
  done
  for k in 1 2 3; do
    wait "${running[$k]}" || fails $k $count $?
  done
  same "$work/reference$count" "$work/run$count"/module*
}
all
echo 'an end that is interrupted saves no late updates'

# Module 2 is killed when the others have its part of that, and not its result.
fresh
patience=10
for k in 1 3; do
  start $k $count
done
HONE_TEST_EVENT="validated $late kill" start 2 $count
for k in 1 2 3; do
  wait "${running[$k]}" || true
done 2>/dev/null
code=0 patience=2
start 1 $count
wait "${running[1]}" || code=$?
((code == 69)) || fails 1 $count "$code, although module 2 has no result"
all
echo 'who leads is not done before all have the result'
