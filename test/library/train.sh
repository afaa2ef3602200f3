#!/usr/bin/env bash
# train.sh MODEL KILLS
#
# A C program that calls the library trains to the bits of train, after kills too.
set -euo pipefail
source "$(dirname "$0")/build.sh"
model=$1 kills=$2 steps=20

# Values that rest in a file change no bit.
build whole --set model="$model" --set train.activation_offloading=true --emit=library
honec "$spec" --set model="$model" -o "$work/program" >/dev/null
weights=$work/whole/model/weights.hone.safetensors
link "$work/train" -I"$work/whole/model" "$example/train.c" "$work/whole/model/libmodel.a"

"$work/program/train" --data "$work/data.jsonl" --output "$work/expected" \
  --steps $steps --threads 2 --log "$work/log.jsonl" >/dev/null
losses() {
  sed -n 's/^step \([0-9]*\) loss \(.*\)/\1 \2/p' "$1" | sort -n -u
}
python3 -c "
import json
for line in open('$work/log.jsonl'):
    line = json.loads(line)
    print(line['step'], '%.17g' % line['loss'])" | sort -n >"$work/expected.losses"
same() {
  cmp "$work/expected/adapter_model.safetensors" "$1/adapter_model.safetensors" ||
    fail "another adapter"
  [[ $(losses "$2" | tr -s ' \n' '  ') == $(tr -s ' \n' '  ' <"$work/expected.losses") ]] ||
    fail "other losses: $(losses "$2")"
}

run() { "$work/train" "$weights" "$work/$1" "$work/$1.adapter" "$work/data.txt" $steps >>"$work/$1.out"; }
run once
same "$work/once.adapter" "$work/once.out"
echo "a C loop has the bits of train"

done_kills=0
while ((done_kills < kills)); do
  (exec "$work/train" "$weights" "$work/killed" "$work/killed.adapter" "$work/data.txt" $steps \
    >>"$work/killed.out" 2>>"$work/killed.err") &
  pid=$!
  sleep "0.0$((RANDOM % 9 + 1))"
  builtin kill -9 $pid 2>/dev/null && done_kills=$((done_kills + 1))
  wait $pid 2>/dev/null || true
done
run killed 2>>"$work/killed.err"
same "$work/killed.adapter" "$work/killed.out"
echo "and after $kills kills"

# A run goes on with its own data alone.
sed 's/1/2/' "$work/data.txt" >"$work/other.txt"
status=0
"$work/train" "$weights" "$work/once" "$work/none" "$work/other.txt" 30 >/dev/null 2>"$work/refused" || status=$?
[[ $status == 2 ]] || fail "exit code $status"
cat "$work/refused"
