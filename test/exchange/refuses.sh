#!/usr/bin/env bash
# refuses.sh MODEL.mlir WEIGHTS DATA
#
# Refusals of programs that train together, each with its code; nothing is left
# of a refused run.
set -euo pipefail

model=$1 weights=$2 data=$3
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
. "$(dirname "$0")/programs.sh"
client_and_server
quietly honec "$work/spec.yaml" -o "$work/out"
as_one whole

# refused CODE TEXT PROGRAM [options]: exit code and text.
refused() {
  local code=$1 text=$2 status=0
  rm -rf "$work/none"
  "$work/$3/train" --output "$work/none" "${@:4}" >"$work/log" 2>&1 || status=$?
  ((status == code)) && grep -q -e "$text" "$work/log" ||
    { echo "refuses: expected $code and '$text' but got $status" >&2; cat "$work/log" >&2; exit 1; }
}
refused 66 'H0823.*hone-exchange-missing.so: there is no such engine' out/client --data "$data" --exchange missing
echo 'no library' >"$work/out/client/hone-exchange-text.so"
refused 66 'H0823.*cannot be loaded' out/client --data "$data" --exchange text
echo 'int other;' | c++ -x c++ -shared -o "$work/out/client/hone-exchange-none.so" -
refused 66 'H0823.*it has no hone_exchange_engine' out/client --data "$data" --exchange none
sed 's/HONE_ENGINE_VERSION,/HONE_ENGINE_VERSION + 1,/' "$here/TestEngine.cpp" |
  c++ -std=c++17 -x c++ -shared -fPIC -I "$here/../../runtime/include" -I "$here/../../runtime/src" \
    -o "$work/out/client/hone-exchange-new.so" - "$here/../../runtime/src/exchange/Frame.cpp"
refused 66 'H0823.*expects version 4 .* but got version 5' out/client --data "$data" --exchange new
echo '#include "hone/engine.h"
extern "C" const char *hone_exchange_problem(void) { return "it is of MPI 9 and this machine has 8"; }' |
  c++ -x c++ -shared -fPIC -I "$here/../../runtime/include" -o "$work/out/client/hone-exchange-mpi9.so" -
refused 66 'H0823.*mpi9.so: it is of MPI 9' out/client --data "$data" --exchange mpi9
refused 66 'H0823.*expects a name of letters' out/client --data "$data" --exchange ../engine
echo 'no engine: 66'

engine "$work/out/client/hone-exchange-test.so"
cp "$work/out/client/hone-exchange-test.so" "$work/out/server"
test=(--exchange test --exchange-at "$work" --timeout 1)
refused 2 "H0103.*--data: the program 'client' has the data" out/server --data "$data" "${test[@]}"
refused 2 "expects --data but got none: 'client' has the data" out/client "${test[@]}"
refused 2 "H0811.*trains only together with 'client'" out/server
refused 2 "H0811.*trains only together with 'server'" out/client --data "$data"
refused 2 'H0103.*was compiled of a whole model' whole --data "$data" "${test[@]}"
refused 2 'H0103.*--for: is not there yet' out/client --data "$data" --for 1h "${test[@]}"
refused 2 "H0103.*--eval-data: the program 'client' has the data" out/server --eval-data "$data" \
  --eval-every 1 "${test[@]}"
for option in '--too-long cut' '--skip-unusable' '--show-samples 0' '--epochs 2' '--map prompt=q' '--save-every 1'; do
  # shellcheck disable=SC2086
  refused 2 "H0103.*${option%% *}: the program 'client' has the data" out/server $option "${test[@]}"
done
refused 2 '--exchange-at: expects --exchange' out/client --data "$data" --exchange-at here
echo 'options that disagree: 2'

refused 69 "H0816.*'server'" out/client --data "$data" "${test[@]}"
echo 'nobody there: 69'

# together CLIENT-OPTIONS -- SERVER-OPTIONS: both, and their exit codes.
together() {
  local own=() both=()
  while [[ $1 != -- ]]; do own+=("$1") && shift; done
  shift
  "$work/out/client/train" --data "$data" --steps 3 --save-every 1 --output "$work/client" \
    --exchange test --exchange-at "$work" --timeout 10 "${own[@]}" >"$work/client.log" 2>&1 &
  both=($!)
  "$work/out/server/train" --output "$work/server" --exchange test --exchange-at "$work" \
    --timeout 10 "$@" >"$work/server.log" 2>&1 &
  both+=($!)
  codes=()
  for each in "${both[@]}"; do
    wait "$each" && codes+=(0) || codes+=($?)
  done
  echo "client and server: ${codes[*]}"
}
together --first-learning-rate 1e-3 -- --first-learning-rate 2e-3
grep -q "H0812.*differs in --first-learning-rate (here 0.001, there 0.002)" "$work/client.log"
grep -q "H0812.*differs in --first-learning-rate (here 0.002, there 0.001)" "$work/server.log"
together -- --steps 2
grep -q "H0812.*'client': differs in --steps (here 2, there 3)" "$work/server.log"
[[ ! -e $work/server/steps.jsonl ]]
together -- --steps 3
for each in client server; do
  [[ $(grep -cE '"sent_bytes": [1-9][0-9]*, "received_bytes": [1-9][0-9]*, "waited_seconds": [0-9.]+' \
    "$work/$each/steps.jsonl") == 3 ]] || { echo "refuses: the log of $each" >&2; exit 1; }
  grep -qE '^  exchange +[1-9][0-9.]* MiB' "$work/$each.log" || { echo "refuses: the plan of $each" >&2; exit 1; }
done
echo 'what crosses and waits is in the log, and what it takes in the plan'
grep -q "^The part of 'client' in a LoRA adapter" "$work/client/README.md"
grep -q "^The part of 'server' in a LoRA adapter" "$work/server/README.md"
grep -q '^hone-adapter join the/folder/of/client this/folder -o adapter' "$work/server/README.md"
grep -q '^| steps | 3 of 2 sequences |$' "$work/server/README.md"
[[ $(grep -cE 'from_pretrained|^[|] data' "$work/server/README.md") == 0 ]]
echo 'the card of a part says how to make one adapter'
mkdir "$work/first"
mv "$work/client" "$work/server" "$work/first"
together --
rm -rf "$work/server"
mv "$work/first/server" "$work"
together --
for each in client server; do
  grep -q 'H0824.*folders of one run, but those of the programs are of different runs' "$work/$each.log"
done
echo 'checkpoints of two runs are not taken for those of one'
[[ $(cat "$work/first/client/together.run") == $(cat "$work/server/together.run") ]]

# The first run's server as it is killed when all have saved for the first time: its leader
# needs the beginning no more. With a new folder the client is wrong.
mv "$work/client" "$work/second"
touch "$work/server/together.start"
ls "$work/server" >"$work/before"
together --
ls "$work/server" | cmp - "$work/before"
for each in client server; do
  grep -q "H0824.*but that of the program 'client' is new" "$work/$each.log"
done
rm -rf "$work/client"
cp -r "$work/first/client" "$work/client"
together --
echo 'a new folder costs no other one its checkpoints'
echo none >"$work/server/together.run"
together --
grep -q "H0804.*server/together.run: expects the run's name" "$work/server.log"
echo 'a name that is none is no folder without one'
mv "$work/first/client/together.run" "$work/server/together.run"

rm -rf "$work/server" "$work/client/together.done"
together --
grep -q 'H0824.*expects a checkpoint of one step' "$work/client.log"
grep -q 'H0824.*expects a checkpoint of one step' "$work/server.log"
