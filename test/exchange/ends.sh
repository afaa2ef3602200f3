#!/usr/bin/env bash
# ends.sh MODEL.mlir WEIGHTS DATA all|few
#
# Two programs of which one is silent, is stopped, gets a signal or cannot write: each
# ends in its time, with its exit code, saved; the same commands go on, with the bits of
# one program. So do programs under a clock that is set back and forth.
set -euo pipefail

model=$1 weights=$2 data=$3 which=$4
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
steps=30
own=(--save-every 4)
. "$(dirname "$0")/programs.sh"
prepare 2
run=together2

# go [EVENT]: both, in the background; $client and $server are they, and the event is
# the client's.
go() {
  [[ -z ${1-} ]] || export HONE_TEST_EVENT=$1
  train client $run
  client=$!
  unset HONE_TEST_EVENT
  train server $run
  server=$!
}

# begin [EVENT]: the same of a new run.
begin() {
  rm -rf "$work/$run".*
  go "$@"
}

# reaches STEP: waits until the client has made it.
reaches() {
  until [[ $(cat "$work/$run.client/steps.jsonl" 2>/dev/null | wc -l) -ge $1 ]]; do
    kill -0 $client 2>/dev/null || fails client $run "its end before step $1"
    sleep 0.02
  done
}

# ends PROGRAM CODE [TEXT]: with that exit code, having said that.
ends() {
  local code=0 program=$1
  { wait "${!program}" || code=$?; } 2>/dev/null
  ((code == $2)) || fails "$program" $run "$code instead of $2"
  [[ -z ${3-} ]] || grep -q -e "$3" "$work/$run.$program.log" ||
    fails "$program" $run "$code, and not '$3'"
}

# resumes WHAT: the same commands go on, and end with the bits of one program.
resumes() {
  patience=20
  go
  ends client 0
  ends server 0
  same one2 $run client server
  echo "$1"
}

saved='saved after step .*; the same command resumes'
patience=2
begin 'step 9 mute'
ends client 69 "$saved"
ends server 69 "$saved"
grep -q 'error\[H0816\].*within 2000 ms' "$work/$run.server.log"
resumes 'a program that is alive and says nothing: 69'

patience=20
begin 'step 9 excess'
ends client 76 "error\[H0818\].*'server'.*refuses this one.s message"
train client $run
client=$!
ends client 0
ends server 0
grep -q 'it sent a message that does not fit: a frame' "$work/$run.server.log"
same one2 $run client server
echo 'a program that sends what no schedule has: 76, and the server lives on'

alone='a program gave no sign at the end; all have saved the last step'
# Its answer to the end may be lost, since the leader is gone then.
patience=2
begin 'end 1 unheard'
ends client 0
ends server 0 "$alone"
same one2 $run client server
echo 'an answer to the end that nobody acknowledges: 0'

# Without an end: a program that has the mark has the result.
begin 'result 1 mute'
ends client 0 "$alone"
ends server 0 "$alone"
same one2 $run client server
echo 'a result of which nobody is told: 0'

begin 'end 1 kill'
ends client 137
ends server 0 "$alone"
same one2 $run client server
echo 'a leader that is killed before the end, for good: 0'

patience=20
begin 'end 1 excess'
ends client 76 "error\[H0818\].*'server'.*refuses this one.s message"
train client $run
client=$!
ends client 0
ends server 0
same one2 $run client server
echo 'an end that no schedule has: 76'

# To another one that does not lead.
prepare 3
export HONE_TEST_EVENT='to-server 30 excess'
patience=20
train middle together3
middle=$!
unset HONE_TEST_EVENT
for program in client server; do
  train $program together3
  printf -v $program %s $!
done
run=together3
ends middle 76 "error\[H0818\].*'server'.*refuses this one.s message"
train middle $run
middle=$!
for program in client middle server; do
  ends $program 0
done
grep -q 'it sent a message that does not fit: a frame' "$work/$run.server.log"
same one3 $run client middle server
run=together2
echo 'one that sends it to another that follows: 76, and both others live on'

patience=5
begin
reaches 6
kill -STOP $server
ends client 69 "$saved"
kill -CONT $server
ends server 69 "$saved"
resumes 'a program that is stopped: 69'

for program in client server; do
  begin
  reaches 6
  kill -TERM "${!program}"
  ends $program 143
  train $program $run
  printf -v $program %s $!
  ends client 0
  ends server 0
  same one2 $run client server
  echo "SIGTERM at the $program: 143, and the other one waited for it"
done

for program in client server; do
  patience=5
  rm -rf "$work/$run".*
  for each in client server; do
    # Of the log's lines, in units of 1024 bytes.
    if [[ $each == "$program" ]]; then
      (ulimit -f 5 && train $each $run && wait $!) &
    else
      train $each $run
    fi
    printf -v $each %s $!
  done
  for each in client server; do
    [[ $each == "$program" ]] && ends $each 74 'error\[H' || ends $each 69 'saved after step\|error\[H0816'
  done
  resumes "a $program that cannot write: 74, the other one 69"
done
[[ $which == all ]] || exit 0

cat >"$work/clock.c" <<'C'
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long jump(void) { static unsigned calls; return (calls++ * 2654435761u >> 8) % 200000 - 100000; }
int clock_gettime(clockid_t clock, struct timespec *at) {
  int result = (int)syscall(SYS_clock_gettime, clock, at);
  if (clock == CLOCK_REALTIME) at->tv_sec += jump();
  return result;
}
time_t time(time_t *out) { struct timespec at; clock_gettime(CLOCK_REALTIME, &at); if (out) *out = at.tv_sec; return at.tv_sec; }
int gettimeofday(struct timeval *at, void *zone) {
  struct timespec now; clock_gettime(CLOCK_REALTIME, &now);
  at->tv_sec = now.tv_sec; at->tv_usec = now.tv_nsec / 1000; (void)zone; return 0;
}
C
cc -shared -fPIC -o "$work/clock.so" "$work/clock.c"
rm -rf "$work/$run".*
export LD_PRELOAD=$work/clock.so
begin
unset LD_PRELOAD
ends client 0
ends server 0
same one2 $run client server
echo 'a clock that is set by hours: the same bits'
