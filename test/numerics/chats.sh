#!/usr/bin/env bash
# chats.sh FOLDER GOLDEN NAME: a chat with template NAME is rendered, tokenised and
# continued as Transformers does. FOLDER has the tokenizer, config and weights.
set -euo pipefail
folder=$1 golden=$2 name=$3 chat=$2/generations/chat/$3
cp "$golden/chat/templates/$name.jinja" "$folder/chat_template.jinja"
honec "$folder/spec.yaml" --set model="$folder" --emit=generate \
  --set generate.max_length=256 -o "$folder/$name"
arguments=(--chat --prompt-file "$chat.user")
[ ! -e "$chat.system" ] || arguments+=(--system "$(cat "$chat.system")")
run() { "$folder/$name/generate" "$@" 2> "$folder/log"; }
run "${arguments[@]}" --max-new-tokens 60 --show-ids | diff - "$chat.ids"
grep -q "^prompt  *$(tr ',' '\n' < "$chat.prompt" | wc -l) tokens" "$folder/log"
run --prompt-ids "$(cat "$chat.prompt")" \
  --max-new-tokens "$(wc -l < "$chat.ids")" --show-ids | diff - "$chat.ids"
echo "same chat"
