#!/usr/bin/env bash
# data-parallel.sh MODEL DATA RANKS WAY...
#
# A program that shares its batches with others, as mpirun starts them, has the bits of
# one without train.data_parallel: log, checkpoints and result, for each of RANKS (such as
# 1,2,3) and each WAY to train below. Then, with WAY faults: a rank that is killed, a bit
# that flips on one rank, options that differ, a signal.
set -euo pipefail

model=$1 data=$2 ranks=${3//,/ }
shift 3
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
. "$(dirname "$0")/programs.sh"
. "$here/mpirun.sh"

# ten samples in batches of one, four of which make a step: an epoch ends with a step of
# two, and none of its steps divides by three ranks.
common=(train.max_seq_length=32 train.batch_size=1 train.gradient_accumulation_steps=4
  train.learning_rate=1e-2)
declare -A ways=(
  [backprop]='lora.dtype=bfloat16 lora.lora_dropout=0.2 train.max_grad_norm=0.05 train.neftune_noise_alpha=5'
  [sgd]='train.optimizer=sgd train.momentum=0.9 train.residuals=full'
  [bfloat16]='train.compute_dtype=bfloat16 train.optimizer=adamw-8bit train.activation_offloading=true'
  [lcsb]='train.method=lcsb train.selection=cyclic train.selection_groups=2 train.selection_warmup=1'
  [mezo]='train.method=mezo train.directions=3'
  [mezo-one-sided]='train.method=mezo-one-sided train.directions=2'
  [fgd]='train.method=fgd train.directions=2'
  [parts]='parts.lower.layers=0-0 parts.lower.method=mezo parts.lower.directions=2 parts.upper.method=backprop'
)
cat >"$work/spec.yaml" <<SPEC
model: $model
lora: {r: 4, lora_alpha: 8, target_modules: all-linear}
target: native
SPEC

# compile NAME KEY=VALUE...
compile() {
  local name=$1 sets=() set
  shift
  for set in "$@"; do sets+=(--set "$set"); done
  quietly honec "$work/spec.yaml" -o "$work/$name" "${sets[@]}"
}

# run COUNT PROGRAM OUTPUT [options]
run() {
  local count=$1 program=$2 output=$3
  shift 3
  mpirun "${mpi[@]}" -np "$count" "$work/$program/train" --data "$data" \
    --eval-data "$data" --output "$work/$output" --timeout 20 --threads 1 \
    "${options[@]}" "$@" >"$work/$output.log" 2>&1
}

# same OUTPUT: has the bits of $work/one.run.
same() {
  local file
  of "$work/$1/steps.jsonl" | cmp - <(of "$work/one.run/steps.jsonl") ||
    { echo "data-parallel: $1 has another log" >&2; exit 1; }
  for file in adapter_model.safetensors $(cd "$work/one.run" && ls -d checkpoint-*/state.safetensors); do
    cmp "$work/$1/$file" "$work/one.run/$file" || exit 1
  done
}

fails() {
  echo "data-parallel: $1" >&2
  tail -n 25 "$2" >&2
  exit 1
}

for way in "$@"; do
  [[ $way != faults ]] || continue
  options=(--epochs 2 --save-every 2 --eval-every 3)
  compile one "${common[@]}" ${ways[$way]}
  compile shared "${common[@]}" ${ways[$way]} train.data_parallel=true
  rm -rf "$work"/*.run
  "$work/one/train" --data "$data" --eval-data "$data" --output "$work/one.run" \
    --threads 1 "${options[@]}" >"$work/log" 2>&1 || fails "$way alone" "$work/log"
  for count in $ranks; do
    if ((count == 1)); then
      "$work/shared/train" --data "$data" --eval-data "$data" --threads 1 \
        --output "$work/1.run" "${options[@]}" >"$work/1.run.log" 2>&1 ||
        fails "$way" "$work/1.run.log"
    else
      run "$count" shared "$count.run" || fails "$way, $count ranks" "$work/$count.run.log"
      grep -q "^ranks        $count, and this one sent" "$work/$count.run.log"
      fits "$work/$count.run.log" $((count > 4 ? 64 : 4))
    fi
    same "$count.run"
  done
  rm -rf "$work/one" "$work/shared.$way"
  cp -r "$work/shared" "$work/shared.$way"
  echo "same bits as one program: $way, ranks $ranks"
done

[[ " $* " == *" faults "* ]] || exit 0
ways[faults]='train.max_grad_norm=0.05'
options=(--steps 120 --save-every 1)
compile one "${common[@]}" ${ways[faults]}
compile shared "${common[@]}" ${ways[faults]} train.data_parallel=true
rm -rf "$work"/*.run
"$work/one/train" --data "$data" --eval-data "$data" --output "$work/one.run" --threads 1 \
  "${options[@]}" >"$work/log" 2>&1 || fails 'faults alone' "$work/log"

# pids: of the ranks, in their order.
pids() {
  local pid
  for pid in $(pgrep -f "^$work/shared/train"); do
    echo "$(tr '\0' '\n' <"/proc/$pid/environ" | sed -n 's/^OMPI_COMM_WORLD_RANK=//p') $pid"
  done | sort -n | awk '{print $2}'
}
# begun OUTPUT JOB: until it has saved.
begun() {
  until compgen -G "$work/$1/checkpoint-*" >"$work/saved"; do
    kill -0 "$2" 2>/dev/null || fails "$1 ended early" "$work/$1.log"
    sleep 0.01
  done
}

# A rank that is killed ends all; other ranks take it up.
run 3 shared killed.run &
job=$!
begun killed.run $job
kill -KILL $(pids | tail -n 1)
wait $job && fails 'one was killed, and all is well' "$work/killed.run.log"
[[ -z $(pids) ]] || fails 'one lives on' "$work/killed.run.log"
run 2 shared killed.run || fails 'resumed by 2 ranks' "$work/killed.run.log"
grep -q 'resuming after step' "$work/killed.run.log" || fails 'began anew' "$work/killed.run.log"
same killed.run
echo 'a rank that is killed ends all, and the same command has the same bits'

# A signal to the first rank: all stop after a step, saved.
run 2 shared signal.run &
job=$!
begun signal.run $job
kill -TERM $(pids | head -n 1)
status=0
wait $job || status=$?
((status == 143)) && grep -q 'stopped and saved' "$work/signal.run.log" ||
  fails "a signal: $status" "$work/signal.run.log"
run 3 shared signal.run || fails 'resumed by 3 ranks' "$work/signal.run.log"
same signal.run
echo 'a signal: 143, and the same command has the same bits'

# One bit on one rank.
if ! python3 - <<'PY'
import os, subprocess, sys
child = subprocess.Popen(["sleep", "60"])
try:
    open(f"/proc/{child.pid}/mem", "r+b").close()
except OSError:
    sys.exit(1)
finally:
    child.kill()
PY
then
  echo 'no bit was flipped: the memory of another process cannot be written'
else
  options=(--steps 5000 --save-every 1 --learning-rate 1e-7)
  run 2 shared flipped.run &
  job=$!
  begun flipped.run $job
  until python3 "$here/flip.py" "$work/flipped.run" $(pids); do
    kill -0 $job 2>/dev/null || fails 'no bit was flipped' "$work/flipped.run.log"
  done
  status=0
  wait $job || status=$?
  ((status == 65)) && grep -q 'H0828.*but rank 1 has others' "$work/flipped.run.log" ||
    fails "a bit was flipped: $status" "$work/flipped.run.log"
  echo 'a bit that flips on one rank: 65 at the next save'
fi

# refused CODE TEXT [options of mpirun and programs]
refused() {
  local code=$1 text=$2 status=0
  shift 2
  mpirun "${mpi[@]}" "$@" >"$work/log" 2>&1 || status=$?
  ((status == code)) && grep -q -e "$text" "$work/log" || fails "expected $code, '$text', not $status" "$work/log"
}
train=("$work/shared/train" --data "$data" --steps 2 --timeout 10)
refused 2 'H0812.*--learning-rate (here' -np 1 "${train[@]}" --output "$work/a" : \
  -np 1 "${train[@]}" --output "$work/a" --learning-rate 1e-4
head -n 4 "$data" >"$work/other.jsonl"
refused 2 'H0812.*data (here' -np 1 "${train[@]}" --output "$work/b" : \
  -np 1 "$work/shared/train" --data "$work/other.jsonl" --steps 2 --timeout 10 --output "$work/b"
refused 2 'H0812.*evaluation data (here \(none, there [^)]\|[^,)n][^,)]*, there none)\)' -np 1 "${train[@]}" --output "$work/b" : \
  -np 1 "${train[@]}" --output "$work/b" --eval-data "$data"
refused 2 'H0103.*--for' -np 2 "${train[@]}" --output "$work/c" --for 10s
rm "$work/shared/hone-exchange-mpi.so"
refused 66 'H0823.*there is no such engine' -np 2 "${train[@]}" --output "$work/d"
echo 'ranks that differ: 2, what they do not do: 2, no engine: 66'
