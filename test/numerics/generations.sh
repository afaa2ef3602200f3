#!/usr/bin/env bash
# generations.sh PROGRAM PROMPT IDS ARG...: after the ids in PROMPT the program
# must generate those in IDS, a line each, and no other.
set -euo pipefail
program=$1 prompt=$2 ids=$3
shift 3
"$program" --prompt-ids "$(cat "$prompt")" --show-ids \
  --max-new-tokens "$(wc -l < "$ids")" "$@" 2> /dev/null | diff - "$ids"
echo "same ids"
