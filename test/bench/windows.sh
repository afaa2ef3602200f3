#!/usr/bin/env bash
# windows.sh WINDOWS_PY WORK: a program that bench/windows.py has started ends with
# it, whichever signal that is killed by.
set -euo pipefail
windows=$1 work=$2
mkdir -p "$work"
cat >"$work/train" <<EOF
#!/bin/sh
echo \$\$ >$work/pid.new
mv $work/pid.new $work/pid
exec sleep 600
EOF
chmod +x "$work/train"
# A process that has ended but that nobody has waited for lives no longer.
lives() {
  local state
  state=$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) && [[ $state != Z* ]]
}
for signal in KILL TERM; do
  rm -f "$work/pid"
  python3 "$windows" "$work/train" none "$work/out" --for 1 &
  script=$!
  until [[ -e $work/pid ]]; do
    kill -0 "$script" # else it never comes
    sleep 0.05
  done
  child=$(<"$work/pid")
  kill -s $signal "$script"
  wait "$script" 2>/dev/null || true
  for ((i = 0; i < 200; ++i)); do
    lives "$child" || break
    sleep 0.05
  done
  if lives "$child"; then
    kill -s KILL "$child"
    echo "$signal: its program goes on"
  else
    echo "$signal: its program has ended"
  fi
done
