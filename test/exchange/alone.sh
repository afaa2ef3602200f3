#!/usr/bin/env bash
# alone.sh MODEL.mlir WEIGHTS DATA
#
# One of several programs is killed where a run ends and started again, when
# others have left already, since all have their messages: it ends with 0 and
# the bits of one program.
set -euo pipefail

model=$1 weights=$2 data=$3
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
. "$(dirname "$0")/programs.sh"

# starts PROGRAM RUN [EVENT]: $PROGRAM is it.
starts() {
  [[ -z ${3-} ]] || export HONE_TEST_EVENT=$3
  train "$1" "$2"
  printf -v "$1" %s $!
  unset HONE_TEST_EVENT
}

# ends PROGRAM RUN CODE
ends() {
  local code=0
  { wait "${!1}" || code=$?; } 2>/dev/null
  ((code == $3)) || fails "$1" "$2" "$code instead of $3"
}

# all_start RUN PROGRAM...
all_start() {
  local program
  for program in "${@:2}"; do
    starts "$program" "$1"
  done
}

# all_end CODE RUN PROGRAM...
all_end() {
  local program
  for program in "${@:3}"; do
    ends "$program" "$2" "$1"
  done
}

# A program that waits for another one's beginning has time for that, and one
# that comes back alone has little.
enough=10 little=2

# comes_back_alone EVENT: of two programs the one that leads dies of it, the other one leaves, and the
# one that led ends alone.
comes_back_alone() {
  patience=$enough
  prepare 2
  starts client together2 "$1"
  starts server together2
  ends client together2 137
  ends server together2 0
  patience=$little
  starts client together2
  ends client together2 0
}

# The leader says that the last step is durable everywhere, and dies of it.
steps=8
comes_back_alone 'durable 4 sent'
same one2 together2 client server
echo 'who leads was killed after the last save, and the other one left: 0'

# The same of a run that stops early. Only the leader knows its last step.
head -n 3 "$data" >"$work/held.jsonl"
rm -rf "$work"/one2* "$work"/together2*
steps=40
own=(--save-every 4 --eval-every 3 --eval-data "$work/held.jsonl" --early-stop 2)
both=(--first-learning-rate 3e-1 --last-learning-rate 3e-1)
comes_back_alone 'end 1 kill'
python3 "$here/join.py" "$work/one2.run" "$work/together2.client" "$work/together2.server"
grep -q 'the run has stopped early already' "$work/together2.client.log" ||
  { echo 'alone: the run did not stop early' >&2; exit 1; }
grep -q "all have the result, so this program waits no longer for the program 'server' .*together.known" "$work/together2.client.log" ||
  { echo 'alone: the client does not say that it is alone' >&2; exit 1; }
! grep -E '(speed +0 tokens/s|step +0 s)' "$work"/together2.*.log ||
  { echo 'alone: a rate of nothing' >&2; exit 1; }
echo 'who leads was killed where a run stopped early, and the other one left: 0'
# A follower that has lost its folder comes when the leader has ended again.
mv "$work/together2.server" "$work/lost"
starts client together2
ends client together2 0
starts server together2
ends server together2 69
tail -n 3 "$work/together2.server.log" | grep -q "remove together.known from the folder of the one that leads" ||
  fails server together2 'no word of together.known'
# With that file gone both say that no step is in common.
rm "$work/together2.client/together.known"
patience=$enough
all_start together2 client server
all_end 65 together2 client server
echo 'one that follows has lost its folder: 69, and 65 after who leads has forgotten the end'
patience=$little

# One that may go on longer needs the other one.
own=(--save-every 4 --eval-every 3 --eval-data "$work/held.jsonl" --early-stop 9)
starts client together2
ends client together2 69
echo 'that is to go on longer: 69'

# The last one of three has left, and the one before it has not, when the leader
# comes back. Its --timeout is longer than this test waits.
own=(--save-every 2) both=() steps=8 patience=600
prepare 3
starts client together3 'end 1 sent'
all_start together3 middle server
ends client together3 137
ends server together3 0
runs() { echo timeout 100; }
starts client together3
all_end 0 together3 client middle
same one3 together3 client middle server
echo 'who leads does not wait for one that has left: 0'
# Both of these are killed, and the last one has left.
rm -rf "$work/together3".*
runs() { :; }
starts client together3 'end 1 sent'
all_start together3 middle server
ends client together3 137
ends server together3 0
kill -9 "$middle"
ends middle together3 137
runs() { echo timeout 100; }
all_start together3 client middle
all_end 0 together3 client middle
same one3 together3 client middle server
echo 'nor does one between them: 0'
