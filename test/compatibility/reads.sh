#!/usr/bin/env bash
# reads.sh MODEL FOLDER WORK: the files of a version in FOLDER, read by this
# one.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
model=$(cd "$1" && pwd) folder=$(cd "$2" && pwd) work=$3
rm -rf "$work" && mkdir -p "$work"
cd "$work"
compile() { honec "$here/spec.yaml" --set model="$model" "${@:2}" -o "$1"; }
train() { "$1/train" --data "$here/data.jsonl" --threads 2 --show-samples 0 "${@:2}" >log; }
# same NAME FOLDER: its adapter has the bits that the old version's had.
same() {
  local digest
  digest=$(sha256sum <"$2/adapter_model.safetensors" | cut -d ' ' -f 1)
  grep -qx "$1 $digest" "$folder/digests" || {
    printf '%s: %s has other bits, %s\n' "$folder" "$1" "$digest"
    exit 1
  }
  printf '%s: the same bits\n' "$1"
}
# refused CODE COMMAND...: nothing of a later version is read as this one's.
refused() {
  local code=$1
  shift
  if "$@" 2>message || ! grep -q "^error\[$code\]" message; then
    printf 'expected %s of %s\n' "$code" "$*"
    cat message
    exit 1
  fi
}

compile backprop
compile mezo --set train.method=mezo --set train.optimizer=sgd
cp -r "$folder/run" resumed
train backprop --output resumed --steps 4 --save-every 2
grep -q 'resuming after step 2' log
same resumed resumed
train backprop --output next --adapter "$folder/run" --steps 1
same from-adapter next
"mezo/train" --replay "$folder/replay.hone" --output replayed >log
same replayed replayed

cp -r "$folder/run" later
sed -i 's/"format_version": 1/"format_version": 2/' later/checkpoint-000002/MANIFEST.json
refused H0805 train backprop --output later --steps 4
[ -d later/checkpoint-000002 ]
sed 's/"hone_replay": *1/"hone_replay": 2/' "$folder/replay.hone" >later.hone
refused H0813 mezo/train --replay later.hone --output no
sed 's/rows-v1/rows-v2/' backprop/weights.hone.safetensors >later.safetensors
refused H0410 train backprop --output no --weights later.safetensors
echo "what a later version writes is refused"
