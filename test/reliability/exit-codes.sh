#!/usr/bin/env bash
# exit-codes.sh TRAIN DIR
#
# Prints the message and the exit code of each thing that can be wrong with a
# command line. DIR has weights.hone.safetensors and data.jsonl.
set -uo pipefail

train=$1
cd "$2" || exit 1
weights=(--weights weights.hone.safetensors)
good=("${weights[@]}" --data data.jsonl --output run)

expect() { # expect WHAT [options of TRAIN]
  echo "# $1"
  shift
  "$train" "$@" 2>&1 >/dev/null
  echo "exit code $?"
}

expect 'unknown option' "${good[@]}" --lerning-rate 1
expect 'value out of range' "${good[@]}" --threads -1
(ulimit -s 128 && expect 'a small stack' "${good[@]}")
expect 'no data file' "${weights[@]}" --output run --data missing.jsonl
expect 'no weights' --data data.jsonl --output run --weights missing.safetensors
expect 'no weights beside the program' --data data.jsonl --output run
expect 'no adapter' "${good[@]}" --adapter missing
expect 'output is a file' "${weights[@]}" --data data.jsonl --output data.jsonl
cp data.jsonl notes.jsonl
expect 'log is not a log' "${good[@]}" --log notes.jsonl
expect 'log is the data' "${good[@]}" --log data.jsonl
expect 'log in no folder' "${good[@]}" --log missing/log.jsonl

echo 'keep me' >kept
expect 'dump into no folder' "${good[@]}" --dump-gradients missing/file
expect 'weights are no safetensors' --data data.jsonl --output run --weights kept
expect 'data without a tokenizer' "${weights[@]}" --output run --data kept
echo '{"input_ids": [1, 99]}' >range.jsonl
expect 'token beyond the vocabulary' "${weights[@]}" --output run --data range.jsonl

expect 'a good run' "${good[@]}" --steps 2
expect 'other options' "${good[@]}" --steps 2 --seed 1
cp data.jsonl other.jsonl && echo '{"input_ids": [1, 2]}' >>other.jsonl
expect 'other data' "${weights[@]}" --output run --steps 2 --data other.jsonl
# As a run that was killed is on a busy machine, until the system has ended it.
flock run/lock sleep 1 & sleep 0.3
expect 'folder of a run that ends' "${good[@]}" --steps 2
wait
exec 9<run/lock && flock 9
expect 'folder in use' "${good[@]}" --steps 2
