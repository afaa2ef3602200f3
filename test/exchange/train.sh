#!/usr/bin/env bash
# train.sh MODEL.mlir WEIGHTS DATA KILLS [SEED] [options of honec]
#
# One program, and two and three programs of the same spec that train together over a
# link which loses, doubles, delays and damages frames and is cut, by seed: losses, norms
# and results must be the same, bit for bit. Then KILLS times one of the programs is
# killed, at a moment that the seed draws, and started again with the same command.
set -euo pipefail

model=$1 weights=$2 data=$3 kills=$4 seed=${5-1} options=("${@:6}")
here=$(dirname "$0")
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
RANDOM=$seed
steps=40
c++ -std=c++17 -O1 -shared -fPIC -I "$here/../../runtime/include" \
  "$here/TestEngine.cpp" -o "$work/engine.so"

# write PROGRAM...: spec.yaml, of one program if there is none.
write() {
  local named=("" "" "")
  (($# == 0)) || named=(", program: $1" ", program: $2" ", program: ${3-}")
  cat >"$work/spec.yaml" <<SPEC
model: $model
weights: {path: $weights}
train: {compute_dtype: float32, residuals: mesp, learning_rate: 1e-2, batch_size: 2,
        max_seq_length: 32, gradient_accumulation_steps: 2, max_grad_norm: 0.5}
parts:
  first: {layers: 0-0, method: mezo, directions: 2, perturbation_scale: 1e-2${named[0]}}
SPEC
  case $# in
    2) echo "  last: {method: backprop${named[1]}}" ;;
    *)
      echo "  middle: {layers: 1-1, method: fgd${named[1]}}"
      echo "  last: {method: backprop${named[2]}}"
      ;;
  esac >>"$work/spec.yaml"
  echo "target: reference" >>"$work/spec.yaml"
}

# of LOG: what a log says, but for what a clock and a machine decide.
of() {
  sed -e 's/"run": "[^"]*", //' -e 's/"tokens_per_second.*//' "$1"
}

# train PROGRAM RUN [options]: in the background, with $work/RUN.PROGRAM.
train() {
  local program=$1 run=$2 own=()
  shift 2
  [[ $program != client ]] ||
    own=(--data "$data" --steps $steps --save-every 2)
  "$work/$run/$program/train" --exchange test --exchange-at "$work/$run" \
    --timeout 20 --output "$work/$run.$program" "${own[@]}" "$@" \
    >>"$work/$run.$program.log" 2>&1 &
}

# same ONE RUN PROGRAM...: logs and results of all programs are those of one.
same() {
  local one=$1 run=$2 program
  shift 2
  for program in "$@"; do
    of "$work/$run.$program/steps.jsonl" | cmp - <(of "$work/$one.run/steps.jsonl") ||
      { echo "train: $run: $program has another log" >&2; exit 1; }
  done
  python3 "$here/join.py" "$work/$one.run" "${@/#/$work/$run.}"
}

# fails PROGRAM RUN: says why.
fails() {
  echo "train: $2: $1 ended with $3" >&2
  tail -n 20 "$work/$2".*.log >&2
  exit 1
}

for count in 2 3; do
  programs=(client server)
  ((count == 2)) || programs=(client middle server)
  write
  ((count == 3)) || sed -i -e '/middle/d' "$work/spec.yaml"
  honec "$work/spec.yaml" -o "$work/one$count" "${options[@]}" >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; exit 1; }
  "$work/one$count/train" --data "$data" --steps $steps --save-every 2 \
    --output "$work/one$count.run" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
  write "${programs[@]}"
  honec "$work/spec.yaml" -o "$work/together$count" "${options[@]}" >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; exit 1; }
  for program in "${programs[@]}"; do
    cp "$work/engine.so" "$work/together$count/$program/hone-exchange-test.so"
  done
  export HONE_TEST_ENGINE="$seed 200 200 3000 100 150"
  declare -A running=()
  for program in "${programs[@]}"; do
    train "$program" "together$count"
    running[$program]=$!
  done
  for program in "${programs[@]}"; do
    wait "${running[$program]}" || fails "$program" "together$count" $?
  done
  same "one$count" "together$count" "${programs[@]}"
  echo "same bits as one program: $count programs over a bad link"
done

# Kills, of both and of three programs in turn. A run that has ended begins anew.
returned=0
for ((done = 0; done < kills;)); do
  count=$((2 + done % 2))
  programs=(client server)
  ((count == 2)) || programs=(client middle server)
  run=together$count
  rm -rf "$work/$run".*
  unset running
  declare -A running=()
  for program in "${programs[@]}"; do
    train "$program" "$run"
    running[$program]=$!
  done
  while ((${#running[@]} > 0)); do
    sleep "0.$(printf %03d $((RANDOM % 300)))"
    for program in "${!running[@]}"; do
      kill -0 "${running[$program]}" 2>/dev/null && continue
      wait "${running[$program]}" || fails "$program" "$run" $?
      unset "running[$program]"
    done
    ((${#running[@]} > 0 && done < kills)) || continue
    all=("${!running[@]}")
    program=${all[RANDOM % ${#all[@]}]}
    kill -9 "${running[$program]}" 2>/dev/null || continue
    wait "${running[$program]}" 2>/dev/null || true
    ((++done))
    train "$program" "$run"
    running[$program]=$!
  done
  same "one$count" "$run" "${programs[@]}"
  returned=$((returned + $(cat "$work/$run".*.log | { grep -c 'all programs go on after step' || true; })))
done
# Else nobody was killed while others trained.
((kills < 30 || returned > 0)) || { echo 'train: no program returned' >&2; exit 1; }
echo "same bits as one program: after $kills kills, $returned returns to a common step"
