#!/usr/bin/env bash
# lcsb.sh MODEL DATA WORK: MODEL has six layers. A selection of all layers is the
# plain run; every selection has the same bits for any threads and after kills;
# other layers have no gradient and no memory; impossible selections are
# refused.
set -euo pipefail
here=$(dirname "$0")
model=$1 data=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
options=(--set train.method=lcsb)
compile() { # compile NAME HONEC-ARG...: without a warm-up, unless one is given
  local name=$1 warmup=(--set train.selection_warmup=0)
  shift
  [[ " $*" == *" model="* ]] || set -- "${six[@]}" "$@"
  [[ $* != *warmup* ]] || warmup=()
  honec "$here/Inputs/lcsb.yaml" -o "$work/$name" "${options[@]}" \
    "${warmup[@]}" "$@"
}
source "$here/refuses.sh"
source "$here/runs.sh"
six_layers
whole=(--set model="$model")

# All layers, by a ratio, one group or a warm-up, are the plain run.
more=(--set train.gradient_accumulation_steps=2)
honec "$here/Inputs/lcsb.yaml" -o "$work/plain" "${six[@]}" "${more[@]}" \
  --set train.residuals=mesp
run run-plain plain --steps 12
for all in uniform round-robin bernoulli; do
  compile all "${more[@]}" --set train.selection=$all \
    --set train.selection_ratio=1
  run "all-$all" all --steps 12
  same run-plain "all-$all"
done
compile all "${more[@]}" --set train.selection=cyclic \
  --set train.selection_groups=1
run all-cyclic all --steps 12
same run-plain all-cyclic
compile all "${more[@]}" --set train.selection_warmup=12
run all-warm all --steps 12
same run-plain all-warm
run more-warm all --steps 13
run more-plain plain --steps 13
if cmp -s "$work/more-warm/adapter_model.safetensors" \
  "$work/more-plain/adapter_model.safetensors"; then
  echo "lcsb: the warm-up does not end" >&2
  exit 1
fi
echo "all layers: the plain run's bits"

# Each selection.
for some in uniform bernoulli round-robin cyclic; do
  own=("${six[@]}")
  [[ $some != uniform ]] || own=("${whole[@]}")
  compile $some "${more[@]}" --set train.selection=$some "${own[@]}"
  echo "$some: $(bash "$here/../reliability/threads.sh" \
    "$work/$some/train" "$data" --steps 12)"
done
compile backward --set train.optimizer_in_backward=true \
  --set train.selection_warmup=3 "${whole[@]}"
echo "in the backward: $(bash "$here/../reliability/threads.sh" \
  "$work/backward/train" "$data" --steps 6 --max-grad-norm 0)"
echo "uniform: $(bash "$here/../reliability/kill-resume.sh" \
  "$work/uniform/train" "$data" 3 --steps 300 --save-every 7)"

# An update in the backward is the same run, if none has a norm.
compile after --set train.selection_warmup=3 "${whole[@]}"
for program in backward after; do
  run in-$program $program --steps 6 --max-grad-norm 0
done
cmp "$work/in-backward/adapter_model.safetensors" \
  "$work/in-after/adapter_model.safetensors"
echo "in the backward: the bits of after it"

# The first two of three groups of layers are 0 and 1: no other has a gradient,
# and theirs is exact only if it came through the others so.
dump() { # dump PROGRAM
  "$work/$1/train" --data "$data" --adapter "$work/run-plain" \
    --dump-gradients "$work/$1.safetensors" >"$work/out"
}
dump plain
for how in identity exact; do
  compile $how "${more[@]}" --set train.selection=cyclic \
    --set train.selection_groups=3 --set train.unselected=$how
  dump $how
  echo "$how: $(python3 "$here/lcsb-layers.py" "$work/$how.safetensors" \
    "$work/plain.safetensors")"
done
compile kept "${more[@]}" --set train.unselected=exact "${whole[@]}" \
  --set train.residuals=full --set train.selection_warmup=2
compile again "${more[@]}" --set train.unselected=exact "${whole[@]}" \
  --set train.residuals=mesp --set train.selection_warmup=2
run run-kept kept --steps 8
run run-again again --steps 8
same run-kept run-again
echo "exact: the bits of any policy"

# As many inputs are kept as layers are selected.
for ratio in 1 0.5 0.1; do
  kept=$(honec "$here/Inputs/lcsb.yaml" "${options[@]}" "${six[@]}" --print-plan=json \
    --set train.selection_warmup=0 --set train.selection_ratio=$ratio |
    python3 -c 'import json, sys
print(*(row["bytes"] for row in json.load(sys.stdin)["classes"]
        if row["name"] == "kept"))')
  all=${all_kept:=$kept}
  echo "ratio $ratio: keeps $((kept * 6 / all)) of 6 inputs"
  ((kept * 6 % all == 0)) || exit 1
done
# And no more in a warm-up.
for ratio in 0.5 0.1; do
  for warmup in 0 5; do
    echo "ratio $ratio, warm-up $warmup: $(honec "$here/Inputs/lcsb.yaml" \
      "${options[@]}" "${whole[@]}" --print-plan=json --set train.selection_ratio=$ratio \
      --set train.selection_warmup=$warmup | python3 -c 'import json, sys
rows = {row["name"]: row["bytes"] for row in json.load(sys.stdin)["classes"]}
print(rows["kept"], "kept")')"
  done
done | python3 -c 'import sys
kept = [line.split(": ")[1] for line in sys.stdin]
assert kept[0] == kept[1] and kept[2] == kept[3], kept
print("a warm-up keeps no more inputs")'
bash "$here/../reliability/memory.sh" "$work/backward/train" "$data" 0 \
  --max-grad-norm 0 --steps 9

# Refusals.
refuses "H0203.*selection_groups: expected at most 6, .*found 7" \
  compile refused --set train.selection=cyclic --set train.selection_groups=7
refuses "H0207.*expected mesp or planned" \
  compile refused --set train.residuals=store-h
[[ ! -e $work/refused ]]
# Another selection is another run.
compile other "${more[@]}" --set train.selection_ratio=0.6 "${whole[@]}"
run run-uniform uniform --steps 12
refuses "H08.*selection_ratio" run run-uniform other --steps 24
echo "refused: what cannot be, and another selection's run"
