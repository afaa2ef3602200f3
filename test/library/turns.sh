#!/usr/bin/env bash
# turns.sh MODEL: two models, one of them streaming, in one process as in two.
set -euo pipefail
source "$(dirname "$0")/build.sh"
steps=4
for name in one two; do
  honec "$spec" -o "$work/$name" --set model="$1" --emit=library \
    --set weights.streaming=$([[ $name == one ]] && echo true || echo false) \
    --set train.learning_rate=$([[ $name == one ]] && echo 1e-2 || echo 3e-2) >/dev/null
done
grep -q "U hone_release" <(nm "$work/one/libone.a") || fail "one streams nothing"
one=$work/one/weights.hone.safetensors two=$work/two/weights.hone.safetensors

turns() { # turns KIND ONE... -- TWO...: what both do together and alone
  local kind=$1 first=() second=()
  shift
  while [[ $1 != -- ]]; do first+=("$1"); shift; done
  second=("${@:2}")
  "$work/$kind" $steps "${first[@]}" "${second[@]}" >"$work/together"
  for weights in "$one" "$two"; do
    if [[ $weights == "$one" ]]; then "$work/$kind" $steps "${first[@]}"
    else "$work/$kind" $steps "${second[@]}"; fi >"$work/alone"
    [[ $(wc -l <"$work/alone") == "$steps" ]] || fail "no $steps steps"
    cmp <(grep "^$weights " "$work/together") "$work/alone"
  done
  cut -d' ' -f2- "$work/together" >"$work/$kind.bits"
  echo "$kind: the bits of two processes"
}
link "$work/archives" "$here/turns.c" "$work/one/libone.a" "$work/two/libtwo.a"
turns archives "$one" 1 -- "$two" 2
clang-22 -DSHARED -I"$root/runtime/include" -o "$work/shared" "$here/turns.c"
turns shared "$one" "$work/one/libone.so" hone_one -- "$two" "$work/two/libtwo.so" hone_two
cmp "$work/archives.bits" "$work/shared.bits"

# Visible symbols and hidden ones.
nm --defined-only --extern-only "$work/one/libone.a" | sed -n 's/.* [A-Z] //p' | sort >"$work/visible"
echo "archive: $(tr '\n' ' ' <"$work/visible")"
nm -D --defined-only "$work/one/libone.so" | sed 's/.* //; s/@.*//' | sort >"$work/visible"
(sed -n 's/.*\b\(hone_[a-z_]*\)(.*/\1/p' "$root/runtime/include/hone/hone.h" | grep -v "^hone_MODEL" | sort -u
  echo hone_one) | sort -u >"$work/header"
cmp "$work/visible" "$work/header" && echo "shared: the functions of hone.h and hone_one"
