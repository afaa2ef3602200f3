#!/usr/bin/env bash
# memory.sh TRAIN DATA PERCENT [options of TRAIN ...]
#
# The measured peak of anonymous memory is at most the planned one, and at
# least PERCENT of it. That of resident memory is at most the planned one. Then
# again with a limit of the system on private memory, which cannot be exceeded
# for an instant, and watched from outside: from start to end the run stays
# within the plan, and its report is true.
set -euo pipefail

train=$1 data=$2 percent=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() { # run OUTPUT [options]: FROM, if set, is the folder that it resumes
  [[ -z ${FROM-} ]] || cp -r "$FROM" "$work/$1"
  watch-memory "$work/seen" "$train" --data "$data" --output "$work/$1" \
    "${@:2}" >"$work/out" 2>&1 || {
    cat "$work/out" >&2
    exit 1
  }
}

run free "$@"
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
# A limit does not count the stack, nor pages that the loader makes read-only.
(ulimit -d $((planned / 1024)) && run limited "$@") || {
  echo "$line: fails with a limit of $planned bytes on private memory" >&2
  exit 1
}
read -r anonymous mark _ < <(cat "$work/seen")
read -r measured < <(sed -nE "s/$figures/\1/p" "$work/out")
read -r resident < <(sed -nE "s/${figures/peak/resident}/\1/p" "$work/out")
# The system counts pages in batches of 64 for each thread.
((anonymous <= planned && anonymous <= measured + 524288)) || {
  echo "$line: $anonymous were seen from outside" >&2
  exit 1
}
((mark <= limit && mark <= resident + 524288)) || {
  echo "memory: $resident resident measured, $mark seen from outside" >&2
  exit 1
}
echo "$line, resident $resident of $limit"
