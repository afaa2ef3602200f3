#!/usr/bin/env bash
# methods.sh GOLDEN WORK: trains all parameters of qwen2-tiny, whose head is tied,
# with each method.
set -euo pipefail
golden=$1 work=$2
here=$(dirname "${BASH_SOURCE[0]}")
data=$golden/gradients/qwen2-tiny/batch3.jsonl
compile() { # compile NAME [--set ...]
  honec "$here/Inputs/whole.yaml" -o "$work/$1" \
    --set model="$golden/models/qwen2-tiny" "${@:2}"
}
threads() { # threads NAME: with any number of them the same bits
  echo "$1: $(bash "$here/../reliability/threads.sh" "$work/$1/train" "$data" --epochs 4)"
}

for method in lcsb mezo mezo-one-sided fgd; do
  more=()
  [[ $method != lcsb ]] || more=(--set train.selection_warmup=1)
  [[ $method != fgd ]] || more=(--set train.learning_rate=1e-4)
  [[ $method != mezo* ]] || more=(--set train.learning_rate=1e-4)
  compile "$method" --set train.method="$method" "${more[@]}"
  threads "$method"
  [[ $method != lcsb ]] || continue
  "$work/$method/train" --data "$data" --epochs 4 --output "$work/$method-run" >"$work/log"
  "$work/$method/train" --replay "$work/$method-run/replay.hone" \
    --output "$work/$method-replayed" >"$work/log"
  python3 "$here/Inputs/tensors.py" same "$work/$method-run" "$work/$method-replayed" >"$work/log"
  # Again, also after one that was killed; but over no other model.
  rm "$work/$method-replayed/config.json"
  "$work/$method/train" --replay "$work/$method-run/replay.hone" \
    --output "$work/$method-replayed" >"$work/log"
  "$work/$method/train" --replay "$work/$method-run/replay.hone" \
    --output "$work/$method-replayed" >"$work/log"
  python3 "$here/Inputs/tensors.py" same "$work/$method-run" "$work/$method-replayed" >"$work/log"
  "$work/$method/train" --data "$data" --epochs 2 --seed 8 --output "$work/$method-other" >"$work/log"
  rm -rf "$work/$method-own"
  cp -r "$golden/models/qwen2-tiny" "$work/$method-own"
  chmod -R u+w "$work/$method-own"
  for taken in "$work/$method-own --replay $work/$method-run/replay.hone" \
    "$work/$method-replayed --replay $work/$method-other/replay.hone" \
    "$work/$method-replayed --data $data"; do
    ! "$work/$method/train" --output $taken 2>"$work/log" || exit 1
    grep -q "has a model already" "$work/log"
  done
  echo "$method: replayed"
done
compile compare --set train.compare=fgd
"$work/compare/train" --data "$data" --epochs 4 --output "$work/compared" >"$work/log"
echo "compared: $(head -n 1 "$work/compared/compare.jsonl" | cut -c1-60)"
