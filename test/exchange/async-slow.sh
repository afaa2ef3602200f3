#!/usr/bin/env bash
# async-slow.sh MODEL.mlir WEIGHTS DATA
#
# AsyncFGD of three programs over gRPC, near each other and over long lines, each of another
# delay. Both runs have the same losses and results, bit for bit: those of one fgd program that
# is asked for every derivative at the parameters that the modules had (late-reference).
set -euo pipefail

model=$1 weights=$2 data=$3
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
steps=12
. "$(dirname "$0")/programs.sh"
. "$here/modules.sh"
prepare_reference
reference 3 "${cuts[3]}"
compile of3 ", modules: 3, asynchronous: true, module_cuts: [${cuts[3]}]"

hone-keys init "$work/keys" >/dev/null
for name in module1 module2 module3; do
  hone-keys issue "$work/keys" $name $([[ $name == module1 ]] || echo --dns localhost) >/dev/null
done
echo module2 >>"$work/keys/admitted"

# fails RUN TEXT
fails() {
  echo "async-slow: $1: $2" >&2
  tail -n 20 "$work/$1"/{log,relay}* >&2
  exit 1
}

# together RUN [DELAY2 DELAY3]: all modules, to their end; messages to and from
# module2 and module3 are so many milliseconds late.
together() {
  local run=$1 at=() place=() relays=() running=() i
  mkdir "$work/$run"
  for i in 2 3; do
    at[i]=$(free_port) place[i]=${at[i]}
    (($# > 1)) || continue
    python3 "$here/relay.py" "127.0.0.1:${at[i]}" 1 --delay "${!i}" >"$work/$run/relay$i" &
    relays+=($!)
    until [[ -s $work/$run/relay$i ]]; do sleep 0.05; done
    place[i]=$(head -n 1 "$work/$run/relay$i")
  done
  local meets1=(--connect "localhost:${place[2]}"
    --data "$data" --steps $steps --save-every 4)
  local meets2=(--serve "127.0.0.1:${at[2]}" --admit "$work/keys/admitted" --connect "localhost:${place[3]}")
  local meets3=(--serve "127.0.0.1:${at[3]}" --admit "$work/keys/admitted")
  for i in 3 2 1; do
    local -n meets=meets$i
    "$work/of3/module$i/train" "${meets[@]}" --keys "$work/keys/module$i" --timeout 60 \
      --output "$work/$run/module$i" >"$work/$run/log$i" 2>&1 &
    running[i]=$!
  done
  for i in 1 2 3; do
    wait "${running[i]}" || fails "$run" "module $i ended with $?"
  done
  for i in "${relays[@]}"; do
    kill "$i"
    wait "$i"
  done
  same "$work/reference3" "$work/$run"/module*
}

together near
together far 20 60
for i in 1 2 3; do
  cmp "$work/near/module$i/adapter_model.safetensors" "$work/far/module$i/adapter_model.safetensors"
  cmp <(losses "$work/near/module$i/steps.jsonl") <(losses "$work/far/module$i/steps.jsonl")
done
echo 'same bits as all versions: near, and over long lines'
