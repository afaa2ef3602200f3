# run, same: runs of programs in $work on $data, to be sourced; $here is this folder.
source "$here/../reliability/equal.sh"
run() { # run NAME PROGRAM TRAIN-ARG...
  local name=$1 program=$2
  shift 2
  "$work/$program/train" --data "$data" --output "$work/$name" \
    --log "$work/$name.jsonl" "$@" >"$work/out"
}
steps_of() { # steps_of RUN: the same of any method
  losses "$work/$1.jsonl" | sed -E 's/ *("selected_layers": [^]]*\]\})?$//'
}
same() { # same RUN RUN
  cmp "$work/$1/adapter_model.safetensors" "$work/$2/adapter_model.safetensors"
  cmp <(steps_of "$1") <(steps_of "$2")
}
# six_layers: settings that compile six layers in a third of the time, as $six
# and $six64.
six_layers() {
  local weights=(--set weights.path="$work/weights.safetensors")
  python3 "$here/six-layers.py" "$work/weights.safetensors"
  sed 's/xf64>/xf32>/g' "$here/Inputs/six-layers.mlir" >"$work/six-layers.mlir"
  six=(--set model="$work/six-layers.mlir" "${weights[@]}")
  six64=(--set model="$here/Inputs/six-layers.mlir" "${weights[@]}"
    --set train.compute_dtype=float64 --set weights.dtype=float64
    --set lora.dtype=float64)
}
