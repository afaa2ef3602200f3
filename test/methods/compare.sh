#!/usr/bin/env bash
# compare.sh MODEL DATA WORK: MODEL has six layers. A run that compares
# gradients with those of another method prints their relation, and is otherwise
# the same run.
set -euo pipefail
here=$(dirname "$0")
model=$1 data=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
source "$here/refuses.sh"
source "$here/runs.sh"
adapter=adapter_model.safetensors
compile() { # compile NAME METHOD REFERENCE HONEC-ARG...: equal programs once
  local name=$1 method=$2 reference=$3
  shift 3
  [[ " $*" == *" model="* ]] || set -- --set model="$model" "$@"
  local program
  program=program-$(echo "$method" "$reference" "$@" | cksum | tr -d ' ')
  [[ -e $work/$program ]] || honec "$here/Inputs/lcsb.yaml" -o "$work/$program" \
    --set train.method="$method" --set train.compare="$reference" "$@" || return
  ln -sfn "$program" "$work/$name"
}
compared() { # compared RUN: its comparisons, which name the run
  losses "$work/$1/compare.jsonl"
}
drawn() { # drawn RUN: what its report shows of them
  python3 "$here/../report/Inputs/run_of.py" "$work/$1/report.html" compared
}

# The numbers, in float64: of a run along SGD's path, the gradient of an update,
# against the gradient at the parameters before, of that step's lines. Step 3
# has other directions, other layers and another line than step 1.
six_layers
float64=("${six64[@]}")
once=(--set train.selection_warmup=0)
half=(--set train.selection_ratio=0.5)
fine=(--set train.perturbation_scale=1e-4)
compile exact backprop none "${float64[@]}"
"$work/exact/train" --data "$data" --output "$work/start" --steps 4 \
  --learning-rate 0.05 >"$work/out"
sgd=(--set train.optimizer=sgd --set train.lr_scheduler_type=constant
  --set train.learning_rate=0.1 --set train.compare_every=2)
path() { # path METHOD STEPS HONEC-ARG...: a run of METHOD, compared with backprop
  local method=$1 compared=$2 step before clip=()
  shift 2
  compile "$method" "$method" backprop "${float64[@]}" "${sgd[@]}" "$@"
  [[ $method != lcsb ]] || clip=(--max-grad-norm 0)
  rm -rf "$work/to"-*
  cp -r "$work/start" "$work/to-0"
  rm -rf "$work/to-0"/checkpoint-*
  for step in $compared; do
    for steps in $((step - 1)) $step; do
      ((steps == 0)) || "$work/$method/train" --data "$data" --adapter \
        "$work/start" --output "$work/to-$steps" --steps $steps --shuffle false \
        "${clip[@]}" >"$work/out"
    done
    before=$work/to-$((step - 1))
    sed -n ${step}p "$data" >"$work/line.jsonl"
    "$work/exact/train" --data "$work/line.jsonl" --adapter "$before" \
      --dump-gradients "$work/reference.safetensors" >"$work/out"
    python3 "$here/compared-gradients.py" "$work/to-$step/compare.jsonl" $step \
      "$before:$work/to-$step:0.1" "$work/reference.safetensors"
  done
}
path mezo "1 3" "${fine[@]}"
path mezo-one-sided "1 3" "${fine[@]}"
path fgd "1 3" --set train.directions=2
path lcsb 7 --set train.selection=importance --set train.selection_warmup=3 \
  "${half[@]}"
path lcsb "1 3" "${once[@]}" "${half[@]}"

# The other way round, and two estimates: both in the first step.
dump() { # dump NAME PROGRAM
  "$work/$2/train" --data "$work/line.jsonl" --adapter "$work/start" \
    --dump-gradients "$work/$1.safetensors" >"$work/out"
}
sed -n 1p "$data" >"$work/line.jsonl"
dump backprop exact
for method in mezo fgd lcsb; do
  dump $method $method
done
pair() { # pair METHOD REFERENCE HONEC-ARG...
  compile pair "$1" "$2" "${float64[@]}" "${@:3}"
  "$work/pair/train" --data "$data" --adapter "$work/start" --shuffle false \
    --output "$work/pair-$1-$2" --steps 1 >"$work/out"
  python3 "$here/compared-gradients.py" "$work/pair-$1-$2/compare.jsonl" 1 \
    "$work/$1.safetensors" "$work/$2.safetensors"
}
pair backprop mezo "${fine[@]}"
pair backprop fgd --set train.directions=2
pair backprop lcsb "${once[@]}" "${half[@]}"
pair lcsb fgd "${once[@]}" "${half[@]}" --set train.directions=2
pair fgd lcsb "${once[@]}" "${half[@]}" --set train.directions=2
# Two batches of a step are one of both.
compile batches mezo backprop "${float64[@]}" "${fine[@]}"
compile both backprop none "${float64[@]}" --set train.batch_size=2
compile both-mezo mezo none "${float64[@]}" "${fine[@]}" --set train.batch_size=2
"$work/batches/train" --data "$data" --adapter "$work/start" --shuffle false \
  --output "$work/batches-run" --steps 1 --gradient-accumulation-steps 2 \
  >"$work/out"
