#!/usr/bin/env bash
# budget.sh MODEL DATA
#
# A budget holds for the threads and the accumulation that it was planned for; a
# run that asks for more is refused, and one whose settings are left to the
# program takes less.
set -euo pipefail

model=$1 data=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "budget: $1" >&2
  cat "$work/log" >&2
  exit 1
}

# least ACCUMULATION: the smallest budget for one thread, in bytes.
least() {
  cat >"$work/spec.yaml" <<SPEC
model: $model
lora: {r: 4, lora_alpha: 8, target_modules: all-linear}
train: {residuals: planned, memory_budget: 1KiB, max_seq_length: 32,
        gradient_accumulation_steps: $1}
target: {threads: 1}
SPEC
  { honec "$work/spec.yaml" --print-plan 2>&1 || true; } |
    sed -n 's/.*(\([0-9]*\) bytes, the smallest.*/\1/p'
}

one=$(least 1) two=$(least 2)
[ "$two" -gt "$one" ] || fail 'a spec that accumulates needs no more'
least 1 >/dev/null
sed -i "s/1KiB/$one/" "$work/spec.yaml"
honec "$work/spec.yaml" -o "$work/out" >"$work/log" 2>&1 || fail 'does not compile'
train=$work/out/train

"$train" --plan >"$work/log" || fail 'refused with what threads fit'
if [ "$(nproc)" -gt 1 ]; then
  grep -q '1 of [0-9]* CPUs: more threads do not fit the budget' "$work/log" ||
    fail 'says nothing of the other processors'
fi

# refused WORDS OPTION...
refused() {
  local words=$1
  shift
  "$train" --plan "$@" >"$work/log" 2>&1 && fail "accepted $*"
  grep -q "error\[H0905\].*$words" "$work/log" || fail "$*: another message"
}
refused 'with 2 threads' --threads 2
refused 'several batches in a step' --gradient-accumulation-steps 2
refused 'with 2 threads' --threads 2 --dump-gradients "$work/gradients" --data "$data"
"$train" --plan --eval-only --eval-data "$data" --gradient-accumulation-steps 2 \
  >"$work/log" 2>&1 || fail 'an evaluation needs nothing for accumulation'
"$train" --data "$data" --output "$work/run" --steps 1 --save-every 0 \
  --gradient-accumulation-steps 2 >"$work/log" 2>&1 && fail 'ran beyond the budget'
[ ! -e "$work/run" ] || fail 'wrote something'

honec "$work/spec.yaml" --set train.memory_budget="$two" \
  --set train.gradient_accumulation_steps=2 -o "$work/two" >"$work/log" 2>&1 ||
  fail 'a budget for two batches does not compile'
"$work/two/train" --data "$data" --output "$work/run" --steps 2 --save-every 0 \
  >"$work/log" 2>&1 || fail 'does not run within its budget'
grep -q '  accumulation ' "$work/log" || fail 'the plan has no line for it'
echo "budget: kept, or refused"
