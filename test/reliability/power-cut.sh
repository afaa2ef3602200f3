#!/usr/bin/env bash
# power-cut.sh TRAIN DATA [options of TRAIN ...]
#
# Records the file operations of a run, killed and resumed, and of another that
# shares its log. Then cuts the power after each of these calls, in each way
# that PowerCut.cpp knows: both runs, started again, must end with the bits and
# the log of an undisturbed one, use no torn file and keep each checkpoint whose
# save had ended. And each fsync must be needed: without it some cut breaks
# that. TRAIN must be dynamically linked. STATES=N tries N more by chance.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
source "$here/equal.sh"
train=$1 data=$2
shift 2
options=("$@")
# On a disk each state would wait for it; the trace shows which files are
# durable.
[[ ! -w /dev/shm ]] || export TMPDIR=/dev/shm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -shared -fPIC -O1 "$here/RecordCalls.c" -o "$work/record.so"
"${CXX:-c++}" -std=c++17 -O1 "$here/PowerCut.cpp" -o "$work/power-cut"
disk=$work/disk cut=$work/cut trace=$work/trace
mkdir -p "$disk/logs"

fail() {
  echo "power-cut: $1" >&2
  tail -n 5 "$work/out" >&2
  exit 1
}
run() { # run ROOT NAME STEPS
  "$train" --data "$data" --output "$1/runs/$2" --log "$1/logs/log.jsonl" \
    --steps "$3" --save-every 2 --threads 1 "${options[@]}" >"$work/out" 2>&1
}
recorded() { # recorded [CALLS] run...
  LD_PRELOAD=$work/record.so HONE_TRACE=$trace HONE_TRACE_ROOT=$disk \
    HONE_TRACE_CALLS=$1 "${@:2}"
}
sorted_losses() {
  losses "$1/logs/log.jsonl" | sort
}

# Killed after step 3; the other run's lines are after those that must go.
recorded 0 run "$disk" probe 4 || fail "the run failed"
kill=$(awk -F'\t' '$1 == "write" && logFile == $2 { if (++n == 3) { print NR; exit } }
  $1 == "create" && $3 ~ /jsonl$/ { logFile = $2 }' "$trace")
rm -rf "$disk" "$trace" "$trace.data"
mkdir -p "$disk/logs"
! recorded "$kill" run "$disk" run 4 || fail "the run was not killed"
recorded 0 run "$disk" other 2 || fail "the other run failed"
recorded 0 run "$disk" run 4 || fail "the killed run did not resume"
grep -q '^resuming after step 2' "$work/out" || fail "did not resume"
calls=$(wc -l <"$trace")
head=$(grep -abom 1 '^<script>add(' "$disk/runs/run/report.html" | cut -d: -f1)
sorted_losses "$disk" >"$work/losses"
"$work/power-cut" "$trace" "$calls" 0 kept-kept "$cut" >"$work/state"
diff -r "$disk" "$cut" >&2 || fail "RecordCalls.c misses a call"

whole() { # whole NAME: its adapter is there as it should be
  cmp -s "$disk/runs/$1/adapter_model.safetensors" \
    "$cut/runs/$1/adapter_model.safetensors" &&
    cmp -s "$disk/runs/$1/adapter_config.json" \
      "$cut/runs/$1/adapter_config.json"
}

declare -A seen
states=0 cuts=0
# survives WITHOUT CALLS STATE: or has the failure in $why.
survives() {
  local state step
  read -r state step < <("$work/power-cut" "$trace" "$2" "$1" "$3" "$cut")
  # A step that is logged says that the save before it had ended, and the last
  # call of a run that all is done.
  step="$(($2 == calls ? 4 : step > 2 ? 2 : 0)) $(($2 >= other))"
  why=${seen[$state $step]-}
  [[ ! $why ]] || { [[ $why == ok ]] && return 0 || return 1; }
  states=$((states + 1))
  why=$(broken "${step%% *}" "$2")
  seen[$state $step]=${why:-ok}
  [[ ! $why ]]
}
broken() { # broken STEP CALLS
  local name file resumed
  for name in run other; do
    for file in adapter_{model.safetensors,config.json} README.md; do
      [[ ! -e $cut/runs/$name/$file ]] ||
        cmp -s "$disk/runs/$name/$file" "$cut/runs/$name/$file" ||
        { echo "$file is torn" && return; }
    done
    # A report begins as it should; lines of it may be lost.
    [[ ! -e $cut/runs/$name/report.html ]] ||
      cmp -s -n "$head" {"$disk","$cut"}/runs/"$name"/report.html ||
      { echo "report.html is torn" && return; }
  done
  (($2 < other)) || whole other || { echo "an adapter is lost" && return; }
  (($2 < calls)) || whole run || { echo "the last adapter is lost" && return; }
  mkdir -p "$cut/logs"
  run "$cut" run 4 || { echo "refused: $(grep error "$work/out")" && return; }
  resumed=$(sed -n 's/^resuming after step \([0-9]*\) .*/\1/p' "$work/out")
  ((resumed >= $1)) || { echo "the checkpoint of step $1 is lost" && return; }
  run "$cut" other 2 || { echo "refused: $(grep error "$work/out")" && return; }
  (($2 < other)) || grep -q '^resuming after step 2' "$work/out" ||
    { echo "the other's checkpoint is lost" && return; }
  whole run && whole other || { echo "the bits differ" && return; }
  sorted_losses "$cut" | cmp -s - "$work/losses" || echo "the log differs"
}

# The other run has ended before the resumed one opens anything.
other=$(awk -F'\t' '/runs\/other\/adapter_config.json$/ && $1 == "rename" { at = NR }
  at && $1 == "sync" { print NR; exit }' "$trace")
chance=($(seq 1 "${STATES:-2}"))
ways=({kept,lost}-{kept,lost,zeros,gap} "${chance[@]}")
for ((i = 0; i <= calls; ++i)); do
  # Opening a file changes nothing.
  ((i == 0)) || [[ $(sed -n "${i}p" "$trace") != open* ]] || continue
  cuts=$((cuts + 1))
  for way in "${ways[@]}"; do
    survives 0 "$i" "$way" ||
      fail "cut after call $i of $calls, $way: $why: $(sed -n "${i}p" "$trace")"
  done
done
distinct=$states

# Lines "CALL KIND": each sync, after which change; of any run and step.
kinds() {
  awk -F'\t' '
    $1 == "open" || $1 == "create" { path[$2] = $3 }
    $1 == "sync" { print NR, path[$2] " after " last }
    $1 == "write" { last = "write " path[$2] }
    $1 != "open" && $1 != "sync" && $1 != "write" { last = $1 " " $NF }
  ' "$trace" | sed -E 's/\.tmp-[0-9a-f]*//g; s/[0-9a-f]{32}/DATA/g
    s/-00000[0-9]/-STEP/g; s/other/run/g'
}
declare -A needed=()
syncs=0
while read -r sync kind; do
  syncs=$((syncs + 1))
  [[ ${needed[$kind]-} != yes ]] || continue
  needed[$kind]=no
  for ((i = sync; i <= calls; ++i)); do
    for way in "${ways[@]}"; do
      survives "$sync" "$i" "$way" || { needed[$kind]=yes && break 2; }
    done
  done
done < <(kinds)
for kind in "${!needed[@]}"; do
  [[ ${needed[$kind]} == yes ]] || fail "nothing needs the sync of $kind"
done
echo "power-cut: cut after $cuts calls in ${#ways[@]} ways ($distinct differ)," \
  "nothing lost; each of ${#needed[@]} syncs ($syncs calls) is needed"
