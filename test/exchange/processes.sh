#!/usr/bin/env bash
# processes.sh MODEL.mlir WEIGHTS DATA SEEDS
#
# MeZO below an exact gradient, as one program and as two and three processes, whose
# link loses, doubles, delays and damages frames and is cut, by SEEDS: losses, norms and
# the trained tensors must be the same, bit for bit. Processes that were started
# differently refuse each other by name.
set -euo pipefail

model=$1 weights=$2 data=$3 seeds=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
steps=3
. "$(dirname "$0")/programs.sh"
engine "$work/engine.so"
head -n 2 "$data" >"$work/other.jsonl"
cat >"$work/spec.yaml" <<SPEC
model: $model
weights: {path: $weights}
train: {compute_dtype: float32, residuals: mesp, learning_rate: 1e-2, batch_size: 2,
        max_seq_length: 32, gradient_accumulation_steps: 2}
parts:
  lower: {layers: 0-0, method: mezo, directions: 2, perturbation_scale: 1e-2}
  upper: {method: backprop, max_grad_norm: 0.5}
target: reference
SPEC

# build NAME [options of the step]: NAME.so and weights.NAME.
build() {
  honec "$work/spec.yaml" -o "$work/$1.o" --emit=object ${2:+"--step-options=${*:2}"}
  honec "$work/spec.yaml" -o "$work/weights.$1" ${2:+"--step-options=${*:2}"}
  c++ -shared -o "$work/$1.so" "$work/$1.o"
} >"$work/log" 2>&1

numbers() { sed -n "s/^$1 number //p" "$2"; }
tensors() { sed -n 's/^[^ ]* tensor //p' "$@" | sort -u; }

# peer NAME DATA PEERS STEPS: one process; its output is in out.NAME.
peer() {
  run-together host "$4" 0 engine="$work/engine.so" address="$work" peers="$3" \
    "$1" "$work/$1.so" "$work/weights.$1/weights.hone.safetensors" "$2" \
    >"$work/out.$1" 2>"$work/err.$1"
}

build one
run-together host $steps 0 one "$work/one.so" \
  "$work/weights.one/weights.hone.safetensors" "$data" >"$work/out"
numbers one "$work/out" >"$work/one.numbers"
tensors "$work/out" >"$work/one.tensors"
[[ -s $work/one.numbers && -s $work/one.tensors ]]

for cut in 1 0,2; do
  names=(lower upper)
  [[ $cut == 1 ]] || names=(part1 part2 part3)
  for name in "${names[@]}"; do
    build "$name" "split-after=$cut part=$name"
  done
  for ((seed = 1; seed <= seeds; ++seed)); do
    export HONE_TEST_ENGINE="$seed 200 200 300 100 150"
    given=$data processes=()
    for name in "${names[@]}"; do
      others=$(printf '%s\n' "${names[@]}" | grep -v "^$name$" | paste -sd,)
      peer "$name" "$given" "$others" $steps &
      processes+=($!)
      given=$work/other.jsonl
    done
    for process in "${processes[@]}"; do
      wait "$process" || { cat "$work"/err.* >&2; exit 1; }
    done
    for name in "${names[@]}"; do
      numbers "$name" "$work/out.$name" | cmp - "$work/one.numbers" ||
        { echo "processes: seed $seed: other numbers in $name" >&2; exit 1; }
    done
    tensors "${names[@]/#/$work/out.}" | cmp - "$work/one.tensors" ||
      { echo "processes: seed $seed: other tensors" >&2; exit 1; }
  done
  echo "same bits as one program: ${#names[@]} processes, $seeds seeds"
done

unset HONE_TEST_ENGINE
peer part1 "$data" part3 2 &
first=$!
peer part3 "$work/other.jsonl" part1 3 && exit 1
wait $first && exit 1
grep -q 'error\[H0812\].*part1.*differs in steps (here 3, there 2)' "$work/err.part3"
grep -q 'error\[H0812\].*part3.*differs in steps (here 2, there 3)' "$work/err.part1"
echo 'programs that were started differently refuse each other'
