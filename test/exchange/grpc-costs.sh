#!/usr/bin/env bash
# grpc-costs.sh [P [DTYPE]]
#
# HOSL of the shape of OPT-125M's hidden states, 64 x 27 tokens and P directions, over gRPC
# with keys: bytes a step as a relay counts them, TLS included, beside the bound; anonymous
# memory beside that over a local socket; processor time of programs that wait.
# P = 0 is FO-FO, whose client has a backward. With DTYPE, float32 or bfloat16,
# that is the type of messages, and only bytes are measured.
set -euo pipefail

directions=${1-10} dtype=${2-float32}
client_method="mezo, directions: $directions"
((directions > 0)) || client_method=backprop
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
. "$(dirname "$0")/programs.sh"
wide_states 2
cat >"$work/spec.yaml" <<SPEC
model: $work/model
weights: {dtype: float32}
train: {batch_size: 64, max_seq_length: 27, learning_rate: 1e-4}
parts:
  lower: {layers: 0-0, method: $client_method, program: client}
  upper: {method: backprop, program: server}
exchange: {dtype: $dtype}
target: native
SPEC
honec "$work/spec.yaml" -o "$work/out" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
engine "$work/engine.so"
for program in client server; do
  cp "$work/engine.so" "$work/out/$program/hone-exchange-test.so"
done
hone-keys init "$work/keys" >/dev/null
hone-keys issue "$work/keys" server --dns localhost >/dev/null
hone-keys issue "$work/keys" phone >/dev/null
port=$(free_port)

# both NAME STEPS CLIENT-OPTIONS -- SERVER-OPTIONS
both() {
  local name=$1 steps=$2 own=() server client
  shift 2
  while [[ $1 != -- ]]; do own+=("$1") && shift; done
  shift
  "$work/out/server/train" --timeout 120 --output "$work/$name.server" "$@" >"$work/$name.server.log" 2>&1 &
  server=$!
  "$work/out/client/train" --timeout 120 --output "$work/$name.client" --data "$work/data.jsonl" \
    --steps "$steps" "${own[@]}" >"$work/$name.client.log" 2>&1 &
  client=$!
  wait $client && wait $server || { tail -n 5 "$work/$name".*.log >&2; exit 1; }
}

# carried NAME STEPS: bytes up and down.
carried() {
  rm -f "$work/relay"
  python3 "$here/relay.py" localhost:$port 1 >"$work/relay" &
  local relay=$!
  until [[ -s $work/relay ]]; do sleep 0.1; done
  both "$1" "$2" --connect localhost:"$(head -n 1 "$work/relay")" --keys "$work/keys/phone" -- \
    --serve 127.0.0.1:$port --keys "$work/keys/server" --admit "$work/keys/admitted"
  kill $relay
  wait $relay
  awk 'NR == 2 {print $2, $4}' "$work/relay"
}

read -r up1 down1 < <(carried few 1)
read -r up down < <(carried more 3)
awk -v P="$directions" -v bytes=$([[ $dtype == bfloat16 ]] && echo 2 || echo 4) \
  -v up=$(((up - up1) / 2)) -v down=$(((down - down1) / 2)) 'BEGIN {
  hidden = 64 * 27 * 768 * bytes
  bound = 1.02 * ((2 * P + 1) * hidden + 8 * 64 * 27)
  printf "bytes a step: up %d, of at most %d (%.4f of what the hidden states are); down %d, of at most 16384 for P > 0; both ways %.1f MiB\n",
    up, bound, up / ((2 * P + 1) * hidden), down, (up + down) / 1048576
  exit !(up <= bound && (P > 0 ? down <= 16384 : down <= 1.02 * hidden))
}'
(($# < 2)) || exit 0
both local 1 --exchange test --exchange-at "$work" -- --exchange test --exchange-at "$work"
for program in client server; do
  takes $program "$work/more.$program.log" "$work/local.$program.log"
done

"$work/out/server/train" --timeout 120 --output "$work/idle.server" --serve 127.0.0.1:$port \
  --keys "$work/keys/server" --admit "$work/keys/admitted" >"$work/idle.server.log" 2>&1 &
server=$!
sleep 2
waits $server 'a server that nobody has dialled'
"$work/out/client/train" --timeout 120 --output "$work/idle.client" --data "$work/data.jsonl" --steps 1000 \
  --connect localhost:$port --keys "$work/keys/phone" >"$work/idle.client.log" 2>&1 &
client=$!
until [[ -s $work/idle.client/steps.jsonl ]]; do sleep 0.1; done
kill -STOP $client && sleep 1
waits $server 'a server whose client is stopped'
kill -CONT $client && sleep 1 && kill -STOP $server && sleep 1
waits $client 'a client whose server is stopped'
kill -9 $server && sleep 1
waits $client 'a client whose server is dead'
