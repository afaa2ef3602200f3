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
# begins COUNT MODULE: waits until it has begun MPI, as one that has its folder has; $victim is
# it. mpirun of Open MPI 4.1 may wait for ever itself if one is killed before.
begins() {
  while kill -0 $job 2>/dev/null; do
    victim=$(pgrep -f "^$work/of$1/module$2/train" | head -n 1) || true
    [[ -z $victim || -z $(find "/proc/$victim/fd" -lname '*/lock' 2>/dev/null) ]] || return 0
    sleep 0.02
  done
}
# ends COUNT: all are gone, or soon are: mpirun does not see each to its end.
ends() {
  local i
  for ((i = 0; i < 100; ++i)); do
    pgrep -f "^$work/of$1/" >"$work/alive" || return 0
    sleep 0.1
  done
  fails "$1" 'one lives on'
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
    begins $count $((1 + RANDOM % count))
    sleep "0.$(printf %03d $((RANDOM % 300)))"
    if [[ -n $victim ]] && kill -KILL "$victim" 2>/dev/null; then
      ((++done))
      { wait $job || true; } 2>/dev/null
      ends $count
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
