#!/usr/bin/env bash
# modules-on.sh MODEL.mlir WEIGHTS DATA TARGET
#
# Modules that are programs for TARGET, of which one is killed and started again, have
# the bits of one program for it. Asynchronous ones end, and have losses of their own.
set -euo pipefail

model=$1 weights=$2 data=$3 target=$4
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
steps=6
. "$(dirname "$0")/programs.sh"
. "$here/modules.sh"
start_engine
programs=(module1 module2)

# modules RUN [EVENT]: both train to their ends, the second one killed at EVENT.
modules() {
  local run=$1 module1 module2
  for program in "${programs[@]}"; do bring "$program" "$run"; done
  train module1 "$run" --data "$data" --steps $steps --save-every 2
  module1=$!
  HONE_TEST_EVENT=${2-} train module2 "$run"
  module2=$!
  if [[ -n ${2-} ]]; then
    ends module2 137
    train module2 "$run"
    module2=$!
  fi
  ends module1 0
  ends module2 0
}

compile one '' --target="$target"
quietly "$work/one/train" --data "$data" --steps $steps --output "$work/one.run"
compile waiting ', modules: 2' --target="$target"
modules waiting 'save 2 kill'
for program in "${programs[@]}"; do
  cmp <(losses "$work/one.run/steps.jsonl") <(losses "$work/waiting.$program/steps.jsonl")
done
python3 "$here/join.py" "$work/one.run" "${programs[@]/#/$work/waiting.}"
echo 'same bits as one program: 2 modules, killed once'

compile late ', modules: 2, asynchronous: true' --target="$target"
modules late
if cmp -s <(losses "$work/late.module2/steps.jsonl") <(losses "$work/waiting.module2/steps.jsonl"); then
  echo 'asynchronous modules have waited' >&2
  exit 1
fi
[[ $(losses "$work/late.module2/steps.jsonl" | wc -l) == "$steps" ]]
echo 'asynchronous modules end'
