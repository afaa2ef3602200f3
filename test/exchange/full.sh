#!/usr/bin/env bash
# full.sh MODEL.mlir WEIGHTS DATA
#
# In a mount namespace, as root. The disk of one of two programs is full in the
# middle of a save: it ends with 74 and the other one with 69, both have the
# earlier checkpoint, and with room on the disk the same commands go on, with
# the bits of one program.
set -euo pipefail

model=$1 weights=$2 data=$3
work=$(mktemp -d)
leave() {
  kill -9 $(jobs -p) 2>/dev/null || true
  umount "$work/disk" 2>/dev/null || true
  rm -rf "$work"
}
trap leave EXIT
steps=12
. "$(dirname "$0")/programs.sh"
prepare 2
run=together2
mkdir "$work/disk"
mount -t tmpfs -o size=64m none "$work/disk"

# begin PROGRAM: both, anew, with the disk of that one.
begin() {
  rm -rf "$work/$run".* "$work/disk"/*
  mkdir "$work/disk/output"
  ln -s "$work/disk/output" "$work/$run.$1"
  go
}

go() {
  for each in client server; do
    train $each $run
    printf -v $each %s $!
  done
}

# A run with room shows how much it takes; with so many pages less, a save finds
# the disk full.
for program in client server; do
  other=client
  [[ $program == server ]] || other=server
  mount -o remount,size=64m "$work/disk"
  begin $program
  ends client 0
  ends server 0
  pages=$(($(stat -f -c '%b - %f' "$work/disk")))
  for less in 2 4; do
    rm -rf "$work/disk"/*
    mount -o remount,size=$(((pages - less) * 4096)) "$work/disk"
    begin $program
    ends $program 74 'error\[H1006\].*/checkpoint-.*No space left on device'
    ends $other 69 'saved after step .*; the same command resumes'
    [[ -z $(find "$work/disk/" -name '*.tmp-*') ]] || fails $program $run '74, and left a half of a checkpoint'
    mount -o remount,size=64m "$work/disk"
    go
    ends client 0
    ends server 0
    grep -q 'resuming after step [1-9]' "$work/$run.$program.log" || fails $program $run 'no step of before'
    ! grep -q 'warning' "$work/$run.$program.log" || fails $program $run 'a damaged checkpoint'
    same one2 $run client server
  done
  echo "a $program whose disk is full in the middle of a save: 74, the other one 69"
done
