#!/usr/bin/env bash
# windows.sh MODEL
#
# A run in windows of time, one that signals stop in mid-step, and one that is
# killed there: each ends with the bits of an undisturbed one. Another program's
# suspended step, a damaged one, and a full disk are named, and nothing is lost.
set -euo pipefail

source "$(dirname "$0")/../reliability/equal.sh"
model=$1
[[ ! -w /dev/shm ]] || export TMPDIR=/dev/shm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Two steps of many batches, so that each takes longer than a window.
cat >"$work/spec.yaml" <<SPEC
model: $model
lora: {r: 4, lora_alpha: 8, target_modules: all-linear}
train: {residuals: mesp, optimizer: adamw, learning_rate: 1e-2, batch_size: 2, max_seq_length: 32,
        gradient_accumulation_steps: 300, steps: 2, warmup_steps: 1}
SPEC
honec "$work/spec.yaml" -o "$work/program" >/dev/null
honec "$work/spec.yaml" --set train.residuals=full -o "$work/other" >/dev/null
for ((i = 0; i < 1200; ++i)); do
  echo "{\"input_ids\": [$(seq -s, $((i % 20)) $((i % 20 + 31)))]}"
done >"$work/data.jsonl"

# train NAME [options]: becomes the program; its output goes to NAME.out.
train() {
  local name=$1
  shift
  exec "${program:-$work/program}/train" --data "$work/data.jsonl" --output "$work/$name" \
    --log "$work/$name.jsonl" --threads 1 "$@" >"$work/$name.out" 2>&1
}
fail() {
  echo "windows: $1" >&2
  tail -n 20 "$work"/*.out >&2
  exit 1
}
# exits CODE NAME [options]
exits() {
  local code=$1 status=0
  shift
  (train "$@") || status=$?
  [[ $status == "$code" ]] || fail "$*: expects exit code $code but got $status"
}
same() {
  [[ $(digest_of "$work/$1") == $(digest_of "$work/whole") ]] || fail "$1: other bits"
  [[ ! -e $work/$1/suspended.safetensors ]] || fail "$1: a suspended step is left"
}
# part NUMERATOR: so many tenths of the time that the whole run took.
part() {
  awk "BEGIN { printf \"%.2f\", $took * $1 / 10 }"
}
# suspends NAME: in mid-step, in a window that grows if other load made it short,
# and shrinks if other load made the whole run long.
suspends() {
  local tenths=4 attempt status
  for attempt in {1..8}; do
    status=0
    (train "$1" --for "$(part "$tenths")s") || status=$?
    case $status in
    0)
      rm -rf "$work/$1"/checkpoint-* "$work/$1.jsonl"
      tenths=$(((tenths + 1) / 2))
      ;;
    2) tenths=$((tenths * 3 / 2 + 1)) ;;
    124) grep -q '^suspended in step' "$work/$1.out" && return ;;
    *) fail "$1: attempt $attempt expects exit code 124 but got $status" ;;
    esac
  done
  fail "$1: not in mid-step"
}

began=$EPOCHREALTIME
exits 0 whole
took=$(awk "BEGIN { print ${EPOCHREALTIME/,/.} - ${began/,/.} }")

exits 2 short --for 0.001s
grep 'error\[H0821\]' "$work/short.out"
grep -E 'help: give --for [0-9]+s' "$work/short.out"

windows=0
while true; do
  status=0
  (train slices --for "$(part $((4 + windows)))s") || status=$?
  # One that other load made too short comes again, longer.
  [[ $status == 124 || $status == 2 ]] || break
  ((++windows < 200)) || fail "windows do not come forward"
done
[[ $status == 0 ]] || fail "a window exits with $status"
((windows > 0)) || fail "a step was shorter than a window"
same slices
echo "in windows: the same bits"

train signals --suspend &
until grep -q '^memory plan' "$work/signals.out" 2>/dev/null; do sleep 0.02; done
sleep "$(part 2)"
kill -TERM $!
status=0
wait $! || status=$?
[[ $status == 143 ]] || fail "SIGTERM ends with $status"
grep -q '^suspended in step' "$work/signals.out" || fail "SIGTERM waits for the step"
exits 0 signals
same signals
echo "stopped by SIGTERM in mid-step: the same bits"

resumed=0
for ((i = 0; i < 10; ++i)); do
  train kills --suspend-every "$(part 0.5)s" &
  sleep "$(part $((RANDOM % 3 + 2)))"
  kill -KILL $! 2>/dev/null || true
  wait $! 2>/dev/null || true
  ! grep -q '^resuming in step' "$work/kills.out" || resumed=1
done
((resumed)) || fail "no kill was in mid-step"
exits 0 kills
same kills
echo "killed in mid-step: the same bits"

# Another program, and other settings.
suspends other
cp "$work/other/suspended.safetensors" "$work/before"
program=$work/other exits 2 other
grep 'error\[H0820\]' "$work/other.out"
exits 2 other --learning-rate 1e-3
grep 'error\[H0801\]' "$work/other.out"
cmp "$work/before" "$work/other/suspended.safetensors"

# A disk that is full, first while the time of writing is measured.
(
  ulimit -f 100
  exits 74 other --suspend-every 0.05s
)
grep 'error\[H1006\].*suspended' "$work/other.out"
cmp "$work/before" "$work/other/suspended.safetensors"
[[ -z $(find "$work/other" -name '*.tmp-*' -o -name '*.probe') ]] || fail "temporaries are left"
exits 0 other
same other
echo "named, and nothing lost"

suspends damaged
truncate -s -1 "$work/damaged/suspended.safetensors"
exits 0 damaged
grep 'warning\[H0819\]' "$work/damaged.out"
same damaged
echo "damaged: passed over, the same bits"
