#!/usr/bin/env bash
# selections.sh MODEL DATA WORK: MODEL has six layers. Selections that are held
# for some steps, depend on the steps before, or leave layers out of updates or
# out of the forward: the promises of each, with the same bits for any threads
# and after kills, on the reference target too.
set -euo pipefail
here=$(dirname "$0")
model=$1 data=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
compile() { # compile NAME HONEC-ARG...
  local name=$1
  shift
  [[ " $*" == *" model="* ]] || set -- --set model="$model" "$@"
  honec "$here/Inputs/lcsb.yaml" -o "$work/$name" --set train.method=lcsb "$@"
}
source "$here/refuses.sh"
source "$here/runs.sh"
six_layers
half=(--set train.selection_ratio=0.5)
once=(--set train.selection_warmup=0)

# All layers, selected by any rule, are the plain run, updates by layer included.
honec "$here/Inputs/lcsb.yaml" -o "$work/plain" "${six[@]}" \
  --set train.residuals=mesp
run run-plain plain --steps 8
for selection in importance freeze lisa stochastic-depth; do
  compile all "${six[@]}" --set train.selection=$selection \
    --set train.selection_ratio=1
  run "all-$selection" all --steps 8
  same run-plain "all-$selection"
done
compile all "${six[@]}" --set train.selection_warmup=8 \
  --set train.unselected_update=none
run all-warm all --steps 8
same run-plain all-warm
# A warm-up that is longer than a period begins no block; one input in memory.
compile all "${six[@]}" --set train.selection=badam \
  --set train.selection_period=3 --set train.selection_warmup=8
run badam-warm all --steps 8
same run-plain badam-warm
compile all "${six[@]}" --set train.selection_ratio=0.1 \
  --set train.selection_warmup=8
run few-warm all --steps 8
same run-plain few-warm
echo "all layers: the plain run's bits"

# The log has the selection: after a warm-up the first selection is held as long
# as the others. Of layers that train, which layers of the model they are.
compile held "${six[@]}" "${half[@]}" --set train.selection_period=3 \
  --set train.selection_warmup=4
run held held --steps 10
compile some "${once[@]}" --set train.selection=cyclic \
  --set train.selection_groups=3 --set lora.layers_to_transform='[1,3,5]' \
  2>"$work/notes"
run some some --steps 3
compile parts "${six[@]}" "${once[@]}" --set train.selection=cyclic \
  --set train.selection_groups=3 --set parts.lower.layers=0-2 \
  --set parts.upper.selection=round-robin \
  --set parts.upper.selection_ratio=0.3
run parts parts --steps 3
python3 "$here/logged-selections.py" "$work"
grep -o "note: train.selection is of the 3 layers.*" "$work/notes"

# Each has the same bits for any threads; those with a state, after kills too.
compile freeze "${six[@]}" "${half[@]}" --set train.selection=freeze
compile importance "${half[@]}" --set train.selection=importance \
  --set train.selection_warmup=2
compile lisa "${six[@]}" "${half[@]}" --set train.selection=lisa \
  --set train.selection_period=3
compile badam "${six[@]}" --set train.selection=badam \
  --set train.selection_period=3
compile depth "${half[@]}" --set train.selection=stochastic-depth
compile linear "${six[@]}" "${once[@]}" --set train.selection_ratio=1 \
  --set train.selection_schedule=linear --set train.selection_ratio_end=0.1
for some in freeze importance lisa badam depth linear; do
  echo "$some: $(bash "$here/../reliability/threads.sh" \
    "$work/$some/train" "$data" --steps 12)"
done
for some in importance lisa badam; do
  echo "$some: $(bash "$here/../reliability/kill-resume.sh" \
    "$work/$some/train" "$data" 3 --steps 200 --save-every 7)"
done

