#!/usr/bin/env bash
# faults.sh TRAIN DATA [options of TRAIN ...]
#
# The i-th system call of those that FailCall.c knows fails, for every i until a
# run meets no failure, once alone and once from there on. Each run must end
# with a documented exit code, leave nothing half-written, and lose nothing: the
# next run ends with the bits of an undisturbed one. TRAIN must be dynamically
# linked.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
source "$here/equal.sh"
train=$1 data=$2
shift 2
[[ ! -w /dev/shm ]] || export TMPDIR=/dev/shm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -shared -fPIC -O1 "$here/FailCall.c" -o "$work/fail.so"

run() { # run NAME: what it prints goes to $work/out
  "$train" --data "$data" --output "$work/$1" --log "$work/$1.jsonl" \
    "${options[@]}" >"$work/out" 2>&1
}
fail() {
  echo "faults: $1" >&2
  tail -n 20 "$work/out" >&2
  ls -R "$work/run" >&2
  exit 1
}

options=("$@")
run whole || fail "the undisturbed run failed"
whole=$(digest_of "$work/whole")
calls=0 failures=0
declare -A kinds
for from in '' +; do
  for ((i = 1; ; ++i)); do
    rm -rf "$work/run" "$work/run.jsonl"
    status=0
    LD_PRELOAD="$work/fail.so" HONE_FAIL_CALL=$i$from \
      HONE_FAILED="$work/failed" run run || status=$?
    [[ -s $work/failed ]] || break
    call=$(<"$work/failed")
    rm "$work/failed"
    kinds[$call]=1
    case $status in
    0 | 65 | 66 | 70 | 71 | 73 | 74) ;;
    *) fail "call $i$from ($call): exit code $status" ;;
    esac
    ((status == 0)) || failures=$((failures + 1))
    # It cannot clean up where the cleanup itself fails, now or from now on.
    [[ $from || $call == unlink || $call == rmdir ]] || [[ ! -e $work/run ]] ||
      [[ -z $(find "$work/run" -name '*.tmp-*') ]] ||
      fail "call $i ($call): temporaries are left"
    [[ $status != 0 && $status != 7[01] ]] || grep -q . "$work/out" ||
      fail "call $i$from ($call): says nothing"
    run run || fail "call $i$from ($call): the next run failed"
    [[ $(digest_of "$work/run") == "$whole" ]] || fail "call $i$from ($call): bits differ"
    [[ -z $(find "$work/run" -name '*.tmp-*') ]] ||
      fail "call $i$from ($call): the next run left temporaries"
    calls=$((calls + 1))
  done
  run run
done
echo "faults: $calls calls of ${#kinds[@]} kinds failed, $failures runs with" \
  "them, nothing lost"
