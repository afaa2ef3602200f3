#!/usr/bin/env bash
# allocations.sh TRAIN DATA MOST [options of TRAIN ...]
#
# The i-th allocation fails, for every i of a run, once alone and once with all
# later ones. Each run must end with a documented exit code and a message, leave
# nothing half-written, and the next must end with the bits of an undisturbed
# one. Of more than MOST allocations a fixed share is taken; 0: all are. TRAIN
# must be dynamically linked.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
source "$here/equal.sh"
train=$1 data=$2 most=$3
shift 3
options=("$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -shared -fPIC -O1 "$here/FailAllocation.c" -o "$work/fail.so"

run() { # run NAME: what it prints goes to $work/out
  "$train" --data "$data" --output "$work/$1" --log "$work/$1.jsonl" \
    "${options[@]}" >"$work/out" 2>&1
}
limited() { # limited I: a run whose I-th allocation fails
  HONE_FAIL_ALLOCATION=$1 HONE_ALLOCATIONS=$work/count \
    LD_PRELOAD=$work/fail.so run run
}
fail() {
  echo "allocations: $1" >&2
  tail -n 20 "$work/out" >&2
  ls -R "$work/run" >&2
  exit 1
}

run whole || fail "the undisturbed run failed"
whole=$(digest_of "$work/whole")
limited 0 || fail "the counted run failed"
total=$(<"$work/count")
((total > 0)) || fail "nothing was counted; is $train statically linked?"
stride=$((most > 0 && total > most ? (total + most - 1) / most : 1))
failed=0 ended=0
for from in '' +; do
  for ((i = 1; i <= total; i += stride)); do
    rm -rf "$work/run" "$work/run.jsonl"
    status=0
    limited "$i$from" || status=$?
    case $status in
    0) ;;
    71 | 74) # ends at once, or says what it could not do
      ended=$((ended + 1))
      grep -q '^error\[H' "$work/out" || fail "$i$from of $total: no message"
      ;;
    *) fail "$i$from of $total: exit code $status" ;;
    esac
    [[ -z $(find "$work" -name '*.tmp-*') ]] ||
      fail "$i$from of $total: temporaries are left"
    run run || fail "$i$from of $total: the next run failed"
    [[ $(digest_of "$work/run") == "$whole" ]] || fail "$i$from of $total: the bits differ"
    failed=$((failed + 1))
  done
done
echo "allocations: $failed of $((2 * total)) failed, $ended runs with them," \
  "nothing lost"
