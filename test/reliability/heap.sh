#!/usr/bin/env bash
# heap.sh TRAIN DATA [options of TRAIN ...]
#
# Steps must not allocate: 100 more of them make no call of the allocator. The
# closing summary may make a few more or fewer, as its texts are longer or
# shorter; an allocation in a step makes at least 100, one in each printed line
# or growing buffer at least 5. TRAIN must be dynamically linked.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
train=$1 data=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"${CC:-cc}" -shared -fPIC -O1 -o "$work/count.so" "$here/CountAllocations.c"

calls() { # calls STEPS: of one run
  rm -rf "$work/run"
  LD_PRELOAD="$work/count.so" HONE_ALLOCATIONS="$work/calls" "$train" \
    --data "$data" --output "$work/run" --save-every 0 "$@" \
    >"$work/out" 2>&1 || {
    cat "$work/out" >&2
    exit 1
  }
  cat "$work/calls"
}

few=$(calls --steps 12 "$@")
many=$(calls --steps 112 "$@")
((few > 0)) || {
  echo "heap: nothing was counted; is $train statically linked?" >&2
  exit 1
}
more=$((many - few))
((more < 5 && more > -5)) || {
  echo "heap: 100 more steps made $more more allocations" >&2
  exit 1
}
echo "heap: steps do not allocate ($few calls in a run of 12 steps, $many of 112)"