# The moving layers, and their updates: the reference has the exact gradients
# before each step.
head -n 1 "$data" >"$work/one.jsonl"
steps() { # steps PROGRAM KIND STEPS
  local program=$1 kind=$2 count=$3 folder=$work/$1-steps step
  mkdir -p "$folder"
  for ((step = 0; step <= count; ++step)); do
    local more=(--steps "$step")
    ((step > 0)) || more=(--steps 1 --learning-rate 0)
    "$work/$program/train" --data "$work/one.jsonl" --output "$folder/$step" \
      "${more[@]}" >"$work/out"
    "$work/plain/train" --data "$work/one.jsonl" --adapter "$folder/$step" \
      --dump-gradients "$folder/$step.safetensors" >"$work/out"
  done
  echo "$program: $(python3 "$here/selected-updates.py" "$kind" 1e-3 "$folder" \
    "$count")"
}
rate=("${six[@]}" --set train.lr_scheduler_type=constant)
compile badam "${rate[@]}" --set train.selection=badam \
  --set train.selection_period=2
steps badam badam 14
# Moments that begin in each step have no past that bytes could round.
for optimizer in adamw adamw-8bit; do
  compile "anew-$optimizer" "${rate[@]}" --set train.selection=badam \
    --set train.selection_period=1 --set train.optimizer=$optimizer
  run "run-anew-$optimizer" "anew-$optimizer" --steps 14
done
same run-anew-adamw run-anew-adamw-8bit
compile lisa "${rate[@]}" --set train.selection=lisa \
  --set train.selection_period=1 --set train.selection_ratio=0.5
steps lisa lisa 6
compile freeze "${rate[@]}" "${half[@]}" --set train.selection=freeze
steps freeze freeze 3

# A step whose forwards are skipped has the gradient of a model without these.
reference=("${six64[@]:2}" --target=reference)
honec "$here/Inputs/lcsb.yaml" -o "$work/depth" "${six64[@]}" \
  --target=reference --set train.method=lcsb \
  --set train.selection=stochastic-depth --set train.selection_ratio=0.2 \
  --set train.selection_warmup=0
