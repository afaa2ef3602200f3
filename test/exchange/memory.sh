#!/usr/bin/env bash
# memory.sh MODEL.mlir WEIGHTS DATA grpc|mpi
#
# As root. The kernel kills one of two programs since there is no memory for another one beside it: over
# gRPC the other one ends with 69, saved, and mpirun ends all. No checkpoint is damaged, and the same
# commands go on, with the bits of one program.
set -euo pipefail

model=$1 weights=$2 data=$3 over=$4
work=$(mktemp -d)
. "$(dirname "$0")/programs.sh"
. "$here/memory-group.sh"
. "$here/mpirun.sh"
memory_group $((256 << 20))
leave() {
  kill -9 $(jobs -p) 2>/dev/null || true
  wait 2>/dev/null || true
  leave_group
  rm -rf "$work"
}
trap leave EXIT
in_group "$work/in-group"
steps=60 seed=1 HONE_RELAY= victim=
if [[ $over == grpc ]]; then
  . "$here/over-grpc.sh"
else
  start_engine() { :; }
  bring() { :; }
fi
runs() { [[ $1 != "$victim" ]] || echo "$work/in-group"; }
prepare 2
run=together2

# go: both, in the background: $client and $server, or $all under mpirun.
go() {
  if [[ $over == grpc ]]; then
    train client $run && client=$!
    train server $run && server=$!
    return
  fi
  # shellcheck disable=SC2046
  mpirun "${mpi[@]}" -np 1 $(runs client) "$work/$run/client/train" --exchange mpi --timeout 20 \
    --output "$work/$run.client" --data "$data" --steps $steps "${own[@]}" : \
    -np 1 $(runs server) "$work/$run/server/train" --exchange mpi --timeout 20 \
    --output "$work/$run.server" >>"$work/$run.all.log" 2>&1 &
  all=$!
}

for one in client server; do
  victim=$one other=client
  [[ $one == server ]] || other=server
  rm -rf "$work/$run".*
  before=$(killed)
  patience=5
  go
  running=$([[ $over == grpc ]] && echo "${!one}" || echo "$all")
  until [[ -e $work/$run.$one/checkpoint-000004 ]]; do
    kill -0 "$running" 2>/dev/null || fails $one $run 'its end before step 4'
    sleep 0.01
  done
  # It runs no further until it is killed.
  kill -STOP "$(pgrep -f "^$work/$run/$one/train")"
  fills
  (($(killed) == before + 1)) || fails $one $run "$(($(killed) - before)) kills"
  if [[ $over == grpc ]]; then
    ends $one 137
    ends $other 69 'error\[H0816\]'
    grep -q 'saved after step .*; the same command resumes' "$work/$run.$other.log"
    said='137, and the other one 69'
  else
    ends all 137 'exited on signal 9'
    said='137, and all end'
  fi
  victim= patience=60
  go
  for each in $([[ $over == grpc ]] && echo client server || echo all); do
    ends $each 0
    ! grep -q warning "$work/$run.$each.log" || fails $each $run 'a damaged checkpoint'
    grep -q 'resuming after step [1-9]' "$work/$run.$each.log" || fails $each $run 'no step of before'
  done
  same one2 $run client server
  echo "a $one that is killed for memory: $said"
done
