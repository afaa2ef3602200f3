# modules.sh: sourced, after programs.sh. A spec of fgd whose modules are
# programs, and their expected results; needs $model, $weights, $data, $steps
# and $work.

declare -A cuts=([2]=3 [3]=2,4 [5]=1,2,3,5)

# compile NAME [keys of train] [options of honec]
compile() {
  cat >"$work/spec.yaml" <<SPEC
model: $model
weights: {path: $weights}
train: {method: fgd, compute_dtype: float32, directions: 2, optimizer: adamw, weight_decay: 0.1,
        learning_rate: 1e-2, batch_size: 2, max_seq_length: 32, gradient_accumulation_steps: 2,
        direction_scales: [1=0.5], direction_scale_steps: 4${2-}}
target: reference
SPEC
  quietly honec "$work/spec.yaml" -o "$work/$1" "${@:3}"
}

losses() { sed -n 's/.*"loss": \([^,]*\),.*/\1/p' "$1"; }

# same REFERENCE PROGRAM-FOLDER...: its losses and its adapter.
same() {
  local reference=$1 program
  shift
  for program in "$@"; do
    python3 - "$program/steps.jsonl" "$reference.losses" <<'PY' ||
import json, struct, sys
found = [json.loads(line)["loss"] for line in open(sys.argv[1])]
wanted = [float(line) for line in open(sys.argv[2])]
single = lambda x: struct.unpack("f", struct.pack("f", x))[0]
sys.exit([single(x) for x in found] != [single(x) for x in wanted])
PY
      { echo "async: $program has other losses" >&2; exit 1; }
  done
  python3 "$here/join.py" "$reference" "$@"
}

# prepare_reference: once, before reference.
prepare_reference() {
  compile plain
  compile object "" --emit=object
  c++ -shared -o "$work/plain.so" "$work/object"
}
# reference COUNT CUTS [more]
reference() {
  late-reference "$work/plain.so" "$work/plain/weights.hone.safetensors" "$data" $steps \
    "$2" "$work/reference$1" "${@:3}" >"$work/reference$1.losses"
}
