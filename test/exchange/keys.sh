#!/usr/bin/env bash
# keys.sh
#
# hone-keys does all of its work or nothing, although its output fails, it is
# killed, or others issue keys of the same folder.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
keys=$work/keys

# ends CODE COMMAND...
ends() {
  local status=0
  "${@:2}" 2>"$work/log" || status=$?
  ((status == $1)) ||
    { echo "keys: expected $1 of '${*:2}' but got $status" >&2; cat "$work/log" >&2; exit 1; }
}

# admits COUNT NAME: so many lines of the file are that name, whose keys are there.
admits() {
  [[ $(grep -cx "$2" "$keys/admitted") == "$1" && -e $keys/$2/cert.pem ]] ||
    { echo "keys: $2 is not admitted with keys" >&2; cat "$keys/admitted" >&2; exit 1; }
}

ends 74 hone-keys init "$keys" >/dev/full
grep -q 'standard output: cannot be written' "$work/log"
for asked in --help --version; do
  ends 74 hone-keys $asked >/dev/full
  grep -q 'standard output: cannot be written$' "$work/log"
done
ends 74 hone-keys issue "$keys" full >/dev/full
ends 0 hone-keys issue "$keys" closed >&-
# Its reader has left.
mkfifo "$work/pipe"
exec 4<>"$work/pipe" 5>"$work/pipe" 4>&-
ends 74 hone-keys issue "$keys" left >&5
for name in full closed left; do
  admits 1 $name
done
echo 'an output that fails costs no key'

mkdir "$work/bin"
printf '#!/bin/sh\nkill -9 $PPID\n' >"$work/bin/mv"
chmod +x "$work/bin/mv"
ends 137 env PATH="$work/bin:$PATH" hone-keys issue "$keys" killed >/dev/null
[[ ! -e $keys/killed ]]
hone-keys issue "$keys" killed >/dev/null
admits 1 killed
echo 'after a kill the same command issues the keys'

names=(one two three four five six)
for name in "${names[@]}"; do
  hone-keys issue "$keys" $name >/dev/null &
done
wait
for name in "${names[@]}"; do
  admits 1 $name
done
printf 'by hand' >>"$keys/admitted"
hone-keys issue "$keys" last >/dev/null
admits 1 last
echo 'calls at the same time lose no name'
