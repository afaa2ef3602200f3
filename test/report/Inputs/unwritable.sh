#!/usr/bin/env bash
# unwritable.sh TRAIN DATA WORK
#
# A report that cannot be made, and one that meets a limit on its size as it would
# a full disk, which the next process of the run makes again.
set -euo pipefail
train=$1 data=$2 work=$3
attempt() { # attempt NAME RUN [options]
  local code=0
  "$train" --data "$data" --output "$work/$2" "${@:3}" \
    >"$work/out" 2>"$work/error" || code=$?
  printf '%s: exit code %d, %d warning\n' "$1" $code \
    "$(grep -c 'warning.*report.html: cannot write: .*; the run goes on without it' "$work/error")"
}
mkdir -p "$work/folder/report.html/in"
attempt 'a folder' folder --steps 3
(ulimit -f 110 && attempt 'too large' large --steps 400)
tail -c 1 "$work/large/report.html" | od -An -c | grep -q '\\n'
"$train" --data "$data" --output "$work/large" --steps 400 >/dev/null
