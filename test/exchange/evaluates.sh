#!/usr/bin/env bash
# evaluates.sh MODEL.mlir WEIGHTS DATA KILLS
#
# Two programs of which one evaluates on the way: its results, the step of an
# early stop, and the best and the last adapters are those of one program, also
# if one of them is killed KILLS times.
set -euo pipefail

model=$1 weights=$2 data=$3 kills=$4
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
steps=40
. "$(dirname "$0")/programs.sh"
RANDOM=1
head -n 3 "$data" >"$work/held.jsonl"
run=together2

# evaluations RUN: those of the log.
evaluations() { of "$1/steps.jsonl" | grep eval_loss; }

# check WHAT: the two programs have the files of one.
check() {
  evaluations "$work/$run.client" | cmp - <(evaluations "$work/one2.run") ||
    { echo "evaluates: $1: other evaluations" >&2; exit 1; }
  same2 "$1" "" && same2 "$1" /best
}

# same2 WHAT FOLDER
same2() {
  python3 "$here/join.py" "$work/one2.run$2" "$work/$run.client$2" "$work/$run.server$2" ||
    { echo "evaluates: $1: another adapter in .$2" >&2; exit 1; }
}

for options in '--eval-every 3 --early-stop 2 --learning-rate 3e-1' \
  '--eval-every 3 --load-best-model-at-end'; do
  read -r -a chosen <<<"$options"
  learning=()
  if [[ ${chosen[*]} == *--learning-rate* ]]; then
    learning=(--first-learning-rate 3e-1 --last-learning-rate 3e-1)
    unset 'chosen[-1]' 'chosen[-1]'
  fi
  rm -rf "$work/one2" "$work/one2.run" "$work/together2"*
  own=(--save-every 4 --eval-data "$work/held.jsonl" "${chosen[@]}")
  both=("${learning[@]}")
  prepare 2
  train client $run
  client=$!
  train server $run
  server=$!
  for ((done = 0; done < kills; )); do
    sleep "0.$(printf %03d $((RANDOM % 200)))"
    program=client
    ((RANDOM % 2)) || program=server
    kill -9 "${!program}" 2>/dev/null || break
    { wait "${!program}" || true; } 2>/dev/null
    ((++done))
    train $program $run
    printf -v $program %s $!
  done
  for program in client server; do
    wait "${!program}" || fails $program $run $?
  done
  check "$options"
  echo "same bits as one program: $options, $(evaluations "$work/one2.run" | wc -l) evaluations, $((kills > 0 ? done : 0)) kills"
done
