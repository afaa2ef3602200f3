#!/usr/bin/env bash
# cache.sh WORK: kills compilations at random moments, damages cached programs,
# and runs two at once. WORK has model/ and a.jsonl.
set -euo pipefail
cd "$1"
export HONE_CACHE=$1/cache
RANDOM=${SEED:-11}

finetune() { # finetune OUTPUT
  hone finetune model a.jsonl -o "$1" --set train.memory_budget=none -- \
    --steps 1 --show-samples 0 2>&1
}

for kill in 1 2 3 4 5; do
  finetune run >killed.txt &
  pid=$!
  sleep "0.$((RANDOM % 4))$((RANDOM % 10))"
  kill -9 "$pid" 2>/dev/null || true
  pkill -9 -f "^hone finetune model a.jsonl -o run" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  rm -rf run
done
finetune run >done.txt
grep -qw 'after 1 of 1 step' done.txt
echo "killed while compiling 5 times, then done"

program=$(ls -d cache/*/train)
printf x >>"$program"
rm -rf run
echo "changed program: $(finetune run | grep -o 'compiled in')"
touch model/model.safetensors
rm -rf run
echo "changed model: $(finetune run | grep -o 'compiled in')"

for weights in cache/*/weights.hone.safetensors; do
  truncate -s -1 "$weights"
done
rm -rf run
echo "cut weights: $(finetune run | grep -o 'compiled in')"

# Nothing goes on in a folder whose command was killed.
rm -rf run
hone finetune model a.jsonl -o run --set train.memory_budget=none -- \
  --steps 1000000 --show-samples 0 --save-every 1000000 >run.txt 2>&1 &
pid=$!
until grep -q '^step ' run.txt; do sleep 0.05; done
kill -9 "$pid"
wait "$pid" 2>/dev/null || true
for wait in 1 2 3 4 5 6 7 8 9 10; do
  pgrep -f "^$1/cache/[^ ]*/train " >/dev/null || break
  sleep 0.1
done
! pgrep -f "^$1/cache/[^ ]*/train " >/dev/null
echo "killed while training, and train with it"

rm -rf cache run
finetune one >one.txt &
finetune two >two.txt
wait
grep -qw 'after 1 of 1 step' one.txt
grep -qw 'after 1 of 1 step' two.txt
echo "two at once: done"
