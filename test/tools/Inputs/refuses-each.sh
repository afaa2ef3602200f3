#!/usr/bin/env bash
# refuses-each.sh CODE OUTPUT COMMAND... -- ARGUMENT...
#
# refuses.sh for COMMAND with each ARGUMENT in turn.
set -uo pipefail
command=()
while [ "$1" != -- ]; do
  command+=("$1")
  shift
done
shift
for argument in "$@"; do
  bash "$(dirname "$0")/refuses.sh" "${command[@]}" "$argument" || exit 1
done
