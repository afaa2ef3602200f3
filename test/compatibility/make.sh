#!/usr/bin/env bash
# make.sh MODEL FOLDER: this version's files, for later versions to read: a run
# after two of four steps, its adapter, a log to replay, and the results of all.
# Run it once for a release, with its tools in PATH; MODEL is
# golden/models/qwen2-tiny.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
model=$(cd "$1" && pwd) folder=$2
mkdir -p "$folder"
cd "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() { honec "$here/spec.yaml" --set model="$model" "${@:2}" -o "$work/$1"; }
digest() { sha256sum <"$1/adapter_model.safetensors" | cut -d ' ' -f 1; }
compile backprop
compile mezo --set train.method=mezo --set train.optimizer=sgd
train() { "$work/$1/train" --data "$here/data.jsonl" --threads 1 --show-samples 0 "${@:2}"; }
train backprop --output "$work/whole" --steps 4 --save-every 2 >"$work/log"
# As a kill after the second step leaves it.
cp -r "$work/whole" run
rm -r run/checkpoint-000004 run/data run/report.html run/README.md
[ -d run/checkpoint-000002 ]
train backprop --output "$work/next" --adapter run --steps 1 >"$work/log"
train mezo --output "$work/mezo-run" --steps 3 >"$work/log"
cp "$work/mezo-run/replay.hone" .
printf '%s %s\n' resumed "$(digest "$work/whole")" from-adapter "$(digest "$work/next")" \
  replayed "$(digest "$work/mezo-run")" >digests
