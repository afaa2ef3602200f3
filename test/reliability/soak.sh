#!/usr/bin/env bash
# soak.sh TRAIN WORK KILLS
#
# Kills (-9) at random moments of everything that a run does: starting,
# tokenising, training, evaluating, saving, resuming. Each run goes on from the
# files of the one before; whenever one ends, its adapter, its losses and its
# folder must be those of an undisturbed run. TRAIN has a tokenizer. SEED=N
# repeats the same moments.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
source "$here/equal.sh"
train=$1 kills=$3
mkdir -p "$2"
cd "$2"
SEED=${SEED:-$$}
echo "soak: SEED=$SEED" >&2
RANDOM=$SEED

# Tokenising takes about as long as training.
for i in {1..3000}; do
  echo "{\"text\": \"line $i of many that are longer than a sample\"}"
  echo "{\"text\": \"$i\"}"
done >data.jsonl
head -n 40 data.jsonl >eval.jsonl

run() { # run NAME
  exec "$train" --data data.jsonl --eval-data eval.jsonl --eval-every 9 \
    --output "$1" --log "$1.jsonl" --steps 60 --save-every 7 --threads 2 \
    >>"$1.out" 2>&1
}
digest() {
  digest_of "$1"
  (cd "$1" && find . -type f | sort)
}
fail() {
  echo "soak: $1" >&2
  tail -n 20 killed.out >&2
  ls -R killed >&2
  exit 1
}

rm -rf whole* killed*
started=$(date +%s%N)
(run whole) || fail "the run that nobody kills failed"
microseconds=$((($(date +%s%N) - started) / 1000))
whole=$(digest whole)

ended=0 begun=0
for ((kill = 0; kill < kills;)); do
  # A half of them in the first tenth, where a run starts and tokenises.
  span=$((microseconds / (RANDOM % 2 ? 10 : 1)))
  wait=$((RANDOM * RANDOM % (span + 1)))
  [[ -d killed/checkpoint-000007 || -d killed/checkpoint-000014 ]] ||
    begun=$((begun + 1))
  run killed &
  pid=$!
  sleep "$(printf '%d.%06d' $((wait / 1000000)) $((wait % 1000000)))"
  ! builtin kill -9 "$pid" 2>/dev/null || kill=$((kill + 1))
  status=0
  wait "$pid" 2>/dev/null || status=$?
  ((status == 0 || status == 137)) || fail "exit code $status"
  ((status == 0)) || continue
  [[ $(digest killed) == "$whole" ]] || fail "differs after $kill kills"
  ended=$((ended + 1))
  rm -rf killed killed.jsonl killed.out
done
(run killed) || fail "the last run failed"
[[ $(digest killed) == "$whole" ]] || fail "differs after $kills kills"
echo "soak: $kills kills survived, $((ended + 1)) runs ended with the same bits"
