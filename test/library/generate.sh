#!/usr/bin/env bash
# generate.sh: text through the library is that of the program, and where
# libhone_text.a is not linked its functions say so.
set -euo pipefail
source "$(dirname "$0")/build.sh"
hone-make-model "$here/../reliability/Inputs/small.json" -o "$work/base" --tokenizer=byte >/dev/null
build both --set model="$work/base" --emit=library,generate
honec "$spec" --set model="$work/base" --emit=generate -o "$work/program" >/dev/null
folder=$work/both/model weights=$work/both/model/weights.hone.safetensors
link "$work/generate" -I"$folder" "$here/generate.c" "$folder/libmodel.a" "$lib/libhone_text.a"
"$work/generate" "$weights" hello 30 >"$work/found" 2>"$work/text"
[[ $(cat "$work/text") == *hello* ]] || fail "the text is another: $(cat "$work/text")"
"$work/program/generate" --prompt hello --max-new-tokens 30 --show-ids --temperature 2 \
  --top-k 50 --top-p 0.9 --seed 3 --quiet >"$work/expected"
count=$(wc -l <"$work/expected")
((count > 3)) || fail "only $count tokens"
cmp <(head -n "$count" "$work/found") "$work/expected"
echo "$count tokens as generate draws them"
grep "hone_detokenize: id" "$work/text"
link "$work/without" -I"$folder" "$here/generate.c" "$folder/libmodel.a"
status=0
"$work/without" "$weights" hello 3 || status=$?
echo "without libhone_text.a: $status"
