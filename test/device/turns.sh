#!/usr/bin/env bash
# turns.sh MODEL DATA
#
# Programs that train in turns in one process have the bits that each has alone,
# where they stream their weights and where they do not.
set -euo pipefail

model=$1 data=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
steps=4

# build NAME STREAMING RATE: NAME.so and its weights.
build() {
  cat >"$work/$1.yaml" <<SPEC
model: $model
lora: {r: 4, lora_alpha: 8, target_modules: all-linear}
weights: {streaming: $2}
train: {residuals: mesp, learning_rate: $3, batch_size: 2, max_seq_length: 32}
SPEC
  honec "$work/$1.yaml" -o "$work/$1.o" --emit=object >/dev/null
  c++ -shared -o "$work/$1.so" "$work/$1.o"
  honec "$work/$1.yaml" -o "$work/$1" >/dev/null
}

# train NAME...: the steps of these, in turns.
train() {
  local name arguments=()
  for name in "$@"; do
    arguments+=("$work/$name.so" "$work/$name/weights.hone.safetensors")
  done
  train-in-turns "$data" $steps "${arguments[@]}"
}

build streaming true 1e-2
build resident false 2e-2
build other true 3e-2
nm -u "$work/streaming.so" | grep -q hone_release
train streaming resident other >"$work/together"
for name in streaming resident other; do
  train $name >"$work/alone"
  [[ $(wc -l <"$work/alone") == "$steps" ]]
  cmp <(grep "/$name.so " "$work/together") "$work/alone"
  echo "in turns as alone: $name"
done
