#!/usr/bin/env bash
# slow.sh MODEL.mlir WEIGHTS DATA [RATE]
#
# Two programs that train over gRPC through a link of RATE bytes a second have the bits of one
# program, over one connection each time: a slow link is no lost one. A signal ends the client
# while messages are under way, and the same command goes on.
set -euo pipefail

model=$1 weights=$2 data=$3 rate=${4-1000}
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
. "$(dirname "$0")/programs.sh"
client_and_server 'learning_rate: 1e-2'
sed -i 's/batch_size: 2, max_seq_length: 32/batch_size: 1, max_seq_length: 4/' "$work/spec.yaml"
quietly honec "$work/spec.yaml" -o "$work/out"
as_one one
steps=4
quietly "$work/one/train" --data "$data" --steps $steps --save-every 1 --output "$work/one.run"
hone-keys init "$work/keys" >/dev/null
hone-keys issue "$work/keys" server --dns localhost >/dev/null
hone-keys issue "$work/keys" client >/dev/null
port=$(free_port)
python3 "$here/relay.py" localhost:$port 1 --rate "$rate" --delay 1 >"$work/relay" &
relay=$!
until [[ -s $work/relay ]]; do sleep 0.05; done

"$work/out/server/train" --serve 127.0.0.1:$port --keys "$work/keys/server" --admit "$work/keys/admitted" \
  --output "$work/run.server" --timeout 300 >"$work/server.log" 2>&1 &
server=$!
until (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null; do
  kill -0 $server || { cat "$work/server.log" >&2; exit 1; }
  sleep 0.05
done
begin() {
  "$work/out/client/train" --connect localhost:"$(head -n 1 "$work/relay")" --keys "$work/keys/client" \
    --data "$data" --steps $steps --save-every 1 --output "$work/run.client" --timeout 300 >>"$work/client.log" 2>&1 &
  client=$!
}
# ends PROCESS CODE
ends() {
  local code=0
  wait "$1" || code=$?
  ((code == $2)) || { echo "slow: $code instead of $2" >&2; cat "$work"/*.log >&2; exit 1; }
}
begin
until [[ -s $work/run.client/steps.jsonl ]]; do
  kill -0 $client || { cat "$work"/*.log >&2; exit 1; }
  sleep 0.05
done
kill -TERM $client
ends $client 143
begin
ends $client 0
ends $server 0
same one run client server
kill $relay
wait $relay
grep -q 'connections 2 ' "$work/relay" || { echo 'slow: links were lost' >&2; cat "$work/relay" >&2; exit 1; }
echo "same bits as one program: $rate bytes a second, $(sed -n 's/^\(up.*\) connections.*/\1/p' "$work/relay")"
