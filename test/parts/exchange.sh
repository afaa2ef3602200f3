#!/usr/bin/env bash
# exchange.sh MODEL.mlir WEIGHTS DATA covering|all [K/N]
#
# Two or three methods, below and above cuts, in one program and in two to four
# that exchange messages: losses, norms, an evaluation and the trained tensors
# must be the same, bit for bit. The first program alone has DATA. `covering`
# has every pair of methods once, with cuts, element types on the wire, probes
# in flight, accumulation, clipping and devices in turn, and four times three
# methods; `all` has the product of the first three, and of three methods all
# 64; with K/N every N-th of them, from the K-th on.
set -euo pipefail

model=$1 weights=$2 data=$3 which=$4 share=${5-1/1}
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
methods=(backprop lcsb mezo fgd)
cuts=(0 1 2 0,1 0,2 1,2)
steps=3
head -n 3 "$data" >"$work/other.jsonl" # what the others have: it must not matter
tac "$work/other.jsonl" >"$work/data" && cat "$data" >>"$work/data"
mv "$work/data" "$work/data.jsonl"

# names CUTS: of the programs.
names() {
  case $1 in
    *,*,*) echo part1 part2 part3 part4 ;;
    *,*) echo part1 part2 part3 ;;
    *) echo lower upper ;;
  esac
}

# told PART METHOD FIRST LAST CUTS: the spec's keys of a part, whose layers are
# FIRST to LAST.
told() {
  local inside=0 cut
  for cut in ${5//,/ }; do
    ((cut <= $3 || cut > $4)) || inside=1
  done
  printf '  %s: {method: %s, layers: %s-%s' "$1" "$2" "$3" "$4"
  case $2 in
    lcsb)
      printf ', selection: cyclic, selection_groups: %s, selection_warmup: 0' \
        $(($4 > $3 ? 2 : 1))
      # A pool is of one program.
      ((inside == 0)) || printf ', unselected: exact'
      ;;
    mezo) printf ', directions: 2, perturbation_scale: 1e-2, optimizer: adamw' ;;
    fgd) printf ', directions: 2' ;;
  esac
  echo '}'
}

