#!/usr/bin/env bash
# few-threads.sh FOLDER COMMAND...
#
# COMMAND ends with 71 and says so if the system refuses one of the last threads
# that it asks for. The compiler's pool has as many as it happens to need, so
# their number is not quite the same each time.
set -euo pipefail

work=$1
shift
"${CC:-cc}" -shared -fPIC -O1 "$(dirname "$0")/../../reliability/RefuseThreads.c" -o "$work/refuse.so"
run() { # run THREADS COMMAND...
  local threads=$1
  shift
  env LD_PRELOAD="$work/refuse.so" HONE_THREADS="$threads" HONE_STARTED="$work/started" "$@" \
    >/dev/null 2>"$work/err"
}
run 1000000 "$@"
all=$(<"$work/started")
refused=0
for ((n = all - 4; n < all; ++n)); do
  status=0
  run "$n" "$@" || status=$?
  [[ $status == 0 ]] && continue
  if [[ $status != 71 ]] || ! grep -q 'error\[H0903\]' "$work/err"; then
    echo "few-threads: $n of $all threads: exit code $status" >&2
    cat "$work/err" >&2
    exit 1
  fi
  refused=$((refused + 1))
done
((refused > 0))
echo "few-threads: refused"
