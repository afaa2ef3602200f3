#!/usr/bin/env bash
# parts.sh MODEL DATA WORK: MODEL has six layers. Any method below and above a cut:
# each part has the gradient that its method has alone, its own rate and optimizer;
# bits are those of any number of threads and after kills.
set -euo pipefail
here=$(dirname "$0")
model=$1 data=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
source "$here/refuses.sh"
source "$here/runs.sh"
adapter=adapter_model.safetensors
# A model that compiles fast, on the target whose programs do.
six_layers
float64=("${six64[@]}" --target=reference)
compile() { # compile NAME HONEC-ARG...
  local name=$1
  shift
  # A key is set once.
  [[ " $*" == *" model="* ]] || set -- --set model="$model" "$@"
  honec "$here/Inputs/lcsb.yaml" -o "$work/$name" "$@"
}
tell() { # tell PART METHOD: what the method is told there, in $told
  told=(--set "parts.$1.method=$2")
  [[ $2 != lcsb ]] || told+=(--set "parts.$1.selection=cyclic"
    --set "parts.$1.selection_groups=3" --set "parts.$1.selection_warmup=0")
  [[ $2 != mezo ]] || told+=(--set "parts.$1.perturbation_scale=1e-4")
}
pair() { # pair LAST LOWER UPPER HONEC-ARG...: the program LOWER-UPPER
  local last=$1 lower=$2 upper=$3 below
  shift 3
  tell lower "$lower"
  below=("${told[@]}")
  tell upper "$upper"
  compile "$lower-$upper" --set parts.lower.layers=0-"$last" "${below[@]}" \
    "${told[@]}" "$@"
}
dump() { # dump NAME PROGRAM TRAIN-ARG...
  local name=$1 program=$2
  shift 2
  "$work/$program/train" --data "$data" --adapter "$work/start" \
    --dump-gradients "$work/$name.safetensors" "$@" >"$work/out"
}

# A start with B that is not zero, and each method's gradients for all layers
# there.
compile exact "${float64[@]}"
"$work/exact/train" --data "$data" --output "$work/start" --steps 4 \
  --learning-rate 0.05 >"$work/out"
dump exact exact
compile mezo "${float64[@]}" --set train.method=mezo \
  --set train.perturbation_scale=1e-4
dump mezo mezo
compile fgd "${float64[@]}" --set train.method=fgd
dump fgd fgd
# Masks are of the seed; these have the masks that pairs have.
compile masks "${float64[@]}" --set train.method=lcsb \
  --set train.selection=bernoulli --set train.selection_warmup=0
for seed in 21 32 59; do
  dump some masks --seed $seed
  layers=$(python3 "$here/lcsb-layers.py" "$work/some.safetensors" |
    tr -cd 0-9)
  mv "$work/some.safetensors" "$work/mask-$layers.safetensors"
done

methods=(backprop lcsb mezo fgd)
pairs=()
for lower in "${methods[@]}"; do
  for upper in "${methods[@]}"; do
    pair 2 "$lower" "$upper" "${float64[@]}"
    dump "$lower-$upper" "$lower-$upper"
    pairs+=("$lower" "$upper")
  done
done
python3 "$here/part-gradients.py" "$work" 3 "${pairs[@]}"
for last in 0 1 3 4; do
  pair $last mezo backprop "${float64[@]}"
  dump mezo-backprop mezo-backprop
  echo "cut after layer $last: $(python3 "$here/part-gradients.py" "$work" \
    $((last + 1)) mezo backprop)"
done

# Updates: parts have rates, optimizers and norms of their own.
plain() { # plain NAME TRAIN-ARG...: a step of plain backprop
  local name=$1
  shift
  "$work/plain/train" --data "$data" --adapter "$work/start" --output \
    "$work/$name" --steps 1 "$@" >"$work/out"
}
start=("${float64[@]}")
compile plain "${start[@]}" --set train.residuals=mesp
pair 2 backprop backprop "${start[@]}" --set train.residuals=mesp \
  --set parts.lower.optimizer=sgd --set parts.lower.max_grad_norm=0
both=(--data "$data" --adapter "$work/start" --steps 1)
"$work/backprop-backprop/train" "${both[@]}" --output "$work/two" \
  --lower-learning-rate 0.5 --upper-learning-rate 0.01 \
  --upper-max-grad-norm 0 >"$work/out"
compile sgd "${start[@]}" --set train.residuals=mesp --set train.optimizer=sgd
plain adamw --learning-rate 0.01 --max-grad-norm 0
"$work/sgd/train" "${both[@]}" --output "$work/sgd-run" --learning-rate 0.5 \
  --max-grad-norm 0 >"$work/out"
python3 "$here/part-rows.py" "$work/two/$adapter" "$work/sgd-run/$adapter" \
  "$work/adamw/$adapter"
"$work/backprop-backprop/train" "${both[@]}" --output "$work/still" \
  --lower-learning-rate 0 --upper-learning-rate 0.01 \
  --upper-max-grad-norm 0 >"$work/out"
python3 "$here/part-rows.py" "$work/still/$adapter" "$work/start/$adapter" \
  "$work/adamw/$adapter"

