#!/usr/bin/env bash
# three-layers.sh METHODS DIR: of the six layers of METHODS/Inputs the first three, in
# float32, and random weights.
set -euo pipefail
mkdir -p "$2"
sed -e 's/f64/f32/g; s/tensor<f32>/tensor<f64>/g' -e '/%[456] = hone.call/d' \
  -e 's/hone.call @head "" (%6)/hone.call @head "" (%3)/' \
  "$1/Inputs/six-layers.mlir" >"$2/model.mlir"
python3 "$1/six-layers.py" "$2/weights.safetensors"