# parts METHODS BELOW CUTS: those of the spec, of which BELOW are the cuts.
parts() {
  local methods=(${1//,/ }) ends=(${2//,/ } 3) names=(lower upper) first=0 i
  ((${#methods[@]} == 2)) || names=(lower middle upper)
  for i in "${!methods[@]}"; do
    told "${names[i]}" "${methods[i]}" $first $((ends[i] - 1)) "$3"
    first=${ends[i]}
  done
}

# build NAME [options of the step]: NAME.so of spec.yaml.
build() {
  honec "$work/spec.yaml" -o "$work/$1.o" --emit=object \
    ${2:+"--step-options=${*:2}"} >"$work/log" 2>&1 || { cat "$work/log" >&2; return 1; }
  c++ -shared -o "$work/$1.so" "$work/$1.o"
}

# program NAME DATA WEIGHTS: the arguments that run it.
program() { echo "$1 $work/$1.so $work/weights.$3/weights.hone.safetensors $2"; }

# weigh NAME [options of the step]: weights.NAME, once.
weigh() {
  [[ -e $work/weights.$1 ]] ||
    honec "$work/spec.yaml" -o "$work/weights.$1" ${2:+"--step-options=${*:2}"} >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; return 1; }
}

numbers() { sed -n "s/^$1 number //p" "$work/out"; }
tensors() { sed -n 's/^[^ ]* tensor //p' "$work/out" | sort -u; }

# whole KEY [options of the step]: the results of one program of spec.yaml,
# which are the same for all that have KEY.
whole() {
  local known=$work/known.$1
  if [[ ! -e $known.tensors ]]; then
    build whole "${@:2}"
    run-together host $steps 0 $(program whole "$work/data.jsonl" whole) >"$work/out"
    numbers whole >"$known.numbers"
    tensors >"$known.tensors"
    [[ -s $known.numbers && -s $known.tensors ]]
  fi
  cp "$known.numbers" "$work/whole.numbers"
  cp "$known.tensors" "$work/whole.tensors"
}

count=0 asked=0
# compare METHODS BELOW CUTS DTYPE IN-FLIGHT BATCHES CLIP DEVICE
compare() {
  local cut=$3 options="split-after=$3 exchange-dtype=$4" name programs=() own
  # The last one's messages are counted.
  ((asked++ % ${share#*/} == ${share%/*} - 1)) || [[ $1,$6 == mezo,backprop,1 ]] || return 0
  local what="$1 cut after $2, programs after $3, $4, $5 in flight, $6 batches, clip $7, on $8"
  cat >"$work/spec.yaml" <<SPEC
model: $model
weights: {path: $weights}
train: {compute_dtype: float32, learning_rate: 1e-2, batch_size: 2,
        max_seq_length: 32, gradient_accumulation_steps: $6}
parts:
$(parts "$1" "$2" "$cut")
target: reference
SPEC
  # Only backwards keep values and clip.
  case $1 in
    *backprop* | *lcsb*)
      sed -i "s/^train: {/&residuals: mesp, max_grad_norm: $7, /" "$work/spec.yaml"
      ;;
  esac
  weigh whole
  # In one program a cut changes bits only by rounding.
  own=$(sha256sum <"$work/spec.yaml" | cut -c1-16)
  if [[ $4 == float32 ]]; then whole "$own"; else whole "$own.$cut" "$options"; fi
  local given=$work/data.jsonl
  for name in $(names "$cut"); do
    own="$options part=$name"
    build "$name" "$own in-flight=$5"
    weigh "$cut.$name" "$own"
    programs+=($(program "$name" "$given" "$cut.$name"))
    given=$work/other.jsonl
  done
  run-together "$8" $steps $((++count)) "${programs[@]}" >"$work/out" ||
    { echo "exchange: $what: failed" >&2; return 1; }
  for name in $(names "$cut"); do
    numbers "$name" | cmp - "$work/whole.numbers" ||
      { echo "exchange: $what: other numbers in $name" >&2; return 1; }
  done
  tensors | cmp - "$work/whole.tensors" ||
    { echo "exchange: $what: other tensors" >&2; return 1; }
}

i=0
for lower in "${methods[@]}"; do
  for upper in "${methods[@]}"; do
    if [[ $which == covering ]]; then
      dtypes=(float32 bfloat16) devices=(host guarded)
      compare "$lower,$upper" $((1 + i % 2)) "${cuts[(i + i / 6) % 6]}" \
        "${dtypes[i / 2 % 2]}" $((1 + i % 3)) $((1 + i / 4 % 2)) \
        "0.$((i % 2 * 5))" "${devices[i / 3 % 2]}"
      ((++i))
      continue
    fi
    for cut in "${cuts[@]}"; do
      for dtype in float32 bfloat16; do
        for flight in 1 3; do
          compare "$lower,$upper" $((1 + i++ % 2)) "$cut" "$dtype" $flight 2 0.5 host
        done
      done
    done
  done
done
# Three methods, each in a program, and with a program that has layers of two.
three=(mezo,fgd,backprop backprop,mezo,lcsb lcsb,backprop,fgd fgd,lcsb,mezo)
[[ $which == covering ]] ||
  three=($(printf '%s\n' {backprop,lcsb,mezo,fgd},{backprop,lcsb,mezo,fgd},{backprop,lcsb,mezo,fgd}))
for i in "${!three[@]}"; do
  cut=(1,2 0,2) dtype=(float32 bfloat16)
  compare "${three[i]}" 1,2 "${cut[i % 2]}" "${dtype[i / 2 % 2]}" $((1 + i % 3)) 2 0.5 host
done

# With four programs and as many in flight, a program sends on a batch whose loss it waits for later.
compare mezo,backprop 1 0,1,2 float32 4 2 0.5 host
compare backprop,fgd 1 0,1,2 float32 3 2 0.5 host

# HOSL: 2P + 1 hidden states of 16 numbers up for each row, with its target and where its
# sequence starts; numbers down.
compare mezo,backprop 1 0 float32 1 1 0 host
directions=2
read -r up rows < <(sed -n 's/^lower sent \([0-9]*\) bytes for \([0-9]*\) rows/\1 \2/p' "$work/out")
read -r down _ < <(sed -n 's/^upper sent \([0-9]*\) bytes for \([0-9]*\) rows/\1 \2/p' "$work/out")
payload=$((((2 * directions + 1) * 16 * 4 + 8) * rows))
((rows > 0 && up >= payload && up * 100 <= payload * 102 && down <= steps * 16384)) ||
  { echo "exchange: $up bytes up for a payload of $payload, $down down" >&2; exit 1; }
echo "bytes up: $up for a payload of $payload in $steps steps, $down down"
echo "same bits as one program: $count ways to train together"