for seed in 1 2 3; do
  "$work/depth/train" --data "$data" --seed $seed \
    --dump-gradients "$work/depth.safetensors" >"$work/out"
  kept=$(python3 "$here/lcsb-layers.py" "$work/depth.safetensors")
  python3 "$here/without-layers.py" "$here/Inputs/six-layers.mlir" \
    ${kept//[^0-9 ]/} >"$work/short.mlir"
  honec "$here/Inputs/lcsb.yaml" -o "$work/short" "${reference[@]}" \
    --set model="$work/short.mlir"
  "$work/short/train" --data "$data" --seed $seed \
    --dump-gradients "$work/short.safetensors" >"$work/out"
  echo "stochastic-depth: $(python3 "$here/lcsb-layers.py" \
    "$work/depth.safetensors" "$work/short.safetensors")"
done

# The same where both parts skip forwards: a step has one loss.
honec "$here/Inputs/lcsb.yaml" -o "$work/both" "${reference[@]}" \
  --set model="$here/Inputs/six-layers.mlir" --set train.method=lcsb \
  --set train.selection=stochastic-depth --set train.selection_ratio=0.2 \
  --set parts.lower.layers=0-2
"$work/both/train" --data "$data" --seed 3 \
  --dump-gradients "$work/both.safetensors" >"$work/out"
kept=$(python3 "$here/lcsb-layers.py" "$work/both.safetensors")
python3 "$here/without-layers.py" "$here/Inputs/six-layers.mlir" \
  ${kept//[^0-9 ]/} >"$work/short.mlir"
honec "$here/Inputs/lcsb.yaml" -o "$work/short" "${reference[@]}" \
  --set model="$work/short.mlir"
"$work/short/train" --data "$data" --seed 3 \
  --dump-gradients "$work/short.safetensors" >"$work/out"
echo "in both parts: $(python3 "$here/lcsb-layers.py" "$work/both.safetensors" \
  "$work/short.safetensors")"

# Parameters of no layer: their gradient is exact where the spec says so, and
# nothing else runs below the lowest selected layer. The same holds with layers
# that train nothing.
dump() { # dump NAME HONEC-ARG...: its gradient of the first batch
  local name=$1
  shift
  honec "$here/Inputs/lcsb.yaml" -o "$work/$name" --set model="$model" \
    --set train.residuals=mesp "$@" 2>"$work/notes"
  "$work/$name/train" --data "$data" --dump-gradients \
    "$work/$name.safetensors" >"$work/out"
}
none=(--set lora=none)
tables=(--set lora.modules_to_save='[embed_tokens]')
some=(--set lora.layers_to_transform='[1,3,5]')
exact=(--set train.method=lcsb --set train.unselected=exact)
for trained in none tables some; do
  declare -n more=$trained
  dump plain-$trained "${more[@]}"
  for selection in freeze badam; do
    dump exact-$trained "${more[@]}" "${exact[@]}" \
      --set train.selection=$selection
    echo "$trained, $selection: $(python3 "$here/exact-gradients.py" \
      "$work/exact-$trained.safetensors" "$work/plain-$trained.safetensors")"
  done
done

# A planned ratio is the largest that fits: with the least memory of a ratio it is
# that, with a byte less it is of a layer less, and the promise holds.
long=(--set train.method=lcsb --set train.max_seq_length=128 --set model="$model")
bytes=$({ honec "$here/Inputs/lcsb.yaml" "${long[@]}" "${half[@]}" "${once[@]}" \
  --set train.memory_budget=1 --print-plan 2>&1 || true; } |
  sed -n 's/.*(\([0-9]*\) bytes, the.*/\1/p')
for less in 0 1; do
  echo "planned:$(honec "$here/Inputs/lcsb.yaml" "${long[@]}" "${once[@]}" \
    --set train.selection_ratio=planned --print-plan \
    --set train.memory_budget=$((bytes - less)) | grep "selection ratio")"
done
compile fits --set train.selection_ratio=planned --set train.max_seq_length=128 \
  --set train.memory_budget=$bytes "${once[@]}"
echo "planned: $(bash "$here/../reliability/memory.sh" "$work/fits/train" "$data" 0 \
  --steps 5)"

# Refusals.
for trained in none tables; do
  declare -n more=$trained
  refuses "H0207.*unselected: expected exact, since the input of the lowest layer has trained" \
    compile refused "${more[@]}" --set train.selection=freeze
done
upper=(--set parts.lower.layers=0-2 --set train.selection_warmup=0)
refuses "H0207.*parts.upper.unselected: expected exact, since parts.lower" \
  compile refused "${upper[@]}" --set parts.lower.method=backprop \
  --set parts.upper.selection=freeze
for other in mezo mezo-one-sided fgd; do
  refuses "H0207.*parts.upper.selection: .*would train two losses" \
    compile refused "${upper[@]}" --set parts.lower.method=$other \
    --set parts.upper.selection=stochastic-depth
done
refuses "H0207.*selection_ratio: planned needs a train.memory_budget" \
  compile refused --set train.selection_ratio=planned
refuses "H0207.*selection_ratio: expected a number, since memory does not depend" \
  compile refused --set train.selection_ratio=planned \
  --set train.memory_budget=9MiB --set train.unselected=exact
refuses "H0207.*selection_warmup: expected at least 1, since selection importance" \
  compile refused --set train.selection=importance "${once[@]}"
refuses "H0207.*optimizer_in_backward: expected false, since selection importance" \
  compile refused --set train.selection=importance \
  --set train.optimizer_in_backward=true
refuses "H0207.*unselected: expected exact, which selection lisa is" \
  compile refused --set train.selection=lisa --set train.unselected=identity
refuses "H0207.*unselected_update: expected none, which selection badam is" \
  compile refused --set train.selection=badam \
  --set train.unselected_update=momentum
refuses "H0207.*selection_ratio: selection badam does not read it" \
  compile refused --set train.selection=badam "${half[@]}"
refuses "H0207.*selection_schedule: selection cyclic does not read it" \
  compile refused --set train.selection=cyclic \
  --set train.selection_schedule=linear --set train.selection_ratio_end=0.2
refuses "H0207.*selection_decay: only selection importance reads it" \
  compile refused --set train.selection_decay=0.5
refuses "H02.*selection_ratio_end: the key is required where" \
  compile refused --set train.selection_schedule=cosine
refuses "H0207.*selection_ratio_end: only a train.selection_schedule reads it" \
  compile refused --set train.selection_ratio_end=0.2
refuses "H0207.*unselected: expected identity, since selection stochastic-depth" \
  compile refused --set train.selection=stochastic-depth \
  --set train.unselected=exact
[[ ! -e $work/refused ]]
echo "refused: what cannot be"
