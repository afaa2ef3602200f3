#!/usr/bin/env bash
# plain.sh MODEL.mlir WEIGHTS DATA LIBRARIES
#
# A program that trains alone needs the C library and no other, calls nothing
# that opens a socket, and the code of exchanges makes it at most 128 KiB
# larger. LIBRARIES: the folder of the runtime's archives.
set -euo pipefail

model=$1 weights=$2 data=$3 libraries=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/spec.yaml" <<SPEC
model: $model
weights: {path: $weights}
train: {compute_dtype: float32, batch_size: 2, max_seq_length: 32}
target: reference
SPEC
honec "$work/spec.yaml" -o "$work/plain" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
train=$work/plain/train

needed=$(readelf -d "$train" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
others=$(grep -vE '^(libc|libm|ld-linux-x86-64|ld-linux-aarch64)\.so' <<<"$needed" || true)
[[ -n $needed && -z $others ]] || { echo "plain: needs $others" >&2; exit 1; }
sockets='socket|socketpair|connect|bind|listen|accept4?|sendto|sendmsg|recvfrom|recvmsg'
imports=$(readelf --dyn-syms -W "$train" | awk '$7 == "UND" {print $8}' | sed 's/@.*//')
[[ -n $imports ]]
if grep -xE "$sockets" <<<"$imports" >&2; then
  echo 'plain: imports what opens a socket' >&2
  exit 1
fi
echo 'needs the C library alone, and has no call that opens a socket'

grown=$({
  size "$libraries/libhone_exchange.a"
  size "$libraries/libhone_program.a" | grep -E '[[:space:]](Together|Meeting)\.'
} | awk '$1 + 0 > 0 {bytes += $1 + $2} END {print bytes + 0}')
((grown > 0 && grown <= 128 * 1024)) ||
  { echo "plain: $grown bytes of what exchanges" >&2; exit 1; }
echo "bytes of what exchanges: $grown"

if ! command -v strace >/dev/null || ! strace -o /dev/null true 2>/dev/null; then
  echo 'not traced: there is no strace'
  exit
fi
strace -f -e trace=network -o "$work/calls" \
  "$train" --data "$data" --output "$work/run" --steps 2 >"$work/log" 2>&1 ||
  { cat "$work/log" >&2; exit 1; }
if grep -vE '^[0-9]+ +(\+\+\+|---)' "$work/calls" >&2; then
  echo 'plain: has a call of the network' >&2
  exit 1
fi
echo 'traced: no call of the network'
