#!/usr/bin/env bash
# windows.sh MODEL
#
# Steps with a time for each call have the bits of steps without, and so they have
# with values that rest in a file.
set -euo pipefail
[[ ! -w /dev/shm ]] || export TMPDIR=/dev/shm
source "$(dirname "$0")/build.sh"
build whole --set model="$1" --set train.activation_offloading=true --emit=library
folder=$work/whole/model
link "$work/windows" -I"$folder" "$here/windows.c" "$folder/libmodel.a"
run() { "$work/windows" "$folder/weights.hone.safetensors" "$work/$1" "$work/$1.adapter" 12 "$2"; }
run whole 0
run sliced 0.00002
cmp "$work/whole.adapter/adapter_model.safetensors" "$work/sliced.adapter/adapter_model.safetensors"
[[ ! -e $work/sliced/suspended.safetensors ]] || fail "a suspended step is left"
echo "the same bits"
