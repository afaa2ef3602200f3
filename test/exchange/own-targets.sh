#!/usr/bin/env bash
# own-targets.sh MODEL.mlir WEIGHTS DATA CLIENT SERVER [EMULATOR COMPILER]
#
# A client for one target and a server for another: their losses are near those of one
# reference program. Killed and started again, they have the bits of a run that was not.
# LD_LIBRARY_PATH has a driver where one is needed, and EMULATOR runs the client, for
# which COMPILER is.
set -euo pipefail

model=$1 weights=$2 data=$3 client=$4 server=$5 emulator=${6-} compiler=${7-c++}
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
steps=6
. "$(dirname "$0")/programs.sh"
programs=(client server)
runs() { [[ $1 != client ]] || echo "$emulator"; }

# pair RUN SETTING...: both programs, in a folder that becomes RUN's.
pair() {
  spec 2 client server
  # shellcheck disable=SC2046
  quietly honec "$work/spec.yaml" -o "$work/$1" $(printf -- '--set %s ' "${@:2}")
  cp "$work/engine.so" "$work/$1/server/hone-exchange-test.so"
  engine "$work/$1/client/hone-exchange-test.so" "$compiler"
}

prepare 2
pair whole target="$client" parts.last.target="$server"
cp -r "$work/whole" "$work/killed"
together whole

# Both are killed, at different messages.
HONE_TEST_EVENT='save 1 kill' train client killed
running=$!
HONE_TEST_EVENT='durable 2 kill' train server killed
other=$!
code=0
{ wait $running || code=$?; } 2>/dev/null
((code == 137)) || fails client killed $code
train client killed
running=$!
code=0
{ wait $other || code=$?; } 2>/dev/null
((code == 137)) || fails server killed $code
train server killed
other=$!
wait $running || fails client killed $?
wait $other || fails server killed $?
for program in "${programs[@]}"; do
  cmp <(of "$work/whole.$program/steps.jsonl") <(of "$work/killed.$program/steps.jsonl")
  for file in "$work/whole.$program"/*.safetensors; do
    cmp "$file" "$work/killed.$program/${file##*/}"
  done
done
echo 'killed and started again: the same bits'

losses() { sed -n 's/.*"loss": \([-0-9.e+]*\).*/\1/p' "$1/steps.jsonl"; }
paste <(losses "$work/one2.run") <(losses "$work/whole.client") | awk '
  { d = ($1 - $2) / $1; if (d < 0) d = -d; if (!(d <= w)) w = d }
  END { printf "%d losses, %s\n", NR, w == 0 ? "equal" : w < 1e-5 ? "near" : "off by " w }'

# Without a target of its own in the spec, a program for another one is refused.
pair other target="$server"
pair mixed target="$client"
rm -r "$work/mixed/server" && cp -r "$work/other/server" "$work/mixed/server"
train server mixed
other=$!
train client mixed
wait $! && fails client mixed 0
wait $other && fails server mixed 0
grep -h -o "H0812.*differs in .*target.triple (here [a-z0-9_-]*, there [a-z0-9_-]*)" "$work"/mixed.*.log
