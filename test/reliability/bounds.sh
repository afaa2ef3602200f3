#!/usr/bin/env bash
# bounds.sh LIB CPU WORK HONEC-ARG...
#
# Compiles the generated code once more under AddressSanitizer. Its reads and
# writes must lie in the arena, its threads' scratch, the weights and the batch,
# to the byte, and it must compute the bits of the program that honec links. LIB
# has the runtime; CPU is native or a level such as x86-64-v3. Of three batches
# two are ragged; the first fills every row, so that all of the arena is used.
# HONE_CUTS: the ends that Redzones.c cuts off, one after another. Each must
# then be noticed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
lib=$1 cpu=$2 work=$3
shift 3

rm -rf "$work"
mkdir -p "$work"
cat >"$work/spec.yaml" <<YAML
model: model
lora: {r: 5, lora_alpha: 8, target_modules: all-linear}
train: {batch_size: 3, max_seq_length: 37, learning_rate: 1e-2}
target: $cpu
YAML
awk 'BEGIN {
  count = split("37 37 37 1 36 17 2 33", lengths)
  for (line = 1; line <= count; ++line) {
    ids = line % 259
    for (i = 1; i < lengths[line] || i < 2; ++i) ids = ids ", " (line * i * 37 + 258) % 259
    print "{\"input_ids\": [" ids "]}"
  }
}' >"$work/data.jsonl"

for output in "--emit=binary -o $work/out" "--emit=llvm -o $work/step.ll"; do
  honec "$work/spec.yaml" $output --set target.threads=3 "$@"
done
sed -Ei '/^define /s/ \{$/ sanitize_address {/' "$work/step.ll" # not all have a group of attributes
clang++-22 -march="$cpu" -fsanitize=address,undefined --rtlib=compiler-rt \
  -Wl,--wrap=mmap,--wrap=munmap -o "$work/out/checked" -Wno-override-module \
  -x ir "$work/step.ll" -x c "$here/Redzones.c" -x none \
  "$lib"/libhone_{runtime_main,program,exchange,text,core}.a -pthread -lm

export ASAN_OPTIONS=allow_user_poisoning=1
run() { # run PROGRAM THREADS
  "$work/out/$1" --data "$work/data.jsonl" --output "$work/$1-$2" \
    --threads "$2" --epochs 2 --shuffle false >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    return 1
  }
}
run train 1
for threads in 1 3; do
  run checked $threads
  cmp "$work/train-1/adapter_model.safetensors" \
    "$work/checked-$threads/adapter_model.safetensors"
done
echo "bounds: nothing outside"

# Where a mapping is shorter than was planned, generated code is caught.
for cut in ${HONE_CUTS-}; do
  rm -rf "$work/checked-1"
  if HONE_CUT=$cut run checked 1 2>"$work/$cut.log"; then
    echo "bounds: nobody uses $cut" >&2
    exit 1
  fi
  echo "$cut: $(grep -oE 'use-after-poison|in (tile_[a-z_]+|[a-z.]+task)' \
    "$work/$cut.log" | head -2 | paste -sd' ')"
done
