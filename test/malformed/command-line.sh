#!/usr/bin/env bash
# command-line.sh DIR: malformed command lines of a training binary.
source "$(dirname "$0")/cases.sh"
cd "$1" || exit 1
kept=kept
once=(--data data.jsonl --output kept)
good=("${once[@]}" --steps 2)

refuses 'an unknown option' H0101 '--stepps' 'no such option' \
  wide/train "${good[@]}" --stepps 3
refuses 'no output' H0102 '--output' 'expect|missing|needs' \
  wide/train --data data.jsonl
refuses 'no data' H0102 '--data' 'expect|missing|needs' wide/train --output kept
refuses 'an option without a value' H0101 '--seed' 'value|expects' \
  wide/train "${good[@]}" --seed
refuses 'a number that is none' H0101 '--steps' "'many'" \
  wide/train "${once[@]}" --steps many
refuses 'a number with a tail' H0101 '--steps' "'2x'" \
  wide/train "${once[@]}" --steps 2x
refuses 'an option twice' H0101 '--steps' 'more than once' \
  wide/train "${good[@]}" --steps 3
refuses 'a negative rate' H0101 '--learning-rate' "'-1'" \
  wide/train "${good[@]}" --learning-rate -1
refuses 'a rate that is not a number' H0101 '--learning-rate' "'nan'" \
  wide/train "${good[@]}" --learning-rate nan
refuses 'too many threads' H0101 '--threads' "'100000'" \
  wide/train "${good[@]}" --threads 100000
refuses 'an unknown schedule' H0101 '--lr-scheduler-type' 'polynomial' \
  wide/train "${good[@]}" --lr-scheduler-type polynomial
refuses 'a word that is no option' H0101 'data.jsonl' 'expect|option' \
  wide/train data.jsonl --output kept
refuses 'an output that is a file' H1005 'config.json' 'Not a directory|folder' \
  wide/train --data data.jsonl --output config.json
refuses 'other options than the run began with' H0801 kept '--seed \(was' \
  wide/train "${good[@]}" --seed 1
finish
