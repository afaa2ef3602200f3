#!/usr/bin/env bash
# replaces.sh MODEL.mlir WEIGHTS DATA
#
# A client is stopped and keeps its connection. A client with the same run takes
# its place at once, and another run is told that the server is busy. gRPC would
# notice a dead link after 140 s, and this test waits less.
set -euo pipefail

model=$1 weights=$2 data=$3
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
. "$(dirname "$0")/programs.sh"
client_and_server
quietly honec "$work/spec.yaml" -o "$work/out"
as_one one
steps=4
quietly "$work/one/train" --data "$data" --steps $steps --output "$work/one.run"

"$work/out/server/train" --serve "unix:$work/socket" --output "$work/run.server" --timeout 100 >"$work/run.server.log" 2>&1 &
server=$!
# begin NAME RUN STEPS: in the background.
begin() {
  timeout 100 "$work/out/client/train" --exchange grpc --exchange-at "connect=unix:$work/socket,run=$2" --timeout 100 \
    --data "$data" --steps "$3" --output "$work/run.$1" >"$work/run.$1.log" 2>&1 &
}
# ends NAME PROCESS CODE
ends() {
  local code=0
  wait "$2" || code=$?
  ((code == $3)) || fails "$1" run "$code instead of $3"
}
begin stopped 5 100000
until [[ -s $work/run.stopped/steps.jsonl ]]; do
  kill -0 $! || fails stopped run 'an end'
  sleep 0.05
done
pkill -STOP -P $!
begin other 6 $steps
ends other $! 69
grep -q 'H0826.*busy' "$work/run.other.log"
# Its folder is another one, since the stopped client has a lock on its own, and knows whose run it goes on with.
mkdir "$work/run.client"
cp "$work/run.stopped/together.run" "$work/run.client"
begin client 5 $steps
ends client $! 0
ends server $server 0
same one run client server
echo 'the same run takes its own place: same bits as one program; another one: 69'
