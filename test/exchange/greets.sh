#!/usr/bin/env bash
# greets.sh MODEL.mlir WEIGHTS DATA
#
# Two programs that were not compiled in one call refuse each other: each ends
# with 2 and names all differences that decide their numbers, with both values.
# Neither has trained.
set -euo pipefail

model=$1 weights=$2 data=$3
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
. "$(dirname "$0")/programs.sh"
engine "$work/engine.so"
client_and_server 'seed: 3, learning_rate: 1e-2'
quietly honec "$work/spec.yaml" -o "$work/out"
bring client out

# other WHAT SED-EXPRESSION NAME HERE THERE...: with the server of a spec that is edited.
other() {
  local what=$1 code=0 client=0 server=0
  sed -e "$2" "$work/spec.yaml" >"$work/other.yaml"
  shift 2
  quietly honec "$work/other.yaml" -o "$work/other"
  bring server other
  rm -rf "$work"/run.*
  "$work/other/server/train" --exchange test --exchange-at "$work" --timeout 60 \
    --output "$work/run.server" >"$work/server.log" 2>&1 &
  "$work/out/client/train" --exchange test --exchange-at "$work" --timeout 60 --steps 2 \
    --data "$data" --output "$work/run.client" >"$work/client.log" 2>&1 || client=$?
  wait $! || server=$?
  ((client == 2 && server == 2)) ||
    { echo "greets: $what: $client and $server" >&2; cat "$work"/*.log >&2; exit 1; }
  for ((; $# >= 3; )); do
    grep "H0812.*'server'" "$work/client.log" | grep -q -e "$1 (here $2, there $3)" &&
      grep "H0812.*'client'" "$work/server.log" | grep -q -e "$1 (here $3, there $2)" ||
      { echo "greets: $what: no '$1 (here $2, there $3)'" >&2; grep H0812 "$work"/*.log >&2; exit 1; }
    shift 3
  done
  [[ -z $(find "$work"/run.* -name 'checkpoint*' -o -name 'adapter*' -o -name 'steps*') ]] ||
    { echo "greets: $what: one has trained" >&2; exit 1; }
  echo "$what: 2, each by name"
}

other 'cuts and methods' 's/layers: 0-0, method: mezo, directions: 2/layers: 0-1, method: backprop/' \
  parts.first.layers 0 0-1 parts.last.layers 1-2 2 parts.first.method mezo backprop
other 'directions, scales, seeds, sizes, types, rates' "s/directions: 2/directions: 3, perturbation_scale: 1e-4/
  s/seed: 3/seed: 4, gradient_accumulation_steps: 2/; s/batch_size: 2/batch_size: 3/
  s/max_seq_length: 32/max_seq_length: 24/; s/learning_rate: 1e-2/learning_rate: 2e-2/
  s/^target:/exchange: {dtype: bfloat16}\\n&/" \
  parts.first.directions 2 3 --first-perturbation-scale 0.01 0.0001 --seed 3 4 \
  --gradient-accumulation-steps 1 2 train.batch_size 2 3 train.max_seq_length 32 24 \
  --last-learning-rate 0.01 0.02 exchange.dtype float32 bfloat16
cp "$model" "$work/else.mlir"
python3 - "$weights" "$work/else.safetensors" <<'PY'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[-1] ^= 1
open(sys.argv[2], "wb").write(data)
PY
other 'model and weights' "s#path: .*safetensors#path: $work/else.safetensors#; s#^model: .*#model: $work/else.mlir#" \
  model '[^ ]*' '[^ ]*' weights '[0-9a-f]*' '[0-9a-f]*'
