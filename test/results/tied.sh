#!/usr/bin/env bash
# tied.sh HERE WORK NAME DATA: merges WORK/NAME-run into WORK/model, and
# compares the merged model with WORK/NAME's programs and the adapter, in losses
# and text.
set -euo pipefail
here=$1 work=$2 name=$3 data=$4
hone-adapter merge "$work/model" "$work/$name-run" -o "$work/$name-merged" >"$work/log"
grep -q '"tie_word_embeddings": false' "$work/$name-merged/config.json"
honec "$here/Inputs/saved.yaml" -o "$work/$name-again" --emit=train,generate --set model="$work/$name-merged"
loss() { # loss PROGRAMS [options]
  "$1/train" --eval-only --eval-data "$data" "${@:2}" | awk '/^eval loss/ { print $3 }'
}
text() {
  "$1/generate" --prompt-ids "3 14 15 92 65" --show-ids --max-new-tokens 24 "${@:2}" 2>"$work/log"
}
# Merging rounds the sums with adapters.
awk -v a="$(loss "$work/$name" --adapter "$work/$name-run")" -v b="$(loss "$work/$name-again")" \
  'BEGIN { exit !(a > 0 && (a - b) ^ 2 < 1e-10) }' && echo "same loss"
diff <(text "$work/$name" --adapter "$work/$name-run") <(text "$work/$name-again") && echo "same text"