head -n 2 "$data" >"$work/line.jsonl"
dump backprop both
dump mezo both-mezo
python3 "$here/compared-gradients.py" "$work/batches-run/compare.jsonl" 1 \
  "$work/mezo.safetensors" "$work/backprop.safetensors"

# A reference is of the same step, too: two estimates have its directions, and of a
# selection in turn the layers are those that a run of it has.
compile pair fgd mezo "${float64[@]}" "${fine[@]}"
"$work/pair/train" --data "$data" --adapter "$work/start" --output "$work/steps" \
  --steps 4 --compare-every 1 >"$work/out"
turns=("${once[@]}" --set train.selection=cyclic --set train.selection_groups=3)
for names in "lcsb backprop" "backprop lcsb"; do
  set -- $names
  compile pair "$1" "$2" "${turns[@]}" "${six[@]}"
  "$work/pair/train" --data "$data" --adapter "$work/start" --output \
    "$work/turns-$1" --steps 4 --compare-every 1 >"$work/out"
done
python3 - "$work"/{steps,turns-lcsb,turns-backprop}/compare.jsonl <<'PY'
import json, sys
steps, own, reference = ([json.loads(line) for line in open(path)]
                         for path in sys.argv[1:])
assert all(line["all"]["cosine"] > 0.9999 for line in steps), steps
def selected(line, zeros):
    return [layer["name"] for layer in line["layers"] if not layer[zeros]]
turns = [selected(line, "zeros") for line in own]
assert turns == [selected(line, "reference_zeros") for line in reference]
assert len(turns) == 4 and turns[0] == turns[3] != turns[1] != turns[2]
print("references are of their step")
PY

# A gradient and itself, by way of a selection of all layers.
compile same lcsb backprop "${once[@]}" "${six[@]}" --set train.selection_ratio=1
run same same --steps 12
python3 - "$work/same/compare.jsonl" <<'PY'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert [line["step"] for line in lines] == [1, 11]
for line in lines:
    for own in line["layers"] + line["kinds"] + [line["all"]]:
        if own.get("name") == "lora_A" and line["step"] == 1:
            # B begins at 0, so dA is 0 and has neither direction nor signs.
            assert own["reference_zeros"] == own["elements"] == own["zeros"]
            assert own["cosine"] is own["sign_agreement"] is None
            assert own["relative_error"] is None
            continue
        assert own["cosine"] == own["sign_agreement"] == 1, own
        assert own["relative_error"] == 0, own
print("with itself: cosine 1, equal signs, no error; dA of the first step is 0")
PY
grep -q "lora_A .*50.00 % *50.00 %" "$work/out"
grep -q "0 everywhere, as dA is where B is: up to 1 step" "$work/out"

# No bit of a run changes, and none of a comparison with threads or kills.
pairs=("mezo backprop" "backprop mezo" "lcsb backprop" "backprop lcsb" "fgd mezo")
for names in "${pairs[@]}"; do
  set -- $names
  own=("${six[@]}")
  [[ $names != "mezo backprop" ]] || own=()
  more=("${own[@]}")
  [[ $names != *lcsb* ]] || more+=("${once[@]}" "${half[@]}")
  [[ $1 != lcsb ]] || own=("${more[@]}")
  compile plain "$1" none "${own[@]}"
  compile both "$1" "$2" "${more[@]}"
  rm -rf "$work"/bits-*
  run bits-plain plain --steps 20
  for threads in 1 2 3; do
    run bits-$threads both --steps 20 --threads $threads --compare-every 4
    cmp "$work/bits-plain/$adapter" "$work/bits-$threads/$adapter"
    cmp <(losses "$work/bits-plain.jsonl") <(losses "$work/bits-$threads.jsonl")
    cmp <(compared bits-1) <(compared bits-$threads)
    cmp <(drawn bits-1) <(drawn bits-$threads)
  done
  [[ $(wc -l <"$work/bits-1/compare.jsonl") == 5 ]]
  echo "$1 with $2: the run's bits, and the same comparison with 1, 2 and 3 threads"
  # The plan has room for both, whichever needs more.
  bash "$here/../reliability/memory.sh" "$work/both/train" "$data" 0 --steps 12 \
    --gradient-accumulation-steps 2
done

# Where gradients are most of the plan, the run takes that much.
compile both mezo backprop --set lora.r=512
bash "$here/../reliability/memory.sh" "$work/both/train" "$data" 70 --steps 12

