# Sourced: build NAME [honec options]: $work/NAME, a library called model of SPEC.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
lib=$(dirname "$(command -v honec)")/../lib
example=$root/examples/library
spec=$here/spec.yaml

build() {
  local name=$1
  shift
  honec "$spec" -o "$work/$name/model" "$@" >/dev/null
}

# link OUTPUT FILE... LIBRARY...: a C program of libraries and the runtime.
link() {
  local output=$1
  shift
  clang-22 -std=c11 -Wall -Wextra -Werror -I"$root/runtime/include" -o "$output" \
    "$@" "$lib/libhone_core.a" -lstdc++ -lm -lpthread -Wl,--gc-sections
}
fail() {
  echo "$1" >&2
  exit 1
}

# Sequences of ragged lengths, as lines of ids and as train reads them.
python3 - "$work" <<'PY'
import json, sys
state, lines = 1, []
for sample in range(7):
    ids = []
    for _ in range(5 + sample * 29 % 24):
        state = (state * 1103515245 + 12345) % 2**31
        ids.append(state // 2**16 % 61)
    lines.append(ids)
with open(sys.argv[1] + "/data.txt", "w") as text, open(sys.argv[1] + "/data.jsonl", "w") as records:
    for ids in lines:
        print(*ids, file=text)
        print(json.dumps({"input_ids": ids}), file=records)
PY
