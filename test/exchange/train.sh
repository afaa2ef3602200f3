#!/usr/bin/env bash
# train.sh MODEL.mlir WEIGHTS DATA KILLS [SEED] [options of honec]
#
# One program, and two and three programs of the same spec that train together over a
# link which loses, doubles, delays and damages frames and is cut, by seed: losses, norms
# and results must be the same, bit for bit. Then KILLS times one of the programs is
# killed, a few steps and milliseconds later that the seed draws, and started again with
# the same command.
# HONE_TRAIN_OVER: another engine, of which over-NAME.sh says how programs meet.
# HONE_CUTS: so many links must have been cut, at least.
# The adapters of all programs together are that of one (hone-adapter join).
set -euo pipefail

model=$1 weights=$2 data=$3 kills=$4 seed=${5-1} options=("${@:6}")
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
RANDOM=$seed
steps=40
. "$(dirname "$0")/programs.sh"
[[ -z ${HONE_TRAIN_OVER-} ]] || . "$here/over-$HONE_TRAIN_OVER.sh"

for count in 2 3; do
  prepare $count "${options[@]}"
  export HONE_TEST_ENGINE="$seed 200 200 3000 100 150"
  read -r -a programs < <(names $count)
  together "together$count"
  same "one$count" "together$count" "${programs[@]}"
  quietly hone-adapter join "${programs[@]/#/$work/together$count.}" -o "$work/joined$count"
  for file in adapter_config.json adapter_model.safetensors; do
    cmp "$work/joined$count/$file" "$work/one$count.run/$file"
  done
  echo "same bits as one program: $count programs over a bad link"
done

# lines: of the log of the one that leads.
lines() { { cat "$work/$run.client/steps.jsonl" 2>/dev/null || true; } | wc -l; }

# goesOn STEPS: waits for as many more, or for the end of a program.
goesOn() {
  local target=$(($(lines) + $1)) program
  ((target < steps)) || target=$steps
  while (($(lines) < target)); do
    for program in "${!running[@]}"; do
      kill -0 "${running[$program]}" 2>/dev/null || return 0
    done
    sleep 0.01
  done
}

# Kills, of two and of three programs in turn.
returned=0 count=3
fresh() {
  ends=0
  count=$((5 - count))
  read -r -a programs < <(names $count)
  run=together$count
  rm -rf "$work/$run".*
}
starts() { train "$1" "$run"; }
pause() {
  goesOn $((RANDOM % 5))
  sleep "0.0$(printf %02d $((RANDOM % 60)))"
  # After the last step there is little to do: programs would be killed whenever they begin.
  (($(lines) < steps || ++ends <= 2))
}
broke() { fails "$1" "$run" "$2"; }
whole() {
  same "one$count" "$run" "${programs[@]}"
  returned=$((returned + $(cat "$work/$run".*.log | { grep -c 'all programs go on after step' || true; })))
}
survives "$kills"
# Else nobody was killed while others trained.
((kills < 30 || returned > 0)) || { echo 'train: no program returned' >&2; exit 1; }
links=$(cuts)
echo "same bits as one program: after $kills kills, $returned returns to a common step, $links cuts"
((links >= ${HONE_CUTS-0})) || { echo "train: expects $HONE_CUTS cuts but got $links" >&2; exit 1; }
