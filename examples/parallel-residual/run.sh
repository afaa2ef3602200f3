#!/usr/bin/env bash
# The commands of README.md. Usage: run.sh BUILD_DIR WORK_DIR
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PATH=$(cd "$1" && pwd)/bin:$PATH
work=$2
rm -rf "$work"
mkdir -p "$work"
cd "$here"
honec spec.yaml --stop-after=derive
honec spec.yaml --stop-after=place >"$work/placed.mlir"
honec spec.yaml --print-plan
honec spec.yaml -o "$work/out"
"$work/out/train" --data ../../test/reference/golden/gradients/parallel-tiny/batch3.jsonl \
  --output "$work/run" --epochs 20
