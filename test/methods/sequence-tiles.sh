#!/usr/bin/env bash
# sequence-tiles.sh MODEL WORK HONEC-ARG...: a program that runs its layers for some
# sequences of a batch after the others has the bits of one that does not.
set -euo pipefail
here=$(dirname "$0")
model=$1 work=$2
shift 2
rm -rf "$work"
mkdir -p "$work"
source "$here/../reliability/equal.sh"

# Eight sequences of 70 to 130 tokens are about three tiles of 384 rows. Few of
# them start where a tile's rows do.
python3 - "$work/data.jsonl" <<'END'
import json, sys
with open(sys.argv[1], "w") as data:
    for sample in range(24):
        length = 130 - sample * 37 % 61
        ids = [(sample * 31 + i * i * 7 + i) % 61 for i in range(length)]
        print(json.dumps({"input_ids": ids, "labels": ids}), file=data)
END

options=("$here/Inputs/directions.yaml" --set model="$model"
  --set train.batch_size=8 --set train.max_seq_length=130 "$@")
tiles() { # tiles NAME: those of sequences in its module
  grep -c "hone.row_tiles 384(.*hone.longest_sequence = 130" "$work/$1.mlir" || true
}
for name in tiled whole; do
  [[ $name = tiled ]] || options+=(--memory-budget=none)
  honec "${options[@]}" -o "$work/$name"
  honec "${options[@]}" --print-plan >"$work/$name.plan"
  honec "${options[@]}" --stop-after=place >"$work/$name.mlir"
  for threads in 1 3; do
    run=$work/$name-$threads
    "$work/$name/train" --data "$work/data.jsonl" --output "$run" --steps 4 \
      --threads $threads --log "$run.jsonl" >"$work/out"
    digest_of "$run" >"$run.digest"
  done
done
[[ $(tiles tiled) -gt 0 && $(tiles whole) = 0 ]] || {
  echo "expected tiles of 384 rows in one program alone" >&2
  grep -h "hone.row_tiles" "$work"/*.mlir >&2
  exit 1
}
grep "rows of a tile" "$work/tiled.plan"
for run in whole-3 tiled-1 tiled-3; do
  cmp "$work/whole-1.digest" "$work/$run.digest"
done
echo "tiles of sequences: the bits of whole batches, with 1 and 3 threads"
