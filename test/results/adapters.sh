#!/usr/bin/env bash
# adapters.sh GOLDEN WORK SPEC: trains the adapters of SPEC with each method. No
# plan, thread or kill changes a bit, the written adapter is read back, and
# measured memory stays within the plan.
set -euo pipefail
golden=$1 work=$2 spec=$3
here=$(dirname "${BASH_SOURCE[0]}")
model=$golden/models/qwen2-tiny
data=$golden/gradients/qwen2-tiny/batch3.jsonl
source "$here/../reliability/equal.sh"
compile() { # compile NAME [--set ...]
  honec "$spec" -o "$work/$1" --set model="$model" "${@:2}"
}
train() { # train NAME PROGRAM [options]
  "$work/$2/train" --data "$data" --output "$work/$1" "${@:3}" >"$work/log" 2>&1
}

bash "$here/../numerics/policies.sh" "$work/policies" "$data" "$spec" --set model="$model"
POLICIES="mesp full" bash "$here/../numerics/policies.sh" "$work/narrow" "$data" "$spec" --set model="$model" \
  --set train.compute_dtype=bfloat16 --set lora.dtype=bfloat16
for method in backprop lcsb mezo mezo-one-sided fgd; do
  more=()
  [[ $method != lcsb ]] || more=(--set train.selection_warmup=1)
  compile "$method" --set train.method="$method" "${more[@]}"
  echo "$method: $(bash "$here/../reliability/threads.sh" "$work/$method/train" "$data" --epochs 4)"
  # A run of four steps goes on from the files of one of two steps.
  train whole "$method" --steps 4 --lr-scheduler-type constant
  train resumed "$method" --steps 2 --lr-scheduler-type constant --save-every 1
  train resumed "$method" --steps 4 --lr-scheduler-type constant --save-every 1
  diff <(result_of "$work/whole") <(result_of "$work/resumed") && echo "$method: resumed"
  if [[ $method == mezo* || $method == fgd ]]; then
    "$work/$method/train" --replay "$work/whole/replay.hone" --output "$work/replayed" >"$work/log"
    diff <(result_of "$work/whole") <(result_of "$work/replayed") && echo "$method: replayed"
  fi
  rm -rf "$work/resumed" "$work/replayed"
  mv "$work/whole" "$work/$method-adapter"
done
# The plain program, with several batches in a step, and two with other plans.
compile in-backward --set train.optimizer_in_backward=true
compile tiles --set train.memory_budget=none
for plan in backprop in-backward tiles; do
  case $plan in
  backprop) more=(--gradient-accumulation-steps 2 --threads 2) ;;
  *) more=(--threads 1) ;;
  esac
  bash "$here/../reliability/memory.sh" "$work/$plan/train" "$data" 0 --epochs 2 "${more[@]}"
done
# A learning rate of zero: the same adapter.
train same backprop --adapter "$work/backprop-adapter" --learning-rate 0 --steps 1
diff <(result_of "$work/backprop-adapter") <(result_of "$work/same") && echo "read back"
