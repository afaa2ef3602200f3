#!/usr/bin/env bash
# mpi-waits.sh MODEL DATA
#
# Processor time of programs under mpirun that wait for one that is stopped: a module of AsyncFGD
# and a rank that shares batches, the first and the last one of each.
set -euo pipefail

model=$1 data=$2
work=$(mktemp -d)
trap 'kill -KILL $(pgrep -f "^$work/") $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
. "$(dirname "$0")/programs.sh"
. "$here/mpirun.sh"

# compile NAME SETTINGS
compile() {
  cat >"$work/spec.yaml" <<SPEC
model: $model
lora: {r: 4, lora_alpha: 8, target_modules: all-linear}
train: {max_seq_length: 32, batch_size: 1, learning_rate: 1e-3, $2}
target: reference
SPEC
  quietly honec "$work/spec.yaml" -o "$work/$1"
}

# idles WHAT WAITS STOPS LINE...: once the first one trains, STOPS stops and WAITS waits; both
# are patterns of a process's command line.
idles() {
  local what=$1 waiting stopped
  rm -rf "$work/run"
  mkdir "$work/run"
  mpirun "${mpi[@]}" "${@:4}" >"$work/log" 2>&1 &
  until [[ -s $work/run/first/steps.jsonl ]]; do
    kill -0 $! || { cat "$work/log" >&2; exit 1; }
    sleep 0.1
  done
  waiting=$(pgrep -f "^$work/$2" | head -n 1) stopped=$(pgrep -f "^$work/$3" | tail -n 1)
  kill -STOP "$stopped"
  sleep 1
  waits "$waiting" "$what"
  kill -KILL "$waiting" "$stopped"
  { wait $! || true; } 2>/dev/null
}

compile modules 'method: fgd, modules: 2, asynchronous: true'
both=(-np 1 "$work/modules/module1/train" --exchange mpi --timeout 120 --data "$data" --steps 100000
  --output "$work/run/first" : -np 1 "$work/modules/module2/train" --exchange mpi --timeout 120 --output "$work/run/second")
idles 'AsyncFGD, the first module' modules/module1 modules/module2 "${both[@]}"
idles 'AsyncFGD, the last module' modules/module2 modules/module1 "${both[@]}"

compile shared 'data_parallel: true, gradient_accumulation_steps: 2'
# rank NUMBER: the process that mpirun gave it.
ranked=$work/ranked
cat >"$ranked" <<RANKED
#!/bin/sh
exec "$work/shared\$OMPI_COMM_WORLD_RANK/train" "\$@"
RANKED
chmod +x "$ranked"
for rank in 0 1; do cp -r "$work/shared" "$work/shared$rank"; done
both=(-np 2 "$ranked" --timeout 120 --data "$data" --steps 100000 --threads 1 --output "$work/run/first")
idles 'data-parallel, the first rank' shared0 shared1 "${both[@]}"
idles 'data-parallel, the last rank' shared1 shared0 "${both[@]}"
