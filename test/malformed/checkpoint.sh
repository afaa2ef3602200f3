#!/usr/bin/env bash
# checkpoint.sh DIR: malformed checkpoints in --output.
#
# A damaged checkpoint was never saved whole: the run says so and goes on from
# the one before. A sound one of another run is refused.
source "$(dirname "$0")/cases.sh"
cd "$1" || exit 1
kept=run
newest=run/checkpoint-000002
rm -rf whole && cp -r kept whole
wide/train --data data.jsonl --output whole --steps 4 >/dev/null
expected=$(sha256sum <whole/adapter_model.safetensors) || exit 1

again() { rm -rf run && cp -r kept run; }
# reseal: makes the manifest of the newest checkpoint agree with its files, as
# after a deliberate edit.
reseal() {
  python3 - $newest <<'PY'
import hashlib, json, os, sys
folder = sys.argv[1]
manifest = json.load(open(folder + "/MANIFEST.json"))
for name, entry in manifest["files"].items():
    text = open(os.path.join(folder, name), "rb").read()
    entry.update(size=len(text), sha256=hashlib.sha256(text).hexdigest())
json.dump(manifest, open(folder + "/MANIFEST.json", "w"))
PY
}

# passed NAME FINDING: the newest checkpoint is passed over with a warning that
# names it, and the run ends with the bits of the whole run.
passed() {
  local name=$1 message status
  message=$(wide/train --data data.jsonl --output run --steps 4 \
    2>&1 >run.log)
  status=$?
  refused=$((refused + 1))
  if [ "$status" -ne 0 ]; then
    complain "expected exit code 0 but got $status"
  elif ! grep -qE "^warning\[H0804\]: skipping the damaged checkpoint $newest .*$2" \
    <<<"$message"; then
    complain "expected to be told that $newest is passed over: $2"
  elif ! grep -q 'resuming after step 1' run.log; then
    complain 'expected to resume after step 1'
  elif [ "$(sha256sum <run/adapter_model.safetensors)" != "$expected" ]; then
    complain 'expected the bits of the whole run'
  fi
}

# bad NAME CODE PLACE FINDING [OPTIONS]
steps=4 data=data.jsonl
bad() {
  local name=$1 code=$2 place=$3 finding=$4
  shift 4
  refuses "$name" "$code" "$place" "$finding" \
    wide/train --data $data --output run --steps $steps "$@"
}

again && truncate -s -1 $newest/state.safetensors
passed 'a short state' 'state.safetensors: expected [0-9]+ bytes, found'
again && flip $newest/state.safetensors -5
passed 'a bit of the state' 'state.safetensors: expected the contents'
again && flip $newest/trainer.json 40
passed 'a bit of the settings' 'trainer.json: expected the contents'
again && rm $newest/MANIFEST.json
passed 'no manifest' 'MANIFEST.json'
again && echo '{' >$newest/MANIFEST.json
passed 'half a manifest' 'MANIFEST.json'
again && edit $newest/MANIFEST.json 'j["step"] = 3'
passed 'a manifest of another step' 'MANIFEST.json: expected "step": 2'
again && edit $newest/MANIFEST.json 'j["format_version"] = "one"'
passed 'no format' 'MANIFEST.json: expected "format_version": 1'
again && edit $newest/MANIFEST.json 'del j["files"]["trainer.json"]'
passed 'a manifest without a file' 'size and sha256 of trainer.json'
again && rm $newest/state.safetensors
passed 'no state' 'state.safetensors'
for file in state.safetensors trainer.json MANIFEST.json; do
  again && ln -sf $file $newest/$file
  passed "a circle of links as $file" "$file"
done
again && ln -sf "$(printf 'x%.0s' {1..300})" $newest/state.safetensors
passed 'a link to a name that none can have' 'state.safetensors'
again && rm -r $newest && mkdir $newest
passed 'an empty folder' 'MANIFEST.json'

again && edit $newest/MANIFEST.json 'j["format_version"] = 99'
bad 'a format of the future' H0805 $newest/MANIFEST.json \
  'expected format_version 1, found 99: a later version of Hone'
again && edit $newest/trainer.json 'j["run"]["model"] = "0" * 64' && reseal
bad 'another model' H0801 run 'another: model \(was 0{12}'
again && edit $newest/trainer.json 'j["run"]["weights.layout"] = "rows-v0"' &&
  reseal
bad 'other weights' H0801 run 'another: weights.layout \(was rows-v0, now'
again && edit $newest/trainer.json 'j["run"]["parts"] = "2"' && reseal
bad 'a name of the future' H0801 run 'another: parts \(was 2, now none\)'
again && edit $newest/trainer.json 'j["numerics"]["target.triple"] = "vax"' &&
  reseal
bad 'another machine' H0802 run 'other instructions.*: target.triple \(was vax, now'
again && edit $newest/trainer.json 'del j["run"]' && reseal
bad 'no identity' H0805 $newest/trainer.json 'expected an object "run"'
again && edit $newest/trainer.json 'j["numerics"] = 1' && reseal
bad 'no numerics' H0805 $newest/trainer.json 'expected an object "numerics"'
again && edit $newest/trainer.json 'j["run"]["--seed"] = 7' && reseal
bad 'a number for a field' H0805 $newest/trainer.json 'expected strings'
again && tensors $newest/state.safetensors 'h["theta2"] = h.pop("theta")' &&
  reseal
bad 'no theta' H0805 "$newest/state.safetensors: tensor theta" 'found none'
again && tensors $newest/state.safetensors 'h["theta"]["dtype"] = "I32"' &&
  reseal
bad 'integers for theta' H0805 "$newest/state.safetensors: tensor theta" \
  'expected F32 .* found I32'
again && tensors $newest/state.safetensors \
  'h["theta"]["shape"] = [2, h["theta"]["shape"][0] // 2]' && reseal
bad 'a matrix for theta' H0805 "$newest/state.safetensors: tensor theta" 'expected'
again && echo 'no header' >$newest/state.safetensors && reseal
bad 'a state that is no safetensors' H0403 $newest/state.safetensors 'header|byte'

again
bad 'other options' H0801 run '--learning-rate \(was' --learning-rate 1
steps=1 bad 'fewer steps than were made' H0803 $newest 'more than the 1'
cp data.jsonl other.jsonl && echo '{"input_ids": [9, 9]}' >>other.jsonl
data=other.jsonl bad 'other data' H0801 run 'another: data \(was'
again && rm -f run/lock && mkfifo run/lock
bad 'a pipe for the lock' H1005 run/lock 'expected a regular file, found .* a pipe'
finish
