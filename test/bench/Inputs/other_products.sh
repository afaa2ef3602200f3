#!/usr/bin/env bash
# A library that multiplies nothing: stands for an interpreter that has one.
[ "$1" != -c ] || exit 0
echo '{"ready": {"torch": "0"}}'
while read -r _; do
  echo '{"seconds": 1, "samples": [0, 0, 0, 0, 0, 0, 0, 0]}'
done
