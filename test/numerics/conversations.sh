#!/usr/bin/env bash
# conversations.sh FOLDER GOLDEN NAME: a conversation with template NAME, whose
# turns go on from remembered keys and values, has the ids and texts of fresh
# runs that are given the whole conversation so far. FOLDER has the tokenizer,
# config and weights.
set -euo pipefail
folder=$1 golden=$2 name=$3 out=$1/$3
cp "$golden/chat/templates/$name.jinja" "$folder/chat_template.jinja"
honec "$folder/spec.yaml" --set model="$folder" --emit=generate \
  --set generate.max_length=256 -o "$out"
rm -f "$out"/turn-*
turns=("What is a tree?" "  And a leaf,\\" "that is green?" "Good")
said() { # said [options]: ids or texts of the conversation, which is saved by turns
  rm -f "$out"/turn-?.jsonl
  {
    printf '%s\n' "${turns[0]}" "/save $out/turn-1.jsonl"
    printf '%s\n' "${turns[1]}" "${turns[2]}" "/save $out/turn-2.jsonl"
    printf '%s\n' "${turns[3]}" "/save $out/turn-3.jsonl"
  } | "$out/generate" --chat --max-new-tokens 16 "$@" 2>"$out/log"
}
fresh() { # fresh [options]: the same by runs of their own
  for turn in 1 2 3; do
    sed -E 's/, \{"role": "assistant", "content": "([^"\\]|\\.)*"\}\]\}$/]}/' \
      "$out/turn-$turn.jsonl" >"$out/asked.jsonl"
    "$out/generate" --messages "$out/asked.jsonl" --max-new-tokens 16 "$@" 2>>"$out/fresh"
    echo
  done
}
for options in "" "--show-ids" "--show-ids --temperature 1 --top-k 20 --min-p 0.01 --seed 5 --repetition-penalty 1.2"; do
  said $options >"$out/said"
  fresh $options | diff "$out/said" -
  said $options --threads 1 | cmp "$out/said" -
  said $options --threads 7 | cmp "$out/said" -
done
# Of the second and third turn the first was remembered.
awk '/^prompt/ { if (++turn > 1 && $4 >= $2) exit 1 } END { exit turn != 3 }' "$out/log"
echo "same conversation"
