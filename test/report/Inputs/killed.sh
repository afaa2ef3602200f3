#!/usr/bin/env bash
# killed.sh TRAIN DATA RUN
#
# A run that is killed again and again: whenever there is a page, it begins as
# every page does, and all of its lines but the last are whole.
set -euo pipefail
train=$1 data=$2 run=$3
options=(--data "$data" --eval-data "$data" --steps 2000 --save-every 100 --output "$run")
pages=0
for moment in 0.02 0.05 0.08 0.1 0.13 0.16 0.2; do
  { timeout -s KILL $moment "$train" "${options[@]}" >/dev/null || true; } 2>/dev/null
  [[ -e $run/report.html ]] || continue
  pages=$((pages + 1))
  [[ $(head -c 15 "$run/report.html") == '<!DOCTYPE html>' ]]
  sed '1,/^<tbody>$/d;$d' "$run/report.html" |
    { ! grep -v '^<script>add(\[[^<]*\])</script>'; }
done
((pages > 0))
"$train" "${options[@]}" >/dev/null
