#!/usr/bin/env bash
# mpi-refuses.sh MODEL.mlir WEIGHTS DATA
#
# Programs that mpirun started wrongly end with a named error and its exit code, leave
# nothing in their folders and do not hang: too many and too few programs, others than the
# model's, one that is gone before it begins MPI, a folder that cannot be made, programs
# that train alone.
set -euo pipefail

model=$1 weights=$2 data=$3
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
. "$(dirname "$0")/programs.sh"
. "$here/mpirun.sh"
cat >"$work/whole.yaml" <<SPEC
model: $model
weights: {path: $weights}
train: {compute_dtype: float32, learning_rate: 1e-2, batch_size: 2, max_seq_length: 32}
target: reference
SPEC
quietly honec "$work/whole.yaml" -o "$work/alone"
quietly honec "$work/whole.yaml" -o "$work/shared" --set train.data_parallel=true
client_and_server "learning_rate: 1e-2"
quietly honec "$work/spec.yaml" -o "$work/parts"

# ends CODE PATTERN [options of mpirun and programs]; their remains are in
# $work/left.
ends() {
  local code=$1 pattern=$2 got=0
  shift 2
  rm -rf "$work/left"
  mkdir "$work/left"
  timeout 120 mpirun "${mpi[@]}" "$@" >"$work/log" 2>&1 || got=$?
  [[ $got == "$code" ]] && grep -qE "$pattern" "$work/log" && return
  echo "mpi-refuses: $*: expects $code and '$pattern' but got $got and" >&2
  cat "$work/log" >&2
  exit 1
}
refused() {
  ends "$@"
  [[ -z $(ls "$work/left") ]] || { echo "mpi-refuses: something was left" >&2; exit 1; }
}
trains=(--data "$data" --steps 2 --timeout 60 --threads 1)
client=("$work/parts/client/train" --exchange mpi "${trains[@]}" --output "$work/left/client")
server=("$work/parts/server/train" --exchange mpi --timeout 60 --output "$work/left/server")
shared=("$work/shared/train" "${trains[@]}" --output "$work/left/shared")

refused 2 "H0827.*expects 2 programs, each of 'client', 'server' once, but got 3" \
  -np 1 "${client[@]}" : -np 2 "${server[@]}"
refused 2 "H0827.*expects 2 programs.*but got 1" -np 1 "${client[@]}"
ends 2 "H0827.*mpirun started 0 programs of this name, of 'server', 'server'" -np 2 "${server[@]}"
echo 'other programs than those of the model: 2'

cat >"$work/many.c" <<'C'
#include "hone/engine.h"
int hone_exchange_place(uint32_t *rank, uint32_t *ranks, char *why, uint64_t capacity) {
  *rank = 0;
  *ranks = 65;
  return 0;
}
C
cp -r "$work/shared" "$work/many"
cc -shared -fPIC -I "$here/../../runtime/include" -o "$work/many/hone-exchange-mpi.so" "$work/many.c"
refused 2 'H0827.*expects at most 64 programs but got 65' \
  -np 1 "$work/many/train" --exchange mpi "${shared[@]:1}"
echo 'more than 64: 2'

alone=("$work/alone/train" "${trains[@]}" --output "$work/left/alone")
refused 2 'H0103.*mpirun: started several programs, but this one trains alone' -np 2 "${alone[@]}"
refused 2 'H0103.*compiled of a whole model, which trains alone' -np 2 "${alone[@]}" --exchange mpi
ends 0 'after 2 of 2 steps' -np 1 "${alone[@]}"
ends 0 'after 2 of 2 steps' -np 1 "${shared[@]}"
echo 'a program that trains alone: 2, unless it is the only one'

# mpirun does not see that one which ended well has not begun MPI, unless another one has
# before, which it ends then. So the other one begins when that one is gone.
gone=(sh -c 'echo $$ >"$0.new" && mv "$0.new" "$0"' "$work/gone")
after_it=(sh -c 'until [ -s "$0" ]; do sleep 0.05; done
  while kill -0 "$(cat "$0")" 2>/dev/null; do sleep 0.05; done; exec "$@"' "$work/gone")
refused 69 'H0816.*the programs that mpirun started.*within 2000 ms' \
  -np 1 "${after_it[@]}" "${shared[@]/#60/2}" : -np 1 "${gone[@]}"
rm "$work/gone"
refused 69 'H0816.*the programs that mpirun started.*within 2000 ms' \
  -np 1 "${after_it[@]}" "${client[@]/#60/2}" : -np 1 "${gone[@]}"
# Of its two ways to say so, mpirun takes one or both.
refused 7 'exited with non-zero status|a non-zero exit code' -np 1 "${shared[@]}" : -np 1 sh -c 'exit 7'
echo 'one that is gone before it begins: 69, or its own code'

# One that hangs where MPI ends holds nobody.
cat >"$work/hangs.c" <<'C'
#include <unistd.h>
int MPI_Finalize(void) {
  for (;;)
    pause();
}
C
cc -shared -fPIC -o "$work/hangs.so" "$work/hangs.c"
ends 69 'H0816.*the programs that mpirun started.*within 5000 ms' \
  -np 1 "${client[@]/#60/5}" : -np 1 env LD_PRELOAD="$work/hangs.so" "${server[@]}"
echo 'one that hangs at the end: 69'

refused 73 'H1005.*/proc/none' -np 2 "${shared[@]/$work\/left/\/proc\/none}"
ends 73 'H1005.*/proc/none' -np 1 "${client[@]}" : -np 1 "${server[@]/$work\/left/\/proc\/none}"
[[ -z $(find "$work/left" -name 'checkpoint*' -o -name 'adapter*') ]]
echo 'a folder that cannot be made: 73'
