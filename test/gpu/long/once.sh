#!/usr/bin/env bash
# once.sh FOLDER NAME FILE... -- COMMAND...
#
# Runs COMMAND unless it has passed with these FILEs: a check of minutes goes on
# where it was cut off. FOLDER has a file for each NAME that passed, with the
# digest of FILEs and COMMAND, and the processors' time that COMMAND took
# (`times`).
set -euo pipefail
passed=$1/$2
mkdir -p "$1"
shift 2
files=()
while [ "$1" != -- ]; do
  files+=("$1")
  shift
done
shift
# A pattern may name the files in any order.
digest=$( (sha256sum "${files[@]}" | sort && printf '%s\n' "$@") | sha256sum)
if [ "$(head -n 1 "$passed" 2>/dev/null)" = "$digest" ]; then
  echo "passed before: ${passed##*/}"
  exit
fi
rm -f "$passed"
"$@"
{ printf '%s\n' "$digest" && times; } >"$passed"
