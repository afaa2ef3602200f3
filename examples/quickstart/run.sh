#!/usr/bin/env bash
# quickstart: a small model, trained from scratch on the licence texts that every
# Debian machine has and fine-tuned with LoRA on a keeper's logbook.
# Usage: run.sh BUILD_DIR [WORK_DIR] [STEPS OF THE BASE] [STEPS OF LORA]

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "${1:?usage: run.sh BUILD_DIR [WORK_DIR] [STEPS] [STEPS]}" && pwd)
work=${2:-$build/quickstart}
base_steps=${3:-450}
lora_steps=${4:-150}

say() { printf '\n# %s\n' "$*"; }
# Shows a command as a shell reads it, and runs it.
step() {
  local word
  printf '$'
  for word in "$@"; do
    [[ $word =~ ^[A-Za-z0-9_./=,-]+$ ]] || word=${word@Q}
    printf ' %s' "$word"
  done
  echo
  "$@"
}

rm -rf "$work"
mkdir -p "$work"
cp "$here"/{config.json,base.yaml,lora.yaml} "$work"
cd "$work"
PATH=$build/bin:$PATH
cat /usr/share/common-licenses/{GPL-2,GPL-3,LGPL-2.1,MPL-2.0,Apache-2.0} \
  >licences.txt
# The last tenth of the logbook is held out.
head -n 220 "$here/logbook.txt" >logbook.txt
tail -n +221 "$here/logbook.txt" >held-out.txt

say "A model with random weights, and a program that trains all of them"
step hone-make-model config.json -o start --seed 1 --tokenizer byte
step honec base.yaml -o pretrain
step ./pretrain/train --data licences.txt --output base \
  --steps "$base_steps" --save-every 0 --show-samples 0

say "The same model with LoRA: what training and generating take"
step honec lora.yaml --emit=train,generate --print-plan -o out

prompt='Friday, 3 November. '
text=(--prompt "$prompt" --max-new-tokens 200 --temperature 0.5)

say "Before"
step ./out/train --eval-only --eval-data held-out.txt
step ./out/generate "${text[@]}" && echo

say "Fine-tuning"
step ./out/train --data logbook.txt --eval-data held-out.txt --output adapter \
  --steps "$lora_steps" --show-samples 1

say "After"
step ./out/generate --adapter adapter "${text[@]}" && echo

printf '\nThe adapter is in %s/adapter, in the format of PEFT; adapter/report.html\n' "$work"
printf 'shows the run. The base is a Hugging Face directory, %s/base.\n' "$work"
