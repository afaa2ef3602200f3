#!/usr/bin/env bash
# honec-ends.sh MODEL SPEC
#
# However honec is stopped, its exit code is a documented one, the output folder
# has all files of this run or none, and those of an earlier run are whole.
# Signals at moments all over a run and at each renaming, limits on file size and
# open files, no folder of temporary files, a linker that writes nothing, a full
# and a closed standard output, a closed pipe, threads that are refused.
set -euo pipefail

model=$1 spec=$2
here=$(dirname "${BASH_SOURCE[0]}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tmp"
for preloaded in CountListings RefuseThreads SignalAtRename; do
  "${CC:-cc}" -shared -fPIC -O1 "$here/$preloaded.c" -o "$work/$preloaded.so"
done

honec() {
  TMPDIR=${temporary:-$work/tmp} exec honec "$spec" --set model="$model" \
    --set train.residuals=mesp --set lora.target_modules='[q_proj]' \
    --set target=x86-64-v2 "$@" # the least to compile
}
fail() {
  echo "honec-ends: $1" >&2
  tail -n 5 "$work/err" >&2
  ls -RA "$work" >&2
  exit 1
}
# expect WHAT CODES [honec-ARG...]: with standard output to $out
out=$work/printed
expect() {
  local what=$1 codes=$2 status=0
  shift 2
  (honec "$@") >"$out" 2>"$work/err" || status=$?
  ends "$what" "$status" "$codes"
}
ends() { # ends WHAT STATUS CODES
  [[ " $3 " == *" $2 "* ]] || fail "$1: exit code $2, expects $3"
  ! grep -q 'Stack dump\|LLVM ERROR' "$work/err" ||
    fail "$1: ends as a bug"
  (($2 == 0 || $2 >= 128)) || grep -q '^error\[H' "$work/err" ||
    fail "$1: no message"
  [[ -z $(ls -A "$work/tmp") ]] || fail "$1: temporary files are left"
  [[ -z $(find "$work" -name '*.tmp-*' -o -name '*.old-*') ]] ||
    fail "$1: half-written files are left"
}
outputs() { # outputs FOLDER
  (cd "$1" && sha256sum train weights.hone.safetensors)
}
whole() { # whole WHAT: what a run made in `new` is all there, if any of it is
  [[ -z $(ls -A "$work/new" 2>/dev/null) || $(outputs "$work/new") == "$kept" ]] ||
    fail "$1: not all files of the run"
  [[ $(outputs "$work/kept") == "$kept" ]] || fail "$1: the files before are lost"
  rm -rf "$work/new"
}

started=$(date +%s%N)
expect 'a first run' 0 -o "$work/kept"
milliseconds=$((($(date +%s%N) - started) / 1000000))
kept=$(outputs "$work/kept")

signals=(HUP INT TERM QUIT XCPU TERM INT TERM)
stopped=0
for i in "${!signals[@]}"; do
  signal=${signals[i]} status=0
  output=$([[ $((i % 2)) == 0 ]] && echo "$work/new" || echo "$work/kept")
  (honec -o "$output") >"$out" 2>"$work/err" &
  pid=$!
  # Most of them at the end, where files are written.
  wait_ms=$((i < 2 ? milliseconds * (i + 1) / 4
    : milliseconds * (50 + 6 * i) / 100))
  sleep "$(printf '%d.%03d' $((wait_ms / 1000)) $((wait_ms % 1000)))"
  kill "-$signal" "$pid" 2>/dev/null || true
  wait "$pid" || status=$?
  ends "SIG$signal after $wait_ms ms" "$status" \
    "0 $((128 + $(kill -l "$signal")))"
  if ((status == 0)); then
    milliseconds=$wait_ms # at most: the machine has less to do than before
  else
    stopped=$((stopped + 1))
  fi
  whole "SIG$signal after $wait_ms ms"
done
((stopped > 2)) || fail "only $stopped runs were stopped"

# Weights, an object and a program are renamed, then both files together; where
# they replace others, these are moved aside before.
renamings=(new:5 kept:7)
for folder in new kept; do
  for ((at = 1; ; ++at)); do
    status=0
    (export LD_PRELOAD=$work/SignalAtRename.so HONE_RENAME=$at
      honec -o "$work/$folder") >"$out" 2>"$work/err" || status=$?
    ends "SIGTERM at renaming $at, $folder" "$status" '0 143'
    ((status != 0)) || break
    whole "SIGTERM at renaming $at, $folder"
  done
  [[ " ${renamings[*]} " == *" $folder:$((at - 1)) "* ]] ||
    fail "SIGTERM at $((at - 1)) renamings, $folder"
  whole "no signal, $folder"
done

# Of two at once the second waits until the first, which has renamed weights and
# no program yet, has ended: all files that stay are the second's.
(export LD_PRELOAD=$work/SignalAtRename.so HONE_RENAME=5 HONE_SIGNAL=$(kill -l STOP)
  honec -o "$work/kept" --set weights.dtype=bfloat16) >"$out" 2>"$work/err" &
first=$!
halted() { grep -q "^State:.*stopped" "/proc/$1/status" 2>/dev/null; }
until halted "$first" || ! kill -0 "$first" 2>/dev/null; do
  sleep 0.1
done
(honec -o "$work/kept") >"$work/second" 2>"$work/note" &
second=$!
until grep -q 'kept is being written by another honec' "$work/note" ||
  ! kill -0 "$second" 2>/dev/null; do
  sleep 0.1
done
kill -CONT "$first"
wait "$first" || fail 'the first of two at once'
wait "$second" || fail 'the second of two at once'
whole 'two at once'

# One that SIGKILL ended long ago has left a file; others may still be written.
ended=$(bash -c 'echo $$')
for process in "$$" "$ended"; do
  touch -d '2 minutes ago' "$work/kept/train.tmp-$process"
done
touch "$work/kept/weights.hone.safetensors.tmp-$ended"
touch -d '2 minutes ago' "$work/kept/train.old-$ended"
abandoned() { ls "$work/kept" | grep -E '[.](tmp|old)-' | xargs; }
(export LD_PRELOAD=$work/CountListings.so HONE_LISTED=$work/kept HONE_LISTINGS=$work/listings
  honec -o "$work/kept") >"$out" 2>"$work/err" || fail 'after others: an error'
[[ $(abandoned) == "train.tmp-$$ weights.hone.safetensors.tmp-$ended" ]] ||
  fail "temporaries of others: $(abandoned)"
rm "$work/kept/"*.tmp-*
# Once for all names of honec's, once where the weights are written.
[[ $(wc -l <"$work/listings") == 2 ]] ||
  fail "the folder was listed $(wc -l <"$work/listings") times"

limits=(1 20 400) # KiB: twice too few for the weights, then for the program
for kib in "${limits[@]}"; do
  status=0
  (ulimit -f "$kib" && honec -o "$work/new") >"$out" 2>"$work/err" || status=$?
  ends "$kib KiB a file" "$status" '73 74'
  [[ ! -e $work/new ]] || fail "$kib KiB a file: the folder is left"
done
for emit in mlir object; do
  status=0
  (ulimit -f 20 && honec --emit=$emit -o "$work/file") >"$out" \
    2>"$work/err" || status=$?
  ends "20 KiB of --emit=$emit" "$status" '73 74'
  [[ ! -e $work/file ]] || fail "20 KiB of --emit=$emit: half a file is left"
done

# A linker opens more than five files, and honec the folder and one at a time.
status=0
(ulimit -n 5 && honec -o "$work/new") >"$out" 2>"$work/err" || status=$?
ends 'five open files' "$status" 73
says() { # says WHAT ERROR HELP: by regular expressions
  grep -q "^error\[$2" "$work/err" && grep -q "^  help: .*$3" "$work/err" ||
    fail "$1: no word of it"
  [[ ! -e $work/new ]] || fail "$1: the folder is left"
}
says 'five open files' "H1104\]: $work/new/train: .*" 'ulimit -f, -n'

temporary=$work/none
for arguments in "-o $work/new" --self-check; do
  expect "no folder of temporary files, $arguments" 73 $arguments
  says "no folder of temporary files, $arguments" \
    "H1005\]: $work/none: an object file cannot be written there" TMPDIR
done
temporary=

# One that ends well leaves no file, or an empty one.
for instead in rm 'truncate -s 0'; do
  printf '#!/bin/sh\n[ "$1" != -o ] || %s "$2"\n' "$instead" >"$work/linker"
  chmod +x "$work/linker"
  expect "$instead for a linker" 73 --linker="$work/linker" -o "$work/new"
  says "$instead for a linker" \
    "H1104\]: $work/new/train: .*'$work/linker' ended well but wrote nothing" --linker
done

status=0
(honec --self-check) >"$out" 2>"$work/err" &
pid=$!
sleep 1
kill -TERM "$pid" 2>/dev/null || true
wait "$pid" || status=$?
ends 'SIGTERM in a self-check' "$status" '0 143'
status=0
(ulimit -f 20 && honec --self-check) >"$out" 2>"$work/err" || status=$?
ends '20 KiB of a self-check' "$status" 73

status=0
(export LD_PRELOAD=$work/RefuseThreads.so HONE_THREADS=0; honec -o "$work/new") >"$out" 2>"$work/err" || status=$?
ends 'no threads' "$status" 71
[[ ! -e $work/new ]] || fail 'no threads: the folder is left'

out=/dev/full
expect 'a full standard output' 74 --stop-after=import
expect '--help to a full standard output' 74 --help
status=0
"$work/kept/train" --help >"$out" 2>"$work/err" || status=$?
ends "a program's --help to a full standard output" "$status" 74
expect 'a device to be replaced' 73 --emit=mlir -o /dev/full
[[ -c /dev/full ]] || fail "the device was replaced"
status=0
(honec --stop-after=import >&- 2>"$work/err") || status=$?
ends 'a closed standard output' "$status" 0
status=0
{
  (honec --stop-after=import) 2>"$work/err" || status=$?
  echo "$status" >"$work/status"
} | head -n 1 >"$work/head"
ends 'a closed pipe' "$(<"$work/status")" 0
status=0
(honec -o "$work/closed" >&- 2>&- <&-) || status=$?
ends 'no standard descriptors' "$status" 0
cmp "$work"/{closed,kept}/weights.hone.safetensors ||
  fail "no standard descriptors: other weights"
echo "honec-ends: $stopped of ${#signals[@]} signals stopped it," \
  "${#limits[@]} limits on file size, standard output full, closed, a pipe"
