#!/usr/bin/env bash
# make.sh BUILD OUT [FOLDER] - packs what one command needs on a machine with a
# GPU. FOLDER has other lists `programs` and `cases` than this one. What cannot
# be made is left out by name, here and in the kit's table.
#
# HONE_KIT_STEPS: of the small model, 20. HONE_SHARED: where data/configs is. HONE_KIT_PTXAS: NVIDIA's assembler, whose
# code lies beside the programs' PTX and makes them start quickly; default: that
# on PATH.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(cd "$here/../.." && pwd)
build=$(cd "${1:?usage: make.sh BUILD OUT [FOLDER]}" && pwd)
out=${2:?usage: make.sh BUILD OUT [FOLDER]}
lists=$(cd "${3:-$here}" && pwd)
most=$((48 * 1024 * 1024))
shared=${HONE_SHARED:-$source/../shared}
target=(--set target.triple=nvptx64-nvidia-cuda)
host=--set\ target.host=x86-64-v3
ptxas=${HONE_KIT_PTXAS-$(command -v ptxas || true)}
PATH=$build/bin:$PATH

say() { printf 'gpu-kit: %s\n' "$*"; }
die() {
  say "$*" >&2
  exit 1
}

case $out in /*) ;; *) out=$PWD/$out ;; esac
# Only what an earlier call has made is replaced.
[ ! -e "$out" ] || [ -e "$out/version" ] ||
  die "$out is there and is no kit; give another folder"
rm -rf "$out"
mkdir -p "$out"/{programs,cases,data,models,small}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$out/version" # from here on it may be replaced

#--- Tools --------------------------------------------------------------------

cp "$here"/{run,README.md,torch_peer.py} "$source"/bench/peers/{torch_worker,protocol}.py "$out"
for tool in gpu-cases gpu-probe random-weights; do
  strip -o "$out/$tool" "$build/bin/$tool"
done

#--- Programs -----------------------------------------------------------------

# leave_out NAME REASON
leave_out() {
  say "left out: $1: $2"
  printf '%s: %s\n' "$1" "$2" >>"$out/programs/left-out"
}

# The first error of a log, in one line.
reason() {
  local text
  text=$(sed -n 's/^.*error\(\[[^]]*\]\)\{0,1\}: //p' "$1" | head -n 1)
  printf '%s' "${text:-$(tail -n 1 "$1")}" | cut -c 1-300
}

# What torch_peer.py trains: activations, weights and adapters in bfloat16.
spec() { # MODEL BATCH TOKENS
  cat <<TEXT
model: $1
lora: {r: 8, lora_alpha: 16, target_modules: all-linear, dtype: bfloat16}
train: {compute_dtype: bfloat16, residuals: mesp, batch_size: $2, max_seq_length: $3,
        optimizer: adamw, learning_rate: 1e-4, lr_scheduler_type: constant,
        max_grad_norm: 0, shuffle: false, save_every: 0}
TEXT
}

# ids FILE VOCABULARY SEQUENCES TOKENS: random ones, always the same.
ids() {
  awk -v v="$2" -v n="$3" -v t="$4" 'BEGIN {
    x = 12345
    for (i = 0; i < n; ++i) {
      printf "{\"input_ids\": ["
      for (j = 0; j < t; ++j) {
        x = (x * 16807) % 2147483647
        printf "%s%d", j ? ", " : "", x % v
      }
      print "]}"
    }
  }' >"$1"
}

# code TEXT: ptxas's, under the name that programs look for.
code() {
  local text=$1 to=$2
  [ -n "$ptxas" ] || return 0
  "$ptxas" -arch=sm_90 "$text" -o "$to" 2>>"$work/ptxas.log" ||
    say "ptxas refused $text: $(tail -n 1 "$work/ptxas.log")"
}

: >"$out/programs/left-out"
: >"$out/programs/order"
while read -r name config dtype batch tokens; do
  case $name in '' | '#'*) continue ;; esac
  folder=$out/programs/$name
  json=
  for each in "$lists/$config.json" "$shared/data/configs/$config/config.json" \
    "$source/test/reference/golden/models/$config/config.json"; do
    [ ! -f "$each" ] || { json=$each; break; }
  done
  if [ -z "$json" ]; then
    leave_out "$name" "there is no config.json of $config; set HONE_SHARED"
    continue
  fi
  mkdir -p "$out/models/$config"
  cp "$json" "$out/models/$config/config.json"
  chmod u+w "$out/models/$config/config.json"
  mkdir -p "$folder"
  spec "../../models/$config" "$batch" "$tokens" >"$folder/spec.yaml"
  started=$SECONDS
  if ! (cd "$out" && honec "programs/$name/spec.yaml" "${target[@]}" $host \
    --set target.cpu=sm_90 --set weights.dtype="$dtype" --weights-manifest \
    -o "programs/$name") >"$work/log" 2>&1; then
    leave_out "$name" "honec: $(reason "$work/log")"
    rm -rf "$folder"
    continue
  fi
  # The text itself is in the program.
  if [ -n "$ptxas" ]; then
    (cd "$out" && honec "programs/$name/spec.yaml" "${target[@]}" $host \
      --set target.cpu=sm_90 --set weights.dtype="$dtype" --emit=asm \
      -o "$work/kernels.ptx" --weights-manifest) >"$work/log" 2>&1 ||
      die "$name: $(reason "$work/log")"
    digest=$(sha256sum <"$work/kernels.ptx" | cut -c 1-16)
    code "$work/kernels.ptx" "$folder/$digest.sm_90.cubin"
  fi
  strip "$folder/train"
  vocabulary=$(sed -n 's/.*"vocab_size": *\([0-9]*\).*/\1/p' "$json")
  sequences=ids-$vocabulary-$batch-$tokens
  [ -e "$out/data/$sequences.jsonl" ] ||
    ids "$out/data/$sequences.jsonl" "$vocabulary" $((4 * batch)) "$tokens"
  printf '%s=%s\n' model "$config" dtype "$dtype" batch "$batch" \
    tokens $((batch * tokens)) ids "$sequences" >"$folder/settings"
  printf '%s\n' "$name" >>"$out/programs/order"
  say "$name: compiled in $((SECONDS - started)) s"
