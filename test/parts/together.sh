#!/usr/bin/env bash
# together.sh MODEL LAYERS DATA
#
# Trains MODEL, of LAYERS layers, as one module and as several that exchange
# messages; clipping, AdamW, accumulation and a rounded adapter included.
# Messages are delayed by seed. Some run on a device whose memory the host
# cannot see. Losses, norms and the trained tensors must be the same, bit for
# bit, also where one part begins anew in between; where one ends, the other
# waits for its deadline and has the tensors of the last whole step.
set -euo pipefail

model=$1 layers=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
steps=3
data=$work/data.jsonl
for i in $(seq 6); do cat "$3"; tac "$3"; done >"$data"

# build NAME ACCUMULATION [options of honec]: NAME.so.
build() {
  local name=$1
  cat >"$work/spec.yaml" <<SPEC
model: $model
lora: {r: 4, lora_alpha: 8, target_modules: all-linear, dtype: bfloat16}
train: {residuals: mesp, optimizer: adamw, max_grad_norm: 0.5,
        learning_rate: 1e-2, batch_size: 2, max_seq_length: 32,
        gradient_accumulation_steps: $2}
SPEC
  shift 2
  honec "$work/spec.yaml" -o "$work/$name.o" --emit=object "$@" >/dev/null
  c++ -shared -o "$work/$name.so" "$work/$name.o"
}

# weigh NAME [options of honec]: NAME/ with the weights of the last NAME.so.
weigh() {
  honec "$work/spec.yaml" -o "$work/$1" "${@:2}" >/dev/null
}

# program NAME DATA WEIGHTS: the arguments that run it.
program() {
  echo "$1 $work/$1.so $work/$3/weights.hone.safetensors $2"
}

# numbers NAME, tensors: of the output of run-together.
numbers() { sed -n "s/^$1 number //p" "$work/out"; }
tensors() { sed -n 's/^[^ ]* tensor //p' "$work/out" | sort -u; }

# same WHAT NAME...: each program has the numbers of one module, and together
# they have its tensors.
same() {
  local what=$1 name
  shift
  for name in "$@"; do
    numbers "$name" | cmp - "$work/one.numbers" ||
      { echo "together: $what: other numbers in $name" >&2; exit 1; }
  done
  tensors | cmp - "$work/one.tensors" ||
    { echo "together: $what: other tensors" >&2; exit 1; }
}

# one ACCUMULATION: the module for comparison.
one() {
  build one "$1"
  [ -e "$work/one" ] || weigh one
  run-together host $steps 0 $(program one "$data" one) >"$work/out"
  numbers one >"$work/one.numbers"
  tensors >"$work/one.tensors"
  [[ -s $work/one.numbers && -s $work/one.tensors ]]
}

one 2
# The upper part has other data, which it must not read.
head -n 2 "$data" >"$work/other.jsonl"
parts() { program lower "$data" lower; program upper "$work/other.jsonl" upper; }
for after in $(seq 0 $((layers - 1))); do
  for part in lower upper; do
    build $part 2 --step-options="split-after=$after part=$part"
    weigh $part --step-options="split-after=$after part=$part"
  done
  for device in host guarded; do
    run-together $device $steps ${#device} $(parts) >"$work/out"
    same "a cut after layer $after, on $device" lower upper
  done
done
echo "same bits as one module: two parts, cut after each of $layers layers"

for part in lower upper; do
  run-together host $steps 3 restart=$part:2 $(parts) >"$work/out"
  same "$part begins anew after two steps" lower upper
done
echo 'same bits as one module: a part begins anew, the other goes on'

run-together host $steps 0 end=one:2 $(program one "$data" one) >"$work/out"
tensors >"$work/two.tensors"
for part in lower upper; do
  run-together host $steps 4 end=$part:2 timeout=200 $(parts) >"$work/out"
  other=lower
  [[ $part == upper ]] || other=upper
  grep -q "^$other stopped H0816$" "$work/out"
  tensors | cmp - "$work/two.tensors" ||
    { echo "together: $other has no whole step after its deadline" >&2; exit 1; }
done
echo 'a wait that ends by its deadline leaves the last whole step'

"$work/lower/train" --data "$data" --output "$work/run" --steps 1 \
  >"$work/log" 2>&1 && exit 1
grep -q 'error\[H0811\]: .*is one part of a model' "$work/log" && echo 'a part alone is refused'
