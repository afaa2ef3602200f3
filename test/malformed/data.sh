#!/usr/bin/env bash
# data.sh DIR: malformed --data files. DIR is from prepare.sh.
source "$(dirname "$0")/cases.sh"
cd "$1" || exit 1
kept=kept
mkdir -p data

# bad NAME CODE FILE PLACE FINDING [PROGRAM]: the file is data/FILE, from stdin.
bad() {
  cat >"data/$3"
  refuses "$1" "$2" "data/$3$4" "$5" \
    "${6-wide}/train" --data "data/$3" --output kept
  # An output folder that is new is not left behind.
  rm -rf fresh
  "${6-wide}/train" --data "data/$3" --output fresh >/dev/null 2>&1
  [ ! -e fresh ] || { failed=$((failed + 1)) && echo "FAILED $1: left fresh"; }
}

bad 'an empty file' H0601 x.jsonl '' 'the file is empty' </dev/null
bad 'white space only' H0601 x.jsonl '' 'the file is empty' <<<$'  \n\n\t'
bad 'JSON that is not UTF-8' H0603 x.jsonl ':2' 'UTF-8' \
  < <(printf '{"text": "ok"}\n{"text": "\xff"}\n')
bad 'text that is not UTF-8' H0602 x.txt ':1' 'UTF-8' \
  < <(printf 'plain \xc3\x28 text\n')
bad 'a surrogate in UTF-8' H0603 x.jsonl ':1' 'UTF-8' \
  < <(printf '{"text": "a\xed\xa0\x80"}\n')
bad 'half a line of JSON' H0603 x.jsonl ':2' 'expected' <<<$'{"text": "a"}\n{"text": "b'
bad 'not JSON' H0603 x.jsonl ':1' 'expected' <<<'hello'
bad 'an array for a line' H0603 x.jsonl ':1' 'expected' <<<'[1, 2]'
bad 'something after the object' H0603 x.jsonl ':1' 'expected' <<<'{"text": "a"} 1'
bad 'a number for a text' H0603 x.jsonl ':1' 'expected a string' <<<'{"text": 1}'
bad 'null for a text' H0603 x.jsonl ':1' 'expected a string' <<<'{"text": null}'
bad 'a text for ids' H0603 x.jsonl ':1' 'expected an array' <<<'{"input_ids": "1 2"}'
bad 'a fraction for an id' H0605 x.jsonl ':1' 'token id from 0 to 299' \
  <<<'{"input_ids": [1, 2.5]}'
bad 'an id beyond the vocabulary' H0605 x.jsonl ':2' \
  'token id from 0 to 299 but found 300' \
  <<<$'{"input_ids": [1, 299]}\n{"input_ids": [1, 300]}'
bad 'a negative id' H0605 x.jsonl ':1' 'token id from 0 to 299 but found -1' \
  <<<'{"input_ids": [1, -1]}'
bad 'an id of 2^32 + 1' H0605 x.jsonl ':1' 'found 4294967297' \
  <<<'{"input_ids": [1, 4294967297]}'
bad 'a label beyond the vocabulary' H0605 x.jsonl ':1' '"labels".* but found 300' \
  <<<'{"input_ids": [1, 2], "labels": [1, 300]}'
bad 'a label of -1' H0605 x.jsonl ':1' 'or -100 but found -1' \
  <<<'{"input_ids": [1, 2], "labels": [1, -1]}'
bad 'labels of another length' H0603 x.jsonl ':1' 'as many "labels".* 3, but found 2' \
  <<<'{"input_ids": [1, 2, 3], "labels": [1, 2]}'
bad 'a mask with padding' H0603 x.jsonl ':1' 'attention_mask.* all 1' \
  <<<'{"input_ids": [1, 2], "attention_mask": [1, 0]}'
bad 'a sample without ids' H0603 x.jsonl ':1' '"input_ids" is empty' \
  <<<'{"input_ids": []}'
bad 'a completion without text' H0603 x.jsonl ':1' '"completion" is empty' \
  <<<'{"prompt": "a", "completion": ""}'
bad 'a prompt without a completion' H0604 x.jsonl ':1' 'found "prompt"' \
  <<<'{"prompt": "a"}'
bad 'two formats in a line' H0604 x.jsonl ':1' 'one data format' \
  <<<'{"text": "a", "input_ids": [1]}'
bad 'a later line of another shape' H0604 x.jsonl ':3' 'as in the first line' \
  <<<$'{"text": "a"}\n{"text": "b"}\n{"input_ids": [1, 2]}'
bad 'a key twice' H0603 x.jsonl ':1' 'twice' <<<'{"text": "a", "text": "b"}'
bad 'unknown keys only' H0604 x.jsonl ':1' 'found none of these keys' \
  <<<'{"content": "a"}'
bad 'samples that are all too long' H0607 x.jsonl '' 'longer' \
  <<<"{\"input_ids\": [$(seq -s, 1 65)]}"
bad 'samples without a target' H0607 x.jsonl '' 'target' \
  <<<'{"input_ids": [1, 2], "labels": [-100, -100]}'
bad 'a rejected answer' H0615 x.jsonl ':1:30' '"rejected"' \
  <<<'{"text": "abc", "rejected":  "b"}'
bad 'arrays nested deeply' H0603 x.jsonl ':1' 'expected' \
  < <(python3 -c 'print("{\"text\": " + "[" * 100000)')
bad 'text without a tokenizer' H0506 x.jsonl '' 'without a tokenizer' narrow \
  <<<'{"text": "a"}'

refuses 'no such file' H1001 none.jsonl 'No such file' \
  wide/train --data none.jsonl --output kept
refuses 'a folder' H1001 'model' 'folder|directory' \
  wide/train --data model --output kept
finish
