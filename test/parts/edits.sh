#!/usr/bin/env bash
# edits.sh MODEL.mlir EDITS
#
# Cuts MODEL, with MeZO below an exact gradient, into three parts, and edits the
# exchanges of one of them in EDITS ways, chosen by seed. hone-verify-exchanges
# accepts the parts as they are and names each edit.
set -euo pipefail

model=$1 edits=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

hone-opt "$model" \
  --test-set-method='lower.layers=0-2 lower.method=mezo upper.method=backprop' \
  --hone-derive-backward --hone-schedule-step \
  --hone-split-parts='after=1,3' --hone-separate-parts \
  --hone-verify-exchanges -o "$work/parts.mlir"
for ((seed = 1; seed <= edits; ++seed)); do
  if hone-opt "$work/parts.mlir" --test-edit-exchange="seed=$seed" \
    --hone-verify-exchanges -o /dev/null 2>"$work/log"; then
    cat "$work/log" >&2
    echo "edits: seed $seed: nobody saw the edit" >&2
    exit 1
  fi
  grep -o 'remark: .*' "$work/log" | sed 's/^.*edit: //' >>"$work/kinds"
  # By the seam, and not by a verifier of one op or a crash.
  grep -q "error: .*of the part '" "$work/log" ||
    { cat "$work/log" >&2; exit 1; }
done
echo "named: $edits of $edits edits, of $(sort -u "$work/kinds" | wc -l) kinds"
