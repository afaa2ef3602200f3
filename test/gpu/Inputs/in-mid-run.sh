#!/usr/bin/env bash
# in-mid-run.sh FAULT REPORT COMMAND...
#
# Runs COMMAND, whose launches REPORT counts, on a device that HONE_PTX_FAULT
# breaks after three quarters of them. It must end with exit code 71.
set -uo pipefail
fault=$1 launches=$(sed -n 's/^launches: //p' "$2")
shift 2
env "HONE_PTX_$fault=$((launches * 3 / 4))" "$@" 2>&1
status=$?
[ "$status" -eq 71 ] || { echo "in-mid-run.sh: exit code $status"; exit 1; }
