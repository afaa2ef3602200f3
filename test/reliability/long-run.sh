#!/usr/bin/env bash
# long-run.sh TRAIN DATA EVAL-DATA STEPS [options of TRAIN ...]
#
# Hours on paper: at step STEPS, after a save and an evaluation every 5 steps, a
# run holds as many descriptors and mappings as at step 1000, less than 1 KiB more
# of heap and at most a page more of anonymous memory. Before that it touches
# pages of its heap and stack for the first time. TRAIN must be dynamically linked.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
train=$1 data=$2 eval=$3 steps=$4
shift 4
[[ ! -w /dev/shm ]] || export TMPDIR=/dev/shm # thousands of saves
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -shared -fPIC -O1 "$here/CountHoldings.c" -o "$work/count.so"

LD_PRELOAD=$work/count.so HONE_STEPS=" 500 1000 $steps " \
  HONE_HOLDINGS=$work/holdings "$train" --data "$data" --eval-data "$eval" \
  --output "$work/run" --log "$work/log" --steps "$steps" --save-every 5 \
  --eval-every 5 "$@" >"$work/out" 2>&1 || {
  tail "$work/out" >&2
  exit 1
}
{
  read -r _ # freed pieces of the first count stay in the heap
  read -r _ few
  read -r _ many
} <"$work/holdings"
read -r descriptors mappings heap resident <<<"$few"
read -r moreDescriptors moreMappings moreHeap moreResident <<<"$many"
# Freed pieces count as heap, and longer numbers leave others: less than a byte
# for each save, so none can be of them.
((moreDescriptors == descriptors && moreMappings == mappings &&
  moreHeap - heap < 1024 && moreResident - resident <= 4096)) || {
  echo "long-run: descriptors, mappings, heap, resident: $few at step 1000," \
    "$many at step $steps" >&2
  exit 1
}
echo "long-run: at step 1000 as at step $steps $descriptors descriptors," \
  "$mappings mappings, $((moreHeap - heap)) bytes more of heap," \
  "$((moreResident - resident)) of anonymous memory"