# Threads, kills, several batches, and the reference target.
for names in "mezo backprop" "lcsb fgd" "backprop mezo" "mezo fgd"; do
  set -- $names
  own=("${six[@]}")
  [[ $names != "mezo backprop" ]] || own=()
  pair 2 "$1" "$2" --set train.gradient_accumulation_steps=2 "${own[@]}"
  echo "$1 below $2: $(bash "$here/../reliability/threads.sh" \
    "$work/$1-$2/train" "$data" --steps 6)"
done
bash "$here/../reliability/kill-resume.sh" "$work/mezo-backprop/train" "$data" 3 \
  --steps 400 --save-every 7
pair 2 mezo backprop --target=reference
"$work/mezo-backprop/train" --data "$data" --output "$work/slow" --steps 3 \
  --log "$work/slow.jsonl" >"$work/out"
pair 2 mezo backprop
"$work/mezo-backprop/train" --data "$data" --output "$work/fast" --steps 3 \
  --log "$work/fast.jsonl" >"$work/out"
python3 - "$work/slow.jsonl" "$work/fast.jsonl" <<'PY'
import json, sys
slow, fast = ([json.loads(line)["loss"] for line in open(path)]
              for path in sys.argv[1:])
assert len(slow) == 3
assert all(abs(a - b) < 1e-4 * b for a, b in zip(slow, fast)), (slow, fast)
print("reference target: losses of parts agree")
PY

# Refusals.
wrong() { # wrong TEXT HONEC-ARG...
  local text=$1
  shift
  refuses "$text" compile other "$@"
  [[ ! -e $work/other ]]
}
lower=(--set parts.lower.layers=0-2)
wrong "H0206.*parts.upper.layers" --set parts.upper.method=mezo
wrong "overlaps" "${lower[@]}" --set parts.upper.layers=2-5
wrong "leaves layers out" "${lower[@]}" --set parts.upper.layers=4-5
wrong "layers up to 5" "${lower[@]}" --set parts.upper.layers=3-4
wrong "without a part" --set parts.lower.layers=1-2
wrong "range of layers" --set parts.lower.layers=2-0
wrong "range of layers" --set parts.lower.layers=a
wrong "model has layers 0-5" --set parts.lower.layers=0-5
wrong "H0206.*parts.middle.layers" "${lower[@]}" --set parts.middle.method=mezo \
  --set parts.upper.method=fgd
wrong "expected keys but found none" --set 'parts={}'
wrong "whose name the model does not use" --set parts.decoder.layers=0-2
wrong "H0207.*only methods mezo" "${lower[@]}" --set parts.upper.directions=2
wrong "no part reads it" "${lower[@]}" --set train.directions=2
wrong "no part reads it" "${lower[@]}" --set train.momentum=0.5
wrong "optimizer_in_backward" "${lower[@]}" --set train.optimizer_in_backward=true
programs=("${lower[@]}" --set parts.lower.program=client --set parts.upper.program=server)
wrong "H0207.*parts.lower.selection_warmup: expected 0" "${programs[@]}" \
  --set parts.lower.method=lcsb --set parts.upper.method=backprop
wrong "H0207.*parts.upper.selection_warmup: expected 0.* found 2" "${programs[@]}" \
  --set parts.lower.method=mezo --set parts.upper.method=lcsb --set parts.upper.selection_warmup=2
wrong "one backward is of all" "${lower[@]}" --set train.method=lcsb \
  --set parts.lower.selection_warmup=3 --set parts.upper.selection_warmup=4
wrong "H0203.*parts.upper.direction_scales: expected layers from 3 up to 5" \
  "${lower[@]}" --set parts.upper.method=fgd \
  --set parts.upper.direction_scales='[1-4=0.5]'
wrong "H0203.*parts.lower.direction_scales: expected layers up to 2" \
  "${lower[@]}" --set parts.lower.method=fgd \
  --set parts.lower.direction_scales='[2-3=0.5]'
# Keys of train are for all parts that read them.
wrong "H0203.*direction_scales: expected layers up to 2" "${lower[@]}" \
  --set parts.lower.method=fgd --set train.direction_scales='[1-4=0.5]'
compile scaled "${lower[@]}" --set train.method=fgd \
  --set train.direction_scales='[1-4=0.5]'
train=$work/mezo-backprop/train
refuses "each part of this program has its own" "$train" --data "$data" \
  --output "$work/none" --learning-rate 1
refuses "only methods" "$train" --data "$data" --output "$work/none" \
  --lower-max-grad-norm 1
"$train" --help >"$work/out"
grep -q -- "--lower-perturbation-scale" "$work/out"
refuses "H1001\|--lower-learning-rate or --upper-learning-rate" "$train" \
  --data "$data" --output "$work/diverged" --steps 5 --lower-learning-rate 1e30
refuses "there is no such option" "$work/plain/train" --data "$data" \
  --output "$work/none" --lower-learning-rate 1
refuses "H0103.*no replay.hone" "$train" --replay "$data" --output "$work/none"
refuses "lower-learning-rate" "$train" --data "$data" --output "$work/fast" \
  --steps 3 --lower-learning-rate 3
echo "refused: what cannot be, and another part's rate"
