#!/usr/bin/env bash
# skips.sh MODEL.mlir WEIGHTS DATA
#
# A client and a server have the bits of one program where a part skips layers at random
# (selection stochastic-depth): of its two layers, so that it has several numbers of layers at once.
set -euo pipefail

model=$1 weights=$2 data=$3 steps=4 own=()
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
. "$(dirname "$0")/programs.sh"
programs=(client server)

skips='method: lcsb, selection: stochastic-depth, selection_ratio: 0.5'
for lower in "layers: 0-1, $skips" 'layers: 0-0, method: backprop'; do
  upper=$skips
  [[ $lower != *lcsb* ]] || upper='method: backprop'
  client_and_server 'learning_rate: 1e-2'
  sed -i -e "s/^  first: .*/  first: {$lower, program: client}/" \
    -e "s/^  last: .*/  last: {$upper, program: server}/" "$work/spec.yaml"
  rm -rf "$work"/one* "$work"/together*
  quietly timeout 300 honec "$work/spec.yaml" -o "$work/together2"
  as_one one2
  quietly "$work/one2/train" --data "$data" --steps $steps --output "$work/one2.run"
  start_engine
  for program in "${programs[@]}"; do
    bring "$program" together2
  done
  together together2
  same one2 together2 "${programs[@]}"
done
echo "same bits as one program: layers that are skipped"
