#!/usr/bin/env bash
# mpi.sh MODEL.mlir WEIGHTS DATA LIBRARIES
#
# Two and three programs of one spec that mpirun started have the bits of one program.
# A rank that is killed ends all, and the same command ends with the same bits. A program
# that waits takes next to nothing of a core. Programs that mpirun did not start, and an MPI
# of another binary interface, are refused by name. LIBRARIES: the folder of the engine.
set -euo pipefail

model=$1 weights=$2 data=$3 libraries=$4
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
steps=60
. "$(dirname "$0")/programs.sh"
. "$here/mpirun.sh"
# honec has put the engine there, and mpirun says where the others are.
start_engine() { :; }
bring() { :; }

# together RUN PROGRAM...: all at once, of which the first has the data.
together() {
  local run=$1 line=() given program
  shift
  for program in "$@"; do
    given=()
    [[ $program != client ]] || given=(--data "$data" --steps $steps "${own[@]}")
    ((${#line[@]} == 0)) || line+=(:)
    line+=(-np 1 "$work/$run/$program/train" --exchange mpi --timeout $patience
      --output "$work/$run.$program" "${given[@]}")
  done
  mpirun "${mpi[@]}" "${line[@]}" >"$work/log" 2>&1
}

for count in 2 3; do
  prepare $count
  read -r -a programs < <(names $count)
  quietly together "together$count" "${programs[@]}"
  same "one$count" "together$count" "${programs[@]}"
  echo "same bits as one program: $count programs"
done

# One that stops: the other waits.
rm -rf "$work/together2".*
together together2 client server &
job=$!
until [[ -e $work/together2.server/checkpoint-000004 ]]; do
  kill -0 $job || { cat "$work/log" >&2; exit 1; }
  sleep 0.01
done
# pid PROGRAM
pid() { pgrep -f "^$work/together2/$1/train" | head -n 1; }
kill -STOP "$(pid server)"
sleep 0.5
waits "$(pid client)" 'a client whose server is stopped' 3
echo 'waits with at most 2 % of a core'

kill -KILL "$(pid server)"
wait $job && { echo 'mpi: one was killed, and all is well' >&2; exit 1; }
[[ -z $(pid client) ]] || { echo 'mpi: one lives on' >&2; exit 1; }
quietly together together2 client server
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
((status == 2)) && grep -q "H0827.*expects 3 programs.*but got 2" "$work/log" ||
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
