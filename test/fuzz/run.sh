#!/usr/bin/env bash
# run.sh PROGRAM SECONDS FOLDER [OPTIONS of libFuzzer]
#
# Fuzzes for SECONDS from corpus/<reader>, and from the inputs in FOLDER; inputs
# with new coverage are added to FOLDER. An input that breaks the reader ends
# the run: it is in FOLDER too, and belongs in the corpus with its fix.
set -uo pipefail
program=$1 seconds=$2 folder=$3
shift 3

reader=$(basename "$program")
reader=${reader#fuzz-}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
corpus=("$here/corpus/$reader")
# Real ones, which other tests have.
[ "$reader" != tokenizer ] ||
  corpus+=("$here"/../reference/golden/tokenizers/*/)

# MLIR, LLVM and yaml-cpp are not instrumented: containers cross the boundary.
# An input takes little memory and time, with any sizes that it claims.
mkdir -p "$folder/new"
log=$folder/log
ASAN_OPTIONS=detect_container_overflow=0 "$program" \
  -max_total_time="$seconds" -max_len=8192 -timeout=5 -malloc_limit_mb=64 \
  -print_final_stats=1 -artifact_prefix="$folder/" "$@" \
  "$folder/new" "${corpus[@]}" >"$log" 2>&1 ||
  {
    tail -n 60 "$log"
    exit 1
  }
runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
# Of a reader whose inputs have parts that count.
parts=$(sed -n 's/^executed: */, /p' "$log")
printf '%s: %s inputs%s, none broke it\n' "$reader" "$runs" "$parts"
