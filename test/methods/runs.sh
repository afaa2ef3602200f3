# run, same: runs of programs in $work on $data, to be sourced; $here is this folder.
source "$here/../reliability/equal.sh"
run() { # run NAME PROGRAM TRAIN-ARG...
  local name=$1 program=$2
  shift 2
  "$work/$program/train" --data "$data" --output "$work/$name" \
    --log "$work/$name.jsonl" "$@" >"$work/out"
}
same() { # same RUN RUN
  cmp "$work/$1/adapter_model.safetensors" "$work/$2/adapter_model.safetensors"
  cmp <(losses "$work/$1.jsonl") <(losses "$work/$2.jsonl")
}
