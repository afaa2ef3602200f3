# cases.sh - the common part of this folder's scripts; sourced, not run
#
# A case is one malformed input and what is expected of it:
#
#   refuses NAME CODE PLACE FINDING COMMAND...
#
# COMMAND must exit as `honec --explain CODE` says (so not by a signal); its
# stderr must have one "error[CODE]:" line with PLACE, must have FINDING
# (extended regular expressions) and a "help:" line; and every file below $kept
# must be as before. The last line of a script, from `finish`, is the number of
# its cases. No case may run in a subshell, such as the end of a pipe: it would
# not be counted.
set -uo pipefail

refused=0
failed=0

# The contents of the folders that no failing command may change. A lock is
# empty and may be there; a finished token cache may be, as it is of the data
# alone.
snapshot() {
  [ -e "$kept" ] || return 0
  find "$kept" ! -name lock ! -name '*.tokens' ! -path '*/data' \
    -printf '%P %y %m\n' | sort
  find "$kept" -type f ! -name lock ! -name '*.tokens' -exec sha256sum {} + |
    sort
}

complain() {
  failed=$((failed + 1))
  printf 'FAILED %s: %s\n' "$name" "$1"
  printf '%s\n' "$message" | sed 's/^/  | /'
}

refuses() {
  local name=$1 code=$2 place=$3 finding=$4 before expected status message line
  shift 4
  expected=$(honec --explain "$code" | sed -n 's/^exit code //p')
  before=$(snapshot)
  message=$("$@" 2>&1 >/dev/null)
  status=$?
  refused=$((refused + 1))
  line=$(grep -a '^error' <<<"$message")
  if [ "$status" != "$expected" ]; then
    complain "expected exit code $expected but got $status"
  elif [ "$(grep -c . <<<"$line")" -ne 1 ]; then
    complain 'expected one line with "error"'
  elif ! grep -qaE -e "^error\[$code\]: .*$place" <<<"$line"; then
    complain "expected error[$code] and the place '$place'"
  elif ! grep -qaE -e "$finding" <<<"$message"; then
    complain "expected the finding '$finding'"
  elif ! grep -qaE '^  help: .' <<<"$message"; then
    complain 'expected a line with "help:"'
  elif [ "$(snapshot)" != "$before" ]; then
    complain "expected $kept to be as before"
    diff <(printf '%s\n' "$before") <(snapshot) | sed 's/^/  | /'
  fi
}

finish() {
  printf '%s refused\n' "$refused"
  [ "$failed" -eq 0 ]
}

# edit FILE PYTHON: runs PYTHON with the file's JSON as `j`, writes `j` back.
edit() {
  python3 - "$1" "$2" <<'PY'
import json, sys
path, code = sys.argv[1:]
with open(path) as file:
    scope = {"j": json.load(file)}
exec(code, scope)
with open(path, "w") as file:
    json.dump(scope["j"], file)
PY
}

# tensors FILE PYTHON: the same for a safetensors file, with its header as `h`
# and the bytes after it as the bytearray `b`.
tensors() {
  python3 - "$1" "$2" <<'PY'
import json, sys
path, code = sys.argv[1:]
with open(path, "rb") as file:
    size = int.from_bytes(file.read(8), "little")
    scope = {"h": json.loads(file.read(size)), "b": bytearray(file.read())}
exec(code, scope)
header = json.dumps(scope["h"]).encode()
header += b" " * (-len(header) % 64)
with open(path, "wb") as file:
    file.write(len(header).to_bytes(8, "little") + header + scope["b"])
PY
}

# flip FILE OFFSET: flips the lowest bit of one byte; a negative offset counts
# from the end.
flip() {
  python3 - "$1" "$2" <<'PY'
import os, sys
path, at = sys.argv[1], int(sys.argv[2])
with open(path, "r+b") as file:
    at += os.path.getsize(path) if at < 0 else 0
    file.seek(at)
    byte = file.read(1)[0]
    file.seek(at)
    file.write(bytes([byte ^ 1]))
PY
}
