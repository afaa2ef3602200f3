# memory-group.sh: sourced. A control group of memory, of the first or the second version, as root.

# memory_group BYTES: $group, whose programs have so much memory together, and no swap. 1: there is none.
memory_group() {
  local limit=memory.max swap=memory.swap.max none=0
  group=/sys/fs/cgroup/hone-test-$$ events=memory.events
  if [[ -d /sys/fs/cgroup/memory ]]; then
    group=/sys/fs/cgroup/memory/hone-test-$$ events=memory.oom_control
    limit=memory.limit_in_bytes swap=memory.swappiness
  fi
  { mkdir "$group" && echo "$1" >"$group/$limit"; } 2>/dev/null || { leave_group && return 1; }
  { echo $none >"$group/$swap"; } 2>/dev/null || true
}

# leave_group: once its programs have ended.
leave_group() {
  for _ in {1..20}; do
    rmdir "$group" 2>/dev/null && return
    [[ -e $group ]] || return 0
    sleep 0.05 # one that was killed is there until its parent has heard of it
  done
}

# killed: how many programs the kernel has killed there since it was asked for memory that there was not.
killed() { awk '$1 == "oom_kill" {print $2}' "$group/$events"; }

# in_group FILE: a command that starts another one there, to be killed before all others.
in_group() {
  printf '#!/bin/sh\necho $$ >%s/cgroup.procs\necho 1000 >/proc/$$/oom_score_adj\nexec "$@"\n' "$group" >"$1"
  chmod +x "$1"
}

# fills: takes memory there until the kernel has killed a program for it.
fills() {
  python3 - "$group" "$events" <<'PY' || (($? == 137)) # it may be killed, too, while memory is given back
import os, sys
group, events = sys.argv[1:]
def killed():
    with open(f"{group}/{events}") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
before = killed()
with open(f"{group}/cgroup.procs", "w") as programs:
    programs.write(str(os.getpid()))
taken = []
for _ in range(2048):  # twice what the group may have
    if killed() != before:
        break
    taken.append(b"x" * (1 << 18))
PY
}
