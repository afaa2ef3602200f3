#!/usr/bin/env bash
# narrow-help.sh HONE-KEYS: fails if a tool's help has a line that a terminal would break.
set -euo pipefail

# narrow COMMAND...: its output has lines of at most 80 characters.
narrow() {
  "$@" | awk -v said="$*" 'length > 80 { print said ": " $0; wide = 1 } END { exit wide }'
}

for tool in honec hone hone-adapter hone-simulate hone-make-model "$1"; do
  narrow "$tool" --help
done
for tool in hone hone-adapter; do
  commands=$("$tool" --help | sed -n '/^commands:/,/^$/s/^  \([a-z-]\+\)  .*/\1/p')
  [[ $(wc -w <<<"$commands") -ge 4 ]]
  for command in $commands; do
    narrow "$tool" "$command" --help
  done
done
narrow honec --help-spec
