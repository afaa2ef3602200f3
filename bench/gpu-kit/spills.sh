#!/usr/bin/env bash
# spills.sh BUILD [FOLDER [ARCHITECTURE...]] - what ptxas makes of the kit's
# programs, or of those in FOLDER's list: for each architecture how many kernels
# there are and the most registers of one. A kernel that spills registers is named,
# and the exit code is 1. Of rows that differ in their architecture alone, the
# first is enough.
#
# HONE_SHARED: where data/configs is.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(cd "$here/../.." && pwd)
build=$(cd "${1:?usage: spills.sh BUILD [FOLDER [ARCHITECTURE...]]}" && pwd)
lists=$(cd "${2:-$here}" && pwd)
architectures=("${@:3}")
[ ${#architectures[@]} -gt 0 ] || architectures=(sm_75 sm_80 sm_90 sm_90a)
shared=${HONE_SHARED:-$source/../shared}
. "$here/program.sh"
command -v ptxas >/dev/null || {
  printf 'spills: there is no ptxas on PATH\n' >&2
  exit 3
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
declare -A seen=()

while read -r name config dtype batch tokens _ budget; do
  case $name in '' | '#'*) continue ;; esac
  [ -z "${seen[$config $dtype $batch $tokens $budget]:-}" ] || continue
  seen[$config $dtype $batch $tokens $budget]=$name
  json=$(config_of "$config")
  [ -n "$json" ] || {
    printf '%s: there is no config.json of %s; set HONE_SHARED\n' "$name" "$config"
    failed=1
    continue
  }
  rm -rf "$work/model" && mkdir "$work/model" && cat "$json" >"$work/model/config.json"
  spec "$work/model" "$batch" "$tokens" "$budget" >"$work/spec.yaml"
  for architecture in "${architectures[@]}"; do
    if ! "$build/bin/honec" "$work/spec.yaml" --set weights.dtype="$dtype" \
      --target="nvptx64-nvidia-cuda:$architecture" --weights-manifest --emit=asm \
      -o "$work/text.ptx" >"$work/log" 2>&1 ||
      ! ptxas -v -arch="$architecture" "$work/text.ptx" -o "$work/code" >"$work/log" 2>&1; then
      printf '%s %s: %s\n' "$name" "$architecture" "$(grep -m 1 error "$work/log" || tail -n 1 "$work/log")"
      failed=1
      continue
    fi
    awk -v name="$name $architecture" '
      /entry function/ { split($0, part, "\047"); kernel = part[2]; ++kernels }
      /bytes spill stores/ {
        spilled = $0
        sub(/.*stack frame, /, "", spilled)
        if (spilled !~ /^0 bytes spill stores, 0 bytes spill loads/) {
          printf "%s: %s: %s\n", name, kernel, spilled
          ++spills
        }
      }
      match($0, /Used [0-9]+ registers/) {
        registers = substr($0, RSTART + 5) + 0
        if (registers > most) most = registers
      }
      END {
        printf "%s: %d kernels, at most %d registers, %d with spills\n", name, kernels, most, spills
        exit spills > 0 || kernels == 0
      }' "$work/log" || failed=1
  done
done <"$lists/programs"
exit "$failed"
