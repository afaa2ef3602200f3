#!/usr/bin/env bash
# best.sh TRAIN DATA EVAL [options of TRAIN ...]
#
# The adapter that --eval-every keeps and the step at which --early-stop stops,
# by the log alone. The options must have constant rates, so that a shorter run
# has the same bits.
set -euo pipefail

train=$1 data=$2 eval=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "best: $1" >&2
  tail -n 20 "$work"/*.out >&2
  exit 1
}

options=("$@" --data "$data" --eval-data "$eval" --eval-every 10)
run() { # run NAME [options]
  local name=$1
  shift
  "$train" "${options[@]}" --output "$work/$name" --log "$work/$name.jsonl" "$@" \
    >"$work/$name.out" 2>&1 || fail "the run '$name' failed"
}
same() { cmp "$work/$1/adapter_model.safetensors" "$work/$2/adapter_model.safetensors"; }

# choice LOG PATIENCE: the best step of the log, and where the run has to stop.
choice() {
  python3 - "$1" "$2" <<'PY'
import json, sys
patience = int(sys.argv[2])
best = None
evaluations = [json.loads(line) for line in open(sys.argv[1]) if "eval_loss" in line]
for line in evaluations:
    if best is None or line["eval_loss"] < best[1]:
        best, waited = (line["step"], line["eval_loss"]), 0
    else:
        waited += 1
    if waited == patience:
        break
assert line is evaluations[-1], "evaluations follow the one that stops"
print(best[0], line["step"])
PY
}

run stopped --epochs 10 --early-stop 3
read -r best last <<<"$(choice "$work/stopped.jsonl" 3)"
[ "$best" -lt "$last" ] || fail "the run has no worse evaluation: choose others"
grep -q "^best .* after step $best, in .*/best$" "$work/stopped.out" ||
  fail "expected step $best to be the best"
grep -q "^adapter .* after $last of" "$work/stopped.out" ||
  fail "expected a stop after step $last"
run to-best --steps "$best"
same stopped/best to-best || fail "best/ is not the adapter of step $best"
run to-last --steps "$last"
same stopped to-last || fail "the adapter is not that of step $last"
[ -d "$work/stopped/checkpoint-$(printf %06d "$best")" ] ||
  fail "the best checkpoint is gone"

# Again: nothing is done, and that is said.
cp "$work/stopped.jsonl" "$work/before"
run stopped --epochs 10 --early-stop 3
grep -q '^the run has stopped early already' "$work/stopped.out" ||
  fail "a stopped run does not say so"
! grep -q '^step  *[0-9]*/' "$work/stopped.out" || fail "a stopped run went on"
cmp "$work/before" "$work/stopped.jsonl" || fail "a stopped run changed its log"
same stopped to-last || fail "a stopped run changed its adapter"

# A larger patience goes on, as if it had been there from the start.
run stopped --epochs 10 --early-stop 5
run patient --epochs 10 --early-stop 5
same stopped patient && same stopped/best patient/best ||
  fail "going on ends otherwise than a run with that patience"

run loaded --epochs 10 --early-stop 3 --load-best-model-at-end --save-total-limit 1
same loaded to-best || fail "--load-best-model-at-end left another adapter"
[ "$(ls -d "$work"/loaded/checkpoint-* | wc -l)" -eq 2 ] ||
  fail "expected the newest and the best checkpoint"

# A process that died after the checkpoint left an older best/.
cp "$work"/to-last/adapter_model.safetensors "$work/loaded/best/"
run loaded --epochs 10 --early-stop 3 --load-best-model-at-end --save-total-limit 1
same loaded/best to-best || fail "an older best/ stayed"

# A best checkpoint that is damaged is no silence.
truncate -s 100 "$work/loaded/checkpoint-$(printf %06d "$best")/state.safetensors"
status=0
"$train" "${options[@]}" --output "$work/loaded" --epochs 10 --early-stop 3 \
  --load-best-model-at-end --log "$work/loaded.jsonl" >"$work/damaged.out" 2>&1 || status=$?
[ "$status" -eq 65 ] && grep -q 'error\[H0804\].*best evaluation' "$work/damaged.out" ||
  fail "a damaged best checkpoint was not refused"

# Without it, the adapter of the last step is there, and best/ as it was.
cp -r "$work/loaded/best" "$work/kept"
rm "$work/loaded/adapter_model.safetensors"
run loaded --epochs 10 --early-stop 3
same loaded to-last || fail "the last adapter is not written without the best checkpoint"
cmp "$work/kept/adapter_model.safetensors" "$work/loaded/best/adapter_model.safetensors" ||
  fail "best/ changed without its checkpoint"
grep -q 'warning\[H0804\].*left as it is' "$work/loaded.out" ||
  fail "a damaged best checkpoint is silent"

# The report of a second process is that of the first.
sample() {
  python3 "$(dirname "$0")/../report/Inputs/run_of.py" "$work/$1/report.html" sample after
}
first=$(sample patient)
[ -n "$first" ] || fail "no loss after training in a report"
run stopped --epochs 10 --early-stop 5
[ "$(sample stopped)" = "$first" ] ||
  fail "the report of a run that was started again has another loss after training"

echo "best: step $best of $last is kept, stopped, resumed and loaded"
