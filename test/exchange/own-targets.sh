#!/usr/bin/env bash
# own-targets.sh MODEL.mlir WEIGHTS DATA CLIENT SERVER [EMULATOR COMPILER]
#
# A client for one target and a server for another: their losses are near those of one
# reference program. Killed and started again, they have the bits of a run that was not.
# LD_LIBRARY_PATH has a driver where one is needed, and EMULATOR runs the client, for
# which COMPILER is.
set -euo pipefail

model=$1 weights=$2 data=$3 ours=$4 theirs=$5 emulator=${6-} compiler=${7-c++}
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
pair whole target="$ours" parts.last.target="$theirs"
cp -r "$work/whole" "$work/killed"
together whole

# Both are killed, at different messages.
run=killed
HONE_TEST_EVENT='save 1 kill' train client $run
client=$!
HONE_TEST_EVENT='durable 2 kill' train server $run
server=$!
ends client 137
train client $run
client=$!
ends server 137
train server $run
server=$!
ends client 0
ends server 0
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
pair other target="$theirs"
pair mixed target="$ours"
rm -r "$work/mixed/server" && cp -r "$work/other/server" "$work/mixed/server"
run=mixed
train server $run
server=$!
train client $run
client=$!
ends client 2
ends server 2
grep -h -o "H0812.*differs in .*target.triple (here [a-z0-9_-]*, there [a-z0-9_-]*)" "$work"/mixed.*.log
