#!/usr/bin/env bash
# cleanup.sh MODEL.mlir WEIGHTS
#
# A program that serves ends while gRPC's threads still run, so nothing of OpenSSL is cleaned up
# under them.
set -euo pipefail

model=$1 weights=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/programs.sh"
client_and_server
quietly honec "$work/spec.yaml" -o "$work/out"
hone-keys init "$work/keys" >/dev/null
hone-keys issue "$work/keys" server --dns localhost >/dev/null
touch "$work/keys/admitted"
"${CC:-cc}" -std=c11 -O1 -shared -fPIC "$here/CleansUp.c" -o "$work/cleans-up.so"

serve=("$work/out/server/train" --serve "127.0.0.1:$(free_port)" --keys "$work/keys/server"
  --admit "$work/keys/admitted" --timeout 1 --output "$work/run")
code=0
LD_PRELOAD=$work/cleans-up.so "${serve[@]}" >"$work/log" 2>&1 || code=$?
if ((code != 69)) || ! grep -q 'error\[H0816\]' "$work/log" || grep -q 'OpenSSL cleans up' "$work/log"; then
  echo "cleanup: $code" >&2
  cat "$work/log" >&2
  exit 1
fi
echo 'a program that nobody dials: 69, and no cleanup of OpenSSL'
