#!/usr/bin/env bash
# refuses.sh CODE OUTPUT COMMAND...
#
# Runs COMMAND, which must exit with CODE, print an error with a remedy on
# stderr and leave nothing at OUTPUT. Prints the output of COMMAND.
set -uo pipefail
code=$1 output=$2
shift 2
rm -rf "$output"
"$@"
status=$?
if [ "$status" -ne "$code" ]; then
  echo "refuses.sh: expected exit code $code but got $status"
  exit 1
fi
if [ -e "$output" ]; then
  echo "refuses.sh: something was left at $output"
  exit 1
fi
