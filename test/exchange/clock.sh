#!/usr/bin/env bash
# clock.sh MODEL.mlir WEIGHTS DATA
#
# Two programs train over gRPC. The server is killed, and the wall clock is set back by an
# hour while there is no link, or back and forth from then on; then it begins anew: they
# meet again, with the same bits. Programs must be dynamically linked.
set -euo pipefail

model=$1 weights=$2 data=$3
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
. "$(dirname "$0")/programs.sh"
client_and_server 'learning_rate: 1e-2'
quietly honec "$work/spec.yaml" -o "$work/out"
"${CC:-cc}" -shared -fPIC -O1 "$here/SetClock.c" -o "$work/clock.so"

steps=100
server() {
  "$work/out/server/train" --serve "unix:$work/socket" --output "$work/run/server" --timeout 60 \
    >>"$work/run/server.log" 2>&1 &
  server=$!
}
lines() { { cat "$work/run/client/steps.jsonl" 2>/dev/null || true; } | wc -l; }

# train NAME: with the server's end and another begin in between.
train() {
  rm -rf "$work/run" "$work/clock"
  mkdir "$work/run"
  server
  "$work/out/client/train" --connect "unix:$work/socket" --data "$data" --steps $steps --save-every 20 \
    --output "$work/run/client" --timeout 60 >"$work/run/client.log" 2>&1 &
  client=$!
  until (($(lines) > 20)); do
    kill -0 $client 2>/dev/null || { cat "$work"/run/*.log >&2; exit 1; }
    sleep 0.01
  done
  kill -KILL $server
  wait $server 2>/dev/null || true
  [[ -z $1 ]] || touch "$work/clock"
  server
  wait $client && wait $server || { echo "clock: $1:" >&2; cat "$work"/run/*.log >&2; exit 1; }
  cat "$work"/run/*/adapter_model.safetensors >"$work/result"
  [[ -e $work/first ]] || cp "$work/result" "$work/first"
  cmp "$work/result" "$work/first"
}
train ''
export LD_PRELOAD=$work/clock.so HONE_CLOCK=$work/clock
train 'set back'
echo 'set back by an hour: same bits'
for HONE_CLOCK_EVERY in 150 2000; do
  export HONE_CLOCK_EVERY
  train "back and forth every $HONE_CLOCK_EVERY ms"
  echo "set back and forth every $HONE_CLOCK_EVERY ms: same bits"
done
