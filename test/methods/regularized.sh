#!/usr/bin/env bash
# regularized.sh MODEL DATA WORK: methods that leave layers out or move along
# directions have the masks of dropout, noise and smoothed labels that a target of
# formulas has: the same losses but for roundings, and there too the same bits for
# any threads and after kills.
set -euo pipefail
here=$(dirname "$0")
model=$1 data=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
source "$here/runs.sh"

for method in lcsb lisa mezo; do
  some=(--set train.method=$method)
  [[ $method == mezo ]] || some=(--set train.method=lcsb --set train.selection_ratio=0.5)
  [[ $method != lcsb ]] || some+=(--set train.selection_warmup=0)
  [[ $method != lisa ]] ||
    some+=(--set train.selection=lisa --set train.selection_period=3)
  for target in native reference; do
    honec "$here/Inputs/lcsb.yaml" -o "$work/$method-$target" --set model="$model" \
      --set lora.lora_dropout=0.2 --set train.neftune_noise_alpha=5 \
      --set train.label_smoothing_factor=0.1 "${some[@]}" --target=$target
    run "run-$method-$target" "$method-$target" --steps 12
  done
  python3 - "$work/run-$method-"{native,reference}.jsonl <<'EOF'
import json, sys
runs = [[json.loads(line)["loss"] for line in open(path)] for path in sys.argv[1:]]
assert [len(losses) for losses in runs] == [12, 12], runs
apart = max(abs(a - b) for a, b in zip(*runs))
assert apart < 2e-6, apart
EOF
  echo "$method: the losses of both targets"
  for target in native reference; do
    bash "$here/../reliability/threads.sh" "$work/$method-$target/train" "$data" --steps 6
  done
  bash "$here/../reliability/kill-resume.sh" "$work/$method-reference/train" "$data" 2 \
    --steps 100 --save-every 7
done
