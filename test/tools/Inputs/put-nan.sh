#!/usr/bin/env bash
# put-nan.sh FILE TENSOR INDEX: makes one float32 number of a safetensors file a
# quiet NaN.
set -euo pipefail
file=$1 tensor=$2 index=$3
length=$(od -An -t u8 -N 8 "$file" | tr -d ' ')
begin=$(dd if="$file" bs=1 skip=8 count="$length" status=none |
  grep -o "\"$tensor\":{[^}]*}" |
  sed 's/.*"data_offsets":\[\([0-9]*\),.*/\1/')
printf '\x00\x00\xc0\x7f' |
  dd of="$file" bs=1 seek=$((8 + length + begin + 4 * index)) conv=notrunc \
    status=none
