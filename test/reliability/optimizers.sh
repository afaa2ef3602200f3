#!/usr/bin/env bash
# optimizers.sh MODEL WORK
#
# Each optimizer that remembers in few bytes or none, trained in every way that ends
# with the same tensors: after the backward and in it, cut into parts, with other
# threads, killed, and replayed. A run of one refuses to go on with another.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/twelve-lines.sh"
model=$1 work=$2
here=$(dirname "${BASH_SOURCE[0]}")
mkdir -p "$work"
cd "$work"
twelve_lines >data.jsonl
cat >spec.yaml <<YAML
model: $model
lora: {r: 4, lora_alpha: 8, target_modules: all-linear}
train: {batch_size: 2, max_seq_length: 8, max_grad_norm: 0, learning_rate: 1e-3}
YAML

sed 's/max_grad_norm: 0, //' spec.yaml >forward.yaml
sed 's/^lora: .*/lora: none\nweights: {untie: true}/' spec.yaml >weights.yaml

run() { # run NAME THREADS [HONEC-ARG...]: compiles SPEC, once, and trains
  local name=$1 threads=$2
  shift 2
  [[ -e $name ]] || honec "${spec-spec.yaml}" -o "$name" "$@" >log 2>&1 || { cat log >&2; return 1; }
  "./$name/train" --data data.jsonl --output "$name.run" --epochs 3 \
    --weight-decay 0.1 --threads "$threads" >log
}

# same LABEL NAME NAME: two runs have the same tensors
same() {
  local trained=adapter_model.safetensors
  [[ -e $2.run/$trained ]] || trained=model.safetensors
  cmp "$2.run/$trained" "$3.run/$trained"
  echo "$1: same tensors"
}

check() { # check LABEL [--set ...]
  local label=$1
  shift
  rm -rf ./*.run after during cut held mezo
  run after 2 "$@"
  run during 1 "$@" --set train.optimizer_in_backward=true
  same "$label, in the backward" after during
  run cut 1 "$@" --step-options="split-after=0"
  same "$label, in parts" after cut
  echo "$label: $(bash "$here/memory.sh" after/train data.jsonl 0)"
  echo "$label: $(bash "$here/kill-resume.sh" after/train data.jsonl 2 \
    --epochs 60 --save-every 60 --threads 2)"
  # Every second step begins with moments of zero for other layers.
  run held 1 "$@" --set train.method=lcsb --set train.selection=lisa \
    --set train.selection_ratio=0.5 --set train.selection_period=2 \
    --set train.selection_warmup=0
  mv held.run held-one.run
  run held 3
  same "$label, held layers" held-one held
}

replay() { # replay LABEL [--set ...]
  local label=$1
  shift
  spec=forward.yaml run mezo 2 "$@" --set train.method=mezo
  ./mezo/train --replay mezo.run/replay.hone --output replayed.run --threads 1 \
    >log
  same "$label, replayed" mezo replayed
}

spec=weights.yaml check sinkgd --set train.optimizer=sinkgd
check adafactor --set train.optimizer=adafactor
both() { # what a method along directions may use, too
  check "$@"
  replay "$@"
}
both 'sgd in bfloat16' --set train.optimizer=sgd --set train.momentum=0.9 \
  --set train.momentum_dtype=bfloat16
both 'lion in bfloat16' --set train.optimizer=lion \
  --set train.momentum_dtype=bfloat16
both 'adamw-8bit' --set train.optimizer=adamw-8bit

# The last run's state, which nothing else goes on from.
honec spec.yaml -o other >log 2>&1
before=$(find after.run -type f -exec sha256sum {} + | sort)
if ./other/train --data data.jsonl --output after.run --epochs 3 \
  --weight-decay 0.1 >log 2>err; then
  echo "a state of another optimizer was taken" >&2
  exit 1
fi
grep -o 'train.optimizer (was [^)]*)' err
[ "$before" = "$(find after.run -type f -exec sha256sum {} + | sort)" ]
echo "nothing lost"
# Its identity forged, the vectors still are others.
python3 - after.run <<'PY'
import glob, hashlib, json, sys
folder = max(glob.glob(sys.argv[1] + "/checkpoint-*"))
trainer = open(folder + "/trainer.json").read().replace("adamw-8bit", "adamw")
open(folder + "/trainer.json", "w").write(trainer)
manifest = json.load(open(folder + "/MANIFEST.json"))
entry = manifest["files"]["trainer.json"]
entry["sha256"] = hashlib.sha256(trainer.encode()).hexdigest()
for key in entry:
    if key != "sha256":
        entry[key] = len(trainer)
json.dump(manifest, open(folder + "/MANIFEST.json", "w"))
PY
if ./other/train --data data.jsonl --output after.run --epochs 3 \
  --weight-decay 0.1 >log 2>err; then
  echo "another state was taken" >&2
  exit 1
fi
grep -o 'expected [0-9]* vectors, found [0-9]*' err
