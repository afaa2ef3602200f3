#!/usr/bin/env bash
# sample.sh TRAIN RUN WORK
#
# The report's losses of its sample are those of --eval-only for that sample
# alone: its ids, as a file of their own.
set -euo pipefail
here=$(dirname "$0") train=$1 run=$2 work=$3
value() { python3 "$here/run_of.py" "$run/report.html" sample "$1"; }
python3 - "$(value text)" "$work/sample.jsonl" <<'PY'
import json, re, sys
ids = re.search(r"^ *ids +(.*)$", sys.argv[1], re.M).group(1)
ids = [int(x) for x in re.findall(r"\d+", ids)]
json.dump({"input_ids": ids}, open(sys.argv[2], "w"))
PY
loss() {
  "$train" --eval-only --eval-data "$work/sample.jsonl" "$@" |
    sed -n 's/^eval loss *\([0-9.]*\) .*/\1/p'
}
check() {
  printf '%s: %s in the report, %s alone\n' "$1" "$2" "$3"
  [ "$(printf '%.9f' "$2")" = "$3" ]
}
check before "$(value before)" "$(loss)"
check after "$(value after)" "$(loss --adapter "$run")"