# Of a selection by the results of earlier steps, too.
compile plain lcsb none --set train.selection=importance \
  --set train.selection_warmup=3 "${six[@]}"
compile both lcsb backprop --set train.selection=importance \
  --set train.selection_warmup=3 "${six[@]}"
run importance plain --steps 12
run importance-compared both --steps 12 --compare-every 1
cmp "$work/importance/$adapter" "$work/importance-compared/$adapter"

# Where updates are in the backward, too.
compile plain backprop none --set train.optimizer_in_backward=true "${six[@]}"
compile both backprop fgd --set train.optimizer_in_backward=true "${six[@]}"
run backward plain --steps 12
run backward-compared both --steps 12 --compare-every 1
cmp "$work/backward/$adapter" "$work/backward-compared/$adapter"

# Switched on in the middle of a run, and off again.
compile plain mezo none
compile both mezo backprop
run switched plain --steps 5
run switched both --steps 12 --compare-every 3
run switched plain --steps 20
run bits-plain-mezo plain --steps 20
cmp "$work/switched/$adapter" "$work/bits-plain-mezo/$adapter"
[[ $(cut -d, -f1 "$work/switched/compare.jsonl" | tr -d '\n') == \
  '{"step": 7{"step": 10' ]]
echo "switched on and off: the run's bits"

# After kills each comparison is there once, and the report has all of them.
run whole both --steps 300 --save-every 7 --compare-every 3
for moment in 0.03 0.05 0.08 0.11 0.14 0.17; do
  { timeout -s KILL $moment "$work/both/train" --data "$data" \
    --output "$work/killed" --steps 300 --save-every 7 --compare-every 3 \
    >"$work/out" || true; } 2>"$work/killed.err"
done
printf '{"step": 999, "ru' >>"$work/killed/compare.jsonl"
run killed both --steps 300 --save-every 7 --compare-every 3
cmp "$work/whole/$adapter" "$work/killed/$adapter"
cmp <(compared whole) <(compared killed)
cmp <(drawn whole) <(drawn killed)
[[ $(wc -l <"$work/whole/compare.jsonl") == 100 ]]
echo "after kills: the same comparisons"
python3 "$here/compared-report.py" "$work/whole/compare.jsonl" <(drawn whole)

# Non-finite numbers are reported.
compile both mezo backprop
"$work/both/train" --data "$data" --output "$work/diverged" --steps 9 \
  --perturbation-scale 1e8 --compare-every 1 >"$work/out" 2>&1 || true
python3 - "$work/diverged/compare.jsonl" "$work/out" <<'PY'
import json, sys
line = json.loads(open(sys.argv[1]).readline())
own = line["all"]
if own.get("not_finite"):
    assert own["cosine"] is own["sign_agreement"] is own["relative_error"] is None
    assert "not finite" in open(sys.argv[2]).read()
print("not finite:", own.get("not_finite", 0) > 0)
PY

# Refusals.
wrong() { # wrong TEXT METHOD REFERENCE HONEC-ARG...
  local text=$1
  shift
  refuses "$text" compile other "$@"
  [[ ! -e $work/other ]]
}
wrong "H0207.*train.compare: expected another method" backprop backprop
wrong "H0204\|one of none, backprop" backprop adjoint
wrong "H0207.*train.compare: expected none, since parts" backprop mezo \
  --set parts.lower.layers=0-0
wrong "H0207.*train.compare: expected none.*kept_dtype" backprop mezo \
  --set train.kept_dtype=bfloat16
wrong "H0207.*train.selection: expected another selection" backprop lcsb \
  --set train.selection=importance
wrong "H0207.*train.compare_every: only a comparison" backprop none \
  --set train.compare_every=3
wrong "H0207.*train.directions: only methods.*compare is lcsb" backprop lcsb \
  --set train.directions=3
wrong "H0207.*train.max_grad_norm: only methods.*compare is backprop" mezo \
  backprop --set train.max_grad_norm=1
wrong "H0207.*train.residuals: expected mesp or planned" backprop lcsb \
  --set train.residuals=full
wrong "H0103.*split-after: gradients are compared in one program" backprop mezo \
  --step-options=split-after=1
wrong "H0207.*train.compare: expected none, since each rank would" backprop mezo \
  --set train.data_parallel=true
compile plain backprop none "${six[@]}"
refuses "H0103.*--compare-every.*without train.compare" "$work/plain/train" \
  --data "$data" --output "$work/none" --compare-every 3
refuses "H0102\|--compare-every" "$work/both/train" --data "$data" \
  --output "$work/none" --compare-every 0
refuses "H0103.*compare.jsonl" "$work/both/train" --data "$data" \
  --output "$work/none" --log "$work/none/compare.jsonl"
refuses "only methods mezo" "$work/plain/train" --data "$data" \
  --output "$work/none" --perturbation-scale 1
echo "refused: what cannot be"
