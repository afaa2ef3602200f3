#!/usr/bin/env bash
# mutations.sh MODEL.mlir WEIGHTS DATA LIBRARIES
#
# Programs whose runtime lacks one condition of a run's survival: a step in the
# names of messages, acknowledgement, checkpoints that stay until all have newer
# ones, a step that all have. Without each of them a test must fail; with all
# they pass, and say how long they may take. LIBRARIES: the folder of the
# runtime's archives.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
source=$here/../../runtime/src
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# links SEED: over a bad link, with programs of the libraries in $work/lib.
links() {
  timeout $limit bash "$here/train.sh" "${run[@]}" 0 "$1" --runtime-dir "$work/lib"
}
# kills SEED: with kills where a checkpoint is written and becomes durable.
kills() {
  timeout $limit bash "$here/events.sh" "${run[@]}" 2 few --runtime-dir "$work/lib"
}

# fresh: the runtime's archives in $work/lib.
fresh() {
  rm -rf "$work/lib"
  mkdir "$work/lib"
  cp "${libraries[@]}" "$work/lib"
}

# compiled ARCHIVE FILE FROM TO: in ARCHIVE, FILE is compiled anew with TO in place of FROM.
compiled() {
  python3 - "$source/$2" "$work/${2##*/}" "$3" "$4" <<'PY'
import sys
source, target, old, new = sys.argv[1:]
text = open(source).read()
assert text.count(old) == 1, f"{source} has not one '{old}'"
open(target, "w").write(text.replace(old, new))
PY
  # The build's command of the compiler.
  c++ -std=c++17 -O1 -fPIC -fno-exceptions -fno-rtti -I "$source" -I "$source/../include" \
    -I "$source/../.." -c "$work/${2##*/}" -o "$work/${2##*/}.o"
  ar r "$work/lib/$1" "$work/${2##*/}.o"
}

# without TEST WHAT ARCHIVE FILE FROM TO: TEST fails if TO is in place of FROM in FILE.
without() {
  local test=$1 what=$2 how seed seeds=4
  fresh
  compiled "${@:3}"
  for ((seed = 1; seed <= seeds; ++seed)); do
    if ! $test $seed >"$work/log" 2>&1; then
      how=$(grep -hoE 'train: .*|join: .*' "$work/log" | head -n 1) || true
      echo "without $what: ${how:-nobody goes on}"
      return
    fi
  done
  echo "mutations: nobody saw that there is no $what" >&2
  exit 1
}

libraries=("$4"/libhone_{runtime_main,program,exchange,text,core}.a)
run=("$1" "$2" "$3")
# With all of it, compiled in the same way, both tests pass.
fresh
for file in exchange/Messages exchange/Session exchange/CommonSteps program/Together; do
  compiled libhone_${file%/*}.a $file.cpp 'namespace hone::rt {' 'namespace hone::rt {'
done
limit=600 SECONDS=0
links 1
kills 1
limit=$((4 * SECONDS + 20))
without links 'step in the names of messages' libhone_exchange.a exchange/Session.cpp \
  'return {message.schedule, message.step,' 'return {message.schedule, 0,'
without links 'acknowledgement' libhone_exchange.a exchange/Messages.cpp \
  'out.next += frame.payloadBytes;' \
  'out.next += frame.payloadBytes; out.isOver = out.next == out.size;'
without kills 'checkpoints that stay until all have newer ones' libhone_program.a \
  program/Together.cpp 'store.keep(0);' ''
without kills 'step that all have' libhone_exchange.a exchange/CommonSteps.cpp \
  'if (others.has(steps[i]))' 'if (true)'
