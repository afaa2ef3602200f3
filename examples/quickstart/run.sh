#!/usr/bin/env bash
# quickstart: a random model, compiled and fine-tuned on the licence texts that
# every Debian machine has. Usage: run.sh BUILD_DIR [WORK_DIR] [STEPS]

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "${1:?usage: run.sh BUILD_DIR [WORK_DIR] [STEPS]}" && pwd)
work=${2:-$build/quickstart}
steps=${3:-200}

step() { printf '\n$ %s\n' "$*" && "$@"; }

rm -rf "$work"
mkdir -p "$work"
cp "$here/config.json" "$here/spec.yaml" "$work"
cd "$work"
PATH=$build/bin:$PATH
cat /usr/share/common-licenses/{GPL-2,GPL-3,LGPL-2.1,MPL-2.0} >licences.txt

step hone-make-model config.json -o model --seed 1 --tokenizer byte
step honec spec.yaml --print-plan
step honec spec.yaml -o out
step ./out/train --data licences.txt --output run --steps "$steps"

printf '\nThe adapter is in %s/run, in the format of PEFT.\n' "$work"
