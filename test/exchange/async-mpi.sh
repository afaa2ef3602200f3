#!/usr/bin/env bash
# async-mpi.sh MODEL.mlir WEIGHTS DATA KILLS [SEED]
#
# AsyncFGD of 2 and 3 programs that mpirun started has the bits of one fgd program that is
# asked for every derivative at the parameters that the modules had. So has a run of which
# KILLS times one rank is killed and the same command given again.
set -euo pipefail

model=$1 weights=$2 data=$3 kills=$4 seed=${5-1}
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
RANDOM=$seed
steps=12
. "$(dirname "$0")/programs.sh"
. "$here/modules.sh"
. "$here/mpirun.sh"
prepare_reference

# launch COUNT: all modules, in the background.
launch() {
  local line=() k own
  for ((k = 1; k <= $1; ++k)); do
    own=()
    ((k > 1)) && line+=(:) || own=(--data "$data" --steps $steps --save-every 2)
    line+=(-np 1 "$work/of$1/module$k/train" --exchange mpi --timeout 120
      --output "$work/run$1/module$k" "${own[@]}")
  done
  mpirun "${mpi[@]}" "${line[@]}" >>"$work/log$1" 2>&1 &
  job=$!
}
# fails COUNT TEXT
fails() {
  echo "async-mpi: $1 modules: $2" >&2
  tail -n 25 "$work/log$1" >&2
  exit 1
}
# saves COUNT: whether any module has a checkpoint.
saves() { compgen -G "$work/run$1/module*/checkpoint-*" >"$work/saved"; }

for count in 2 3; do
  compile of$count ", modules: $count, asynchronous: true, module_cuts: [${cuts[$count]}]"
  reference $count "${cuts[$count]}"
  launch $count
  wait $job || fails $count "ended with $?"
  same "$work/reference$count" "$work/run$count"/module*
  echo "same bits as all versions: $count modules"

  rm -rf "$work/run$count"
  resumed=0
  for ((done = 0; done < kills;)); do
    launch $count
    sleep "0.$(printf %03d $((300 + RANDOM % 500)))"
    victim=$(pgrep -f "^$work/of$count/module$((1 + RANDOM % count))/train" | head -n 1) || true
    if [[ -n $victim ]] && kill -KILL "$victim" 2>/dev/null; then
      ((++done))
      { wait $job || true; } 2>/dev/null
      ! pgrep -f "^$work/of$count/" >"$work/alive" || fails $count 'one lives on'
      ! saves $count || ((++resumed))
    else
      wait $job || fails $count "ended with $?"
      rm -rf "$work/run$count"
    fi
  done
  launch $count
  wait $job || fails $count "after kills: ended with $?"
  same "$work/reference$count" "$work/run$count"/module*
  echo "same bits as all versions: $count modules after $kills kills, $resumed of them with checkpoints"
done
