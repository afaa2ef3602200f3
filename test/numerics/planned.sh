#!/usr/bin/env bash
# planned.sh GOLDEN NAME WORK HONEC-ARG...: compiles a golden model under the
# smallest budget and larger ones. Every gradient must be, bit by bit, that of
# residuals full, and a run must stay within its plan. Says which plan each
# budget gave.
set -euo pipefail
golden=$1 name=$2 work=$3
shift 3
figures=$golden/gradients/$name
spec=$(dirname "$0")/Inputs/lora.yaml

rm -rf "$work"
mkdir -p "$work"

# gradients OUT HONEC-ARG...
gradients() {
  local out=$1
  shift
  honec "$spec" -o "$out" "$@"
  for batch in batch1 batch3; do
    "$out/train" --data "$figures/$batch.jsonl" --adapter "$figures/adapter" \
      --dump-gradients "$out/$batch.safetensors" >"$out/log" 2>&1
  done
}

gradients "$work/full" "$@" --set train.residuals=full
honec "$spec" "$@" --memory-budget=1MiB --print-plan 2>"$work/error" && exit 1
least=$(grep -oE '\([0-9]+ bytes, the' "$work/error" | tr -dc 0-9)
for more in 0 150000 600000; do
  plan=$work/$more
  gradients "$plan" "$@" --memory-budget=$((least + more))
  for batch in batch1 batch3; do
    cmp "$work/full/$batch.safetensors" "$plan/$batch.safetensors"
  done
  bash "$(dirname "$0")/../reliability/memory.sh" "$plan/train" \
    "$figures/batch3.jsonl" 0
  honec "$spec" "$@" --memory-budget=$((least + more)) --print-plan |
    sed -n "/^planned$/,\$s/^ /$more &/p"
done

# Values that are computed in bfloat16 are already kept so.
[[ $* != *compute_dtype=bfloat16* ]] || exit 0

# With inputs in bfloat16 a smaller budget can be kept.
honec "$spec" "$@" --memory-budget=1MiB --set train.kept_dtype=bfloat16 \
  --print-plan 2>"$work/error" && exit 1
smaller=$(grep -oE '\([0-9]+ bytes, the' "$work/error" | tr -dc 0-9)
((smaller < least)) || exit 1
# Where there is room, inner values are kept rounded too.
for more in 0 150000; do
  gradients "$work/rounded" "$@" --memory-budget=$((smaller + more)) \
    --set train.kept_dtype=bfloat16
  honec "$spec" "$@" --memory-budget=$((smaller + more)) \
    --set train.kept_dtype=bfloat16 --print-plan |
    sed -n "/layers keep/s/^ /rounded $more &/p"
  bash "$(dirname "$0")/../reliability/memory.sh" "$work/rounded/train" \
    "$figures/batch3.jsonl" 0
  for batch in batch1 batch3; do
    python3 "$(dirname "$0")/kept-bfloat16.py" \
      "$work/full/$batch.safetensors" "$work/rounded/$batch.safetensors"
  done
done
