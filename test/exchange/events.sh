#!/usr/bin/env bash
# events.sh MODEL.mlir WEIGHTS DATA COUNT all|few|last [options of honec]
#
# COUNT programs that train together, of which one is killed at a message of one kind and
# started again, in turn: in the greeting, at a step, before and while a checkpoint is
# written, where it becomes durable, and where the run ends. All end with the bits of one program.
set -euo pipefail

model=$1 weights=$2 data=$3 count=$4 which=$5
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
steps=8
. "$(dirname "$0")/programs.sh"
own=(--save-every 2 --save-total-limit 1)
prepare "$count" "${@:6}"
read -r -a programs < <(names "$count")
run=together$count

events=(greeting\ {1,2,5} step\ {1,4,8} save\ {1,2,4} durable\ {1,2,4} validated\ {1,2,4} result\ 1 end\ 1)
[[ $which != few ]] || events=('greeting 1' 'save 1' 'save 2' 'validated 2' 'durable 2' 'result 1' 'end 1')
# Others may have left when it comes back.
[[ $which != last ]] || events=('durable 4' 'result 1')
killed=0
for event in "${events[@]}"; do
  for victim in "${programs[@]}"; do
    rm -rf "$work/$run".*
    unset running
    declare -A running=()
    for program in "${programs[@]}"; do
      [[ $program != "$victim" ]] || export HONE_TEST_EVENT="$event kill"
      train "$program" "$run"
      unset HONE_TEST_EVENT
      running[$program]=$!
    done
    code=0
    { wait "${running[$victim]}" || code=$?; } 2>/dev/null
    # Some events need not come twice.
    if ((code == 137)); then
      ((++killed))
      train "$victim" "$run"
      running[$victim]=$!
      wait "${running[$victim]}" || fails "$victim" "$run" "$? after $event"
    elif ((code != 0)) || [[ $event != greeting* ]]; then
      fails "$victim" "$run" "$code instead of being killed at $event"
    fi
    for program in "${programs[@]}"; do
      [[ $program == "$victim" ]] || wait "${running[$program]}" ||
        fails "$program" "$run" "$? after $victim at $event"
    done
    same "one$count" "$run" "${programs[@]}"
  done
done
echo "same bits as one program: $count programs, killed at $killed messages"