done <"$lists/programs"
[ -n "$ptxas" ] ||
  leave_out "ptxas's code" "there is no ptxas: the driver compiles PTX at each first start"

#--- A small model, and what the CPU makes of it ------------------------------

cat >"$work/small.json" <<'TEXT'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama",
 "hidden_act": "silu", "hidden_size": 64, "intermediate_size": 128,
 "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2,
 "max_position_embeddings": 256, "rms_norm_eps": 1e-05, "rope_theta": 10000.0,
 "initializer_range": 0.1, "tie_word_embeddings": true, "vocab_size": 256}
TEXT
hone-make-model "$work/small.json" -o "$work/small" --seed 1
cat >"$work/small.yaml" <<TEXT
model: $work/small
lora: {r: 4, target_modules: all-linear}
train: {residuals: mesp, batch_size: 2, max_seq_length: 32, optimizer: adamw,
        learning_rate: 1e-2, lr_scheduler_type: constant}
TEXT
ids "$out/small/data.jsonl" 256 8 32
honec "$work/small.yaml" -o "$work/cpu" >"$work/log" 2>&1 ||
  die "the small model: $(reason "$work/log")"
"$work/cpu/train" --data "$out/small/data.jsonl" --output "$work/cpu-run" \
  --steps "${HONE_KIT_STEPS:-20}" --show-samples 0 >"$work/log" 2>&1 ||
  die "the small model: $(reason "$work/log")"
sed -n 's/.*"loss": \([-0-9.e+]*\).*/\1/p' "$work/cpu-run/steps.jsonl" \
  >"$out/small/losses"
honec "$work/small.yaml" "${target[@]}" $host --set target.cpu=sm_80 \
  -o "$out/small" >"$work/log" 2>&1 || die "the small model: $(reason "$work/log")"
strip "$out/small/train"

#--- Cases --------------------------------------------------------------------

head -n 2 "$out/small/data.jsonl" >"$work/data.jsonl"
while read -r name model settings; do
  case $name in '' | '#'*) continue ;; esac
  folder=$source/test/reference/golden/models/$model
  [ "$model" != small ] || folder=$work/small
  # Ids below every vocabulary here.
  sed 's/[0-9]\{2,\}/7/g' "$work/data.jsonl" >"$work/ids.jsonl"
  options=()
  for setting in $settings; do options+=(--set "$setting"); done
  rm -rf "$work/case" "$work/run"
  if ! honec "$work/small.yaml" --set model="$folder" "${target[@]}" \
    --set target.cpu=sm_80 "${options[@]}" -o "$work/case" >"$work/log" 2>&1 ||
    ! HONE_PTX_RECORD=$out/cases/$name LD_LIBRARY_PATH=$build/ptx-driver \
      timeout 120 "$work/case/train" --data "$work/ids.jsonl" \
      --output "$work/run" --steps 1 --show-samples 0 >"$work/log" 2>&1; then
    rm -f "$out/cases/$name"-*.case
    leave_out "case $name" "$(reason "$work/log")"
  fi
done <"$lists/cases"
for case in "$out"/cases/*-1.case; do
  [ -e "$case" ] || die "there is no case at all"
  mv "$case" "${case%-1.case}.case"
done
# Kernels by themselves, as the unit tests run them on the machine.
if [ -s "$lists/unit-cases" ]; then
  while read -r name program filter; do
    case $name in '' | '#'*) continue ;; esac
    HONE_PTX_RECORD=$out/cases/$name "$build/test/unit/$program" \
      --gtest_filter="$filter" >"$work/log" 2>&1 ||
      leave_out "cases $name" "$(tail -n 1 "$work/log")"
  done <"$lists/unit-cases"
fi

#--- The whole ----------------------------------------------------------------

version=$(git -C "$source" rev-parse --short HEAD 2>/dev/null || echo unknown)
[ -z "$(git -C "$source" status --porcelain 2>/dev/null | head -n 1)" ] ||
  version+=" with changes"
printf '%s of %s\n' "$version" "$(date -u +%F)" >"$out/version"
# What needs a newer system than the kit promises.
for program in "$out"/{gpu-cases,gpu-probe,random-weights} "$out"/{small,programs/*}/train; do
  [ -e "$program" ] || continue
  newest=$(objdump -T "$program" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
  [ "$(printf '%s\n' "$newest" GLIBC_2.36 | sort -V | tail -n 1)" = GLIBC_2.36 ] ||
    die "$program needs $newest; make the kit where glibc is 2.36 or older"
done
bytes=$(du -sb "$out" | cut -f 1)
[ "$bytes" -le "$most" ] ||
  die "$out has $bytes bytes, and a kit has at most $most"
say "$out: $((bytes / 1048576)) MiB, $(wc -l <"$out/programs/order") programs, \
$(find "$out/cases" -name '*.case' | wc -l) cases, $(grep -c . "$out/programs/left-out" || true) left out"
say "on a machine with a GPU: $out/run OUT MINUTES"
