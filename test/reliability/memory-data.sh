#!/usr/bin/env bash
# memory-data.sh TRAIN TASKS WORK
#
# Memory stays within the plan for data of any size and shape. TRAIN has a
# tokenizer; TASKS is the same program with tasks. Prints a line for each kind.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
train=$1 tasks=$2
mkdir -p "$3"
cd "$3"
python3 "$here/Inputs/hostile-data.py"

for data in long.jsonl long.txt many.jsonl wide.jsonl words.jsonl; do
  printf '%s: ' "$data"
  bash "$here/memory.sh" "$train" $data 0 --steps 2 --eval-data short.jsonl
done

# Samples that are held out, of many.
printf 'tiny.jsonl: '
bash "$here/memory.sh" "$train" tiny.jsonl 0 --steps 2 --eval-split 10

# Every candidate of an example, of which little is kept.
printf 'cb.jsonl: '
bash "$here/memory.sh" "$tasks" cb.jsonl 0 --steps 2 --task cb --too-long cut

# Conversations, which are rendered, and long samples, which are held whole.
for what in cut split; do
  printf 'chat.json %s: ' $what
  bash "$here/memory.sh" "$train" chat.json 0 --steps 2 --too-long $what
done

# A step that reads samples all over the cache.
printf 'accumulated: '
bash "$here/memory.sh" "$train" many.jsonl 0 --steps 1 \
  --gradient-accumulation-steps 500

# Data beyond the limits is an error before it takes memory.
planned=$("$train" --plan | sed -nE 's/.*planned peak *([0-9]+).*/\1/p')
for data in line.jsonl space.jsonl word.txt key.jsonl; do
  status=0
  rm -rf out
  (ulimit -d $((planned * 1024)) &&
    watch-memory seen "$train" --data $data --output out 2>error >/dev/null) ||
    status=$?
  read -r _ mark _ <seen
  echo "$data: exit code $status, $([[ -e out ]] && echo something || echo nothing) left"
  head -n 1 error
  ((mark < (planned + 16) << 20)) || echo "$mark bytes resident"
done
