#!/usr/bin/env bash
# ends.sh MODEL ADAPTER
#
# Whenever a merge of MODEL, of many files, is stopped, its folder is whole or
# gone; one that was there and empty is left empty. Also below a long path.
set -euo pipefail

model=$1 adapter=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -shared -fPIC -O1 \
  "${0%/*}/../../reliability/RaiseAtCall.c" -o "$work/raise.so"
name=$(printf 'd%.0s' {1..240})
long=$work/$name/$name/$name/$name/$name
mkdir -p "$long" "$work/there"

fail() {
  echo "ends: $1" >&2
  exit 1
}
# Each file is renamed when it is written, then all are given their names.
files=$(find "$model" -type f | wc -l)
stopped=0 whole=0
for at in 1 2 $((files / 2)) "$files" $((files + 1)) $((2 * files)); do
  for out in "$work/new" "$work/there" "$long/out"; do
    status=0
    HONE_RAISE_CALL=rename HONE_RAISE_AT=$at LD_PRELOAD=$work/raise.so \
      hone-adapter merge "$model" "$adapter" -o "$out" >/dev/null || status=$?
    ((status == 143)) || fail "rename $at: exit code $status"
    left=$({ find "$out" -type f 2>/dev/null || true; } | wc -l)
    if ((left == files)) && [[ -e $out/config.json ]]; then
      whole=$((whole + 1))
    else
      ((left == 0)) || fail "rename $at: $left of $files files in $out"
      [[ $out == */there || ! -e $out ]] || fail "rename $at: $out is left"
      stopped=$((stopped + 1))
    fi
    [[ -z $(find "$work" -name '*.tmp-*') ]] || fail "rename $at: temporaries"
    rm -rf "${out:?}"/*
    [[ $out == */there ]] || rm -rf "$out"
  done
done
[[ -d $work/there ]] || fail "a folder that was there is gone"
echo "ends: $files files, $stopped stopped, $whole whole"
