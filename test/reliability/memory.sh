#!/usr/bin/env bash
# memory.sh TRAIN DATA PERCENT [options of TRAIN ...]
#
# The measured peak of anonymous memory is at most the planned one, and at
# least PERCENT of it. That of resident memory is at most the planned one.
set -euo pipefail

train=$1 data=$2 percent=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$train" --data "$data" --output "$work/run" "$@" >"$work/out" 2>&1 || {
  cat "$work/out" >&2
  exit 1
}
figures='^peak .*\(([0-9]+) of ([0-9]+) bytes\)$'
read -r measured planned < <(sed -nE "s/$figures/\1 \2/p" "$work/out")
line="memory: measured $measured of planned $planned bytes"
((measured > 0 && measured <= planned)) || {
  echo "$line: expects no more than planned" >&2
  exit 1
}
((measured * 100 >= planned * percent)) || {
  echo "$line: expects at least $percent %" >&2
  exit 1
}
read -r resident limit < <(sed -nE "s/${figures/peak/resident}/\1 \2/p" \
  "$work/out")
((resident > measured && resident <= limit)) || {
  echo "memory: $resident bytes resident: expects at most $limit planned" >&2
  exit 1
}
echo "$line, resident $resident of $limit"
