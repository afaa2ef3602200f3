#!/usr/bin/env bash
# late.sh ENGINE
#
# Two processes meet over gRPC. The thread of one of them that gRPC's events come to is later
# at the end than the process waits for it: events come after all is closed. Both end with 0.
set -euo pipefail

work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
"${CC:-cc}" -std=c11 -O1 -rdynamic -I "$(dirname "$0")/../../runtime/include" \
  "$(dirname "$0")/LateThread.c" -o "$work/late-thread"

for late in client server; do
  rm -f "$work/socket"
  "$work/late-thread" "$1" "serve=unix:$work/socket,run=1" server client $([[ $late == server ]] && echo 700 || echo 0) \
    >"$work/server.log" 2>&1 &
  server=$!
  "$work/late-thread" "$1" "connect.server=unix:$work/socket,run=1" client server \
    $([[ $late == client ]] && echo 700 || echo 0) >"$work/client.log" 2>&1 &
  client=$!
  for each in client server; do
    code=0
    wait ${!each} || code=$?
    ((code == 0)) || { echo "late: $code of $each, while $late is late" >&2; cat "$work"/*.log >&2; exit 1; }
  done
  grep -q '[1-9] events were late' "$work/$late.log" ||
    { echo "late: no event of $late was late" >&2; exit 1; }
  echo "a thread of $late is late at the end: 0"
done
