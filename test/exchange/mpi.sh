#!/usr/bin/env bash
# mpi.sh MODEL.mlir WEIGHTS DATA LIBRARIES
#
# Two and three programs of one spec that mpirun started have the bits of one program.
# A rank that is killed ends all, and the same command ends with the same bits. A program
# that waits takes next to nothing of a core. What was not started by mpirun, and an MPI
# of another binary interface, are refused by name. LIBRARIES: the folder of the engine.
set -euo pipefail

model=$1 weights=$2 data=$3 libraries=$4
here=$(dirname "$0")
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
source "$here/mpirun.sh"
steps=60

# write PROGRAM...: spec.yaml, of one program if there is none.
write() {
  local named=("" "" "")
  (($# == 0)) || named=(", program: $1" ", program: $2" ", program: ${3-}")
  cat >"$work/spec.yaml" <<SPEC
model: $model
weights: {path: $weights}
train: {compute_dtype: float32, residuals: mesp, learning_rate: 1e-2, batch_size: 2,
        max_seq_length: 32, gradient_accumulation_steps: 2, max_grad_norm: 0.5}
parts:
  first: {layers: 0-0, method: mezo, directions: 2, perturbation_scale: 1e-2${named[0]}}
  middle: {layers: 1-1, method: fgd${named[1]}}
  last: {method: backprop${named[2]}}
target: reference
SPEC
  (($# != 2)) || sed -i -e '/middle/d' -e 's/last: .*/last: {method: backprop, program: server}/' "$work/spec.yaml"
}

# compile NAME
compile() {
  honec "$work/spec.yaml" -o "$work/$1" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
}

# of LOG: what a log says, but for what a clock and a machine decide.
of() {
  sed -e 's/"run": "[^"]*", //' -e 's/"tokens_per_second.*//' "$1"
}

# together RUN PROGRAM...: all at once, of which the first has the data.
together() {
  local run=$1 line=() own program
  shift
  for program in "$@"; do
    own=()
    [[ $program != client ]] || own=(--data "$data" --steps $steps --save-every 2)
    ((${#line[@]} == 0)) || line+=(:)
    line+=(-np 1 "$work/$run/$program/train" --exchange mpi --timeout 20
      --output "$work/$run.$program" "${own[@]}")
  done
  mpirun "${mpi[@]}" "${line[@]}" >"$work/log" 2>&1
}

# same ONE RUN PROGRAM...: logs and results of all programs are those of one.
same() {
  local one=$1 run=$2 program
  shift 2
  for program in "$@"; do
    of "$work/$run.$program/steps.jsonl" | cmp - <(of "$work/$one.run/steps.jsonl") ||
      { echo "mpi: $run: $program has another log" >&2; exit 1; }
  done
  python3 "$here/join.py" "$work/$one.run" "${@/#/$work/$run.}"
}

for count in 2 3; do
  programs=(client server)
  ((count == 2)) || programs=(client middle server)
  write
  ((count == 3)) || sed -i -e '/middle/d' "$work/spec.yaml"
  compile "one$count"
  "$work/one$count/train" --data "$data" --steps $steps --save-every 2 \
    --output "$work/one$count.run" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
  write "${programs[@]}"
  compile "together$count"
  together "together$count" "${programs[@]}" || { cat "$work/log" >&2; exit 1; }
  same "one$count" "together$count" "${programs[@]}"
  echo "same bits as one program: $count programs"
done

# One that stops: the other waits, and is counted in hundredths of a core's second.
rm -rf "$work/together2".*
together together2 client server &
job=$!
until [[ -e $work/together2.server/checkpoint-000004 ]]; do
  kill -0 $job || { cat "$work/log" >&2; exit 1; }
  sleep 0.01
done
# pid PROGRAM
pid() { pgrep -f "^$work/together2/$1/train" | head -n 1; }
# busy: what the client has run, in clock ticks.
busy() { awk '{print $14 + $15}' "/proc/$(pid client)/stat"; }
kill -STOP "$(pid server)"
sleep 0.5
before=$(busy)
sleep 3
used=$(($(busy) - before)) most=$((3 * $(getconf CLK_TCK) / 50))
((used <= most)) || { echo "mpi: waits with $used of $most ticks" >&2; exit 1; }
echo 'waits with at most 2 % of a core'

kill -KILL "$(pid server)"
wait $job && { echo 'mpi: one was killed, and all is well' >&2; exit 1; }
[[ -z $(pid client) ]] || { echo 'mpi: one lives on' >&2; exit 1; }
together together2 client server || { cat "$work/log" >&2; exit 1; }
grep -q 'resuming after step' "$work/log"
same one2 together2 client server
echo 'one that is killed ends all, and the same command has the same bits'

status=0
"$work/together2/client/train" --exchange mpi --data "$data" --output "$work/none" --timeout 1 \
  >"$work/log" 2>&1 || status=$?
((status == 2)) && grep -q "H0827.*mpirun did not start this program" "$work/log" ||
  { cat "$work/log" >&2; exit 1; }
status=0
rm -rf "$work/together3".*
together together3 client server || status=$?
((status == 2)) && grep -q "H0827.*mpirun started 0 programs of this name" "$work/log" ||
  { cat "$work/log" >&2; exit 1; }
echo 'without mpirun, or one of the programs: 2'

# A library of the same name that says it is another one.
nm -D --undefined-only "$libraries/hone-exchange-mpi.so" | awk '{print $2}' | sed 's/@.*//' |
  awk '/^MPI_Get_library_version$/ {next} /^MPI_/ {print "int " $1 "(void) { return 1; }"}
       /^ompi_/ {print "char " $1 "[8];"}' >"$work/other.c"
cat >>"$work/other.c" <<'C'
#include <string.h>
int MPI_Get_library_version(char *text, int *size) {
  strcpy(text, "MPICH Version: 9.9\nof nobody");
  *size = (int)strlen(text);
  return 0;
}
C
cc -shared -fPIC -Wl,-soname,libmpi.so.40 -o "$work/libmpi.so.40" "$work/other.c"
# refused TEXT: the client, with the folder of this library first.
refused() {
  status=0
  rm -rf "$work/none"
  LD_LIBRARY_PATH=$work "$work/together2/client/train" --exchange mpi --data "$data" \
    --output "$work/none" >"$work/log" 2>&1 || status=$?
  ((status == 66)) && grep -q "H0823.*$1" "$work/log" || { cat "$work/log" >&2; exit 1; }
}
refused "expects the MPI that it was built with, Open MPI .*, but got 'MPICH Version: 9.9'"
echo 'none' >"$work/libmpi.so.40"
refused 'cannot be loaded: .*libmpi'
[[ ! -e $work/none ]] || { echo 'mpi: something was left' >&2; exit 1; }
echo 'another MPI: 66'
