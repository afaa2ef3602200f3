#!/usr/bin/env bash
# offloading.sh MODEL WORK
#
# Values that layers leave in a file change no bit, for any number of threads, with
# fewer rows, and after kills; the run takes no more memory than is planned, and
# tells the bytes that it writes. A disk that is full, or that fails later, ends
# the run with its checkpoints intact.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
source "$here/twelve-lines.sh"
source "$here/equal.sh"
model=$1 work=$2
mkdir -p "$work"
cd "$work"
twelve_lines >data.jsonl
cat >spec.yaml <<YAML
model: $model
lora: {r: 4, lora_alpha: 8, target_modules: all-linear}
train: {residuals: mesp, batch_size: 2, max_seq_length: 32, learning_rate: 1e-2}
YAML
fail() {
  echo "offloading: $1" >&2
  tail -n 20 ./*.out >&2
  exit 1
}

honec spec.yaml -o kept
honec spec.yaml -o offloaded --set train.activation_offloading=true
train() { # train PROGRAM NAME [options]
  "./$1/train" --data data.jsonl --output "$2" --log "$2.jsonl" --epochs 3 \
    --save-every 6 "${@:3}" >"$2.out" 2>&1
}
train kept whole --threads 1
for threads in 1 2 3 4; do
  train offloaded "on-$threads" --threads $threads
  [[ $(digest_of "on-$threads") == $(digest_of whole) ]] || fail "$threads threads: other bits"
done
grep -E '^  offloaded ' on-1.out
grep -E '^offloaded ' on-1.out
train kept whole-fewer --threads 1 --batch-size 1 --gradient-accumulation-steps 2
train offloaded fewer --threads 2 --batch-size 1 --gradient-accumulation-steps 2
[[ $(digest_of fewer) == $(digest_of whole-fewer) ]] || fail "fewer rows: other bits"
echo "any threads, fewer rows: same bits"

# The last line counts the bytes of one process, and says so: six steps of
# eighteen.
rm -r on-1/checkpoint-000018
train offloaded on-1 --threads 1
grep -E '^offloaded ' on-1.out

# Together with other ways to save memory, beside the same without a file.
together() { # together NAME OTHER KEY=VALUE...
  local name=$1 other=$2 set sets=()
  shift 2
  for set in "$@"; do sets+=(--set "$set"); done
  honec spec.yaml -o "$name" "${sets[@]}"
  train "$name" "run-$name" --threads 2
  [[ $(digest_of "run-$name") == $(digest_of "$other") ]] || fail "$name: other bits"
  grep -q '"offloaded_bytes": [1-9]' "run-$name.jsonl" || fail "$name: nothing was offloaded"
}
in_backward=(train.optimizer_in_backward=true train.max_grad_norm=0 weights.streaming=true)
honec spec.yaml -o kept-in-backward --set train.optimizer_in_backward=true
train kept-in-backward whole-in-backward --threads 1
together in-backward whole-in-backward "${in_backward[@]}" train.activation_offloading=true
# The kept values of layers beside their inputs, of all layers and of the first.
honec spec.yaml -o keeping --set train.residuals=full
train keeping whole-keeping --threads 1
together offloads-kept whole-keeping train.residuals=full train.activation_offloading=true
honec spec.yaml -o some --set train.residuals=full --step-options="offloaded-inputs=1"
train some run-some --threads 3
[[ $(digest_of run-some) == $(digest_of whole-keeping) ]] || fail "some: other bits"
written() { grep -oE '"offloaded_bytes": *[0-9]+' "$1" | head -n 1 | grep -oE '[0-9]+'; }
inputs=$(written on-1.jsonl) kept=$(written run-offloads-kept.jsonl) some=$(written run-some.jsonl)
((some > 0 && some < kept && inputs < kept)) || fail "written: $inputs of inputs, $kept with kept values, $some of one layer"
echo "kept values of all layers and of some: same bits"
echo "streamed, updated in the backward: same bits"

for program in kept offloaded; do
  ./$program/train --data data.jsonl --adapter whole --dump-gradients $program.safetensors >$program.out
done
cmp kept.safetensors offloaded.safetensors
echo "same gradients"

bash "$here/kill-resume.sh" offloaded/train data.jsonl 3 --epochs 150 --save-every 60 --threads 2

# A step's bytes from before another process took it up count, too.
for milliseconds in 200 300 400 500 600; do
  timeout -s KILL 0.$milliseconds offloaded/train --data data.jsonl --output taken \
    --log taken.jsonl --epochs 50 --save-every 0 --suspend-every 0.02s >taken.out 2>&1 || true
done
offloaded/train --data data.jsonl --output taken --log taken.jsonl --epochs 50 --save-every 0 >taken.out
steps=$(grep -c '"loss"' taken.jsonl) written=$(grep -c '"offloaded_bytes": [1-9]' taken.jsonl)
((steps == written)) || fail "$((steps - written)) of $steps steps have written nothing"
echo "taken up: each step says what it wrote"
bash "$here/memory.sh" offloaded/train data.jsonl 0 --epochs 3

# Calls of the file fail once: to reserve room, to write, to read. The first write and
# read ask whether values can pass the system's cache by: if they fail, none does.
# A write that took a part goes on, or says why it cannot.
"${CC:-cc}" -shared -fPIC -O1 "$here/FailOffload.c" -o fail.so
for call in posix_fallocate:1 pwrite:1 pwrite:2 pwrite:9 part:9 short:9 pread:2 pread:9; do
  rm -rf failing failing.jsonl
  status=0
  LD_PRELOAD=./fail.so HONE_FAIL_OFFLOAD=$call train offloaded failing || status=$?
  echo "$call: exit code $status, $(grep -o 'error\[H[0-9]*\].*' failing.out | tail -n 1 | sed 's/: .* of offloaded/: ... of offloaded/')"
  train offloaded failing
  [[ $(digest_of failing) == $(digest_of whole) ]] || fail "after $call: other bits"
done
echo "afterwards: same bits"
LD_PRELOAD=./fail.so HONE_REFUSE_DIRECT=1 train offloaded refused --threads 2
[[ $(digest_of refused) == $(digest_of whole) ]] || fail "through the cache: other bits"
echo "through the cache: same bits"
