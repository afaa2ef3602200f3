#!/usr/bin/env bash
# sample.sh TRAIN DATA RUN WORK
#
# The report's losses of its sample are what --eval-only says of that sample
# alone: DATA's first ids, as a file of its own.
set -euo pipefail
train=$1 data=$2 run=$3 work=$4
python3 - "$run/report.html" "$work/sample.jsonl" <<'PY'
import json, re, sys
ids = re.search(r"^ *ids +(.*)$", open(sys.argv[1]).read(), re.M).group(1)
ids = [int(x) for x in re.findall(r"\d+", ids)]
json.dump({"input_ids": ids}, open(sys.argv[2], "w"))
PY
value() {
  grep -o "$1.*" "$run/report.html" | sed 's/.*value="\([^"]*\)".*/\1/'
}
loss() {
  "$train" --eval-only --eval-data "$work/sample.jsonl" "$@" |
    sed -n 's/^eval loss *\([0-9.]*\) .*/\1/p'
}
check() {
  printf '%s: %s in the report, %s alone\n' "$1" "$2" "$3"
  [ "$(printf '%.9f' "$2")" = "$3" ]
}
check before "$(value 'loss before training')" "$(loss)"
check after "$(value 'loss after training')" "$(loss --adapter "$run")"
