#!/usr/bin/env bash
# A library that fails at the first product.
[ "$1" != -c ] || exit 0
echo '{"ready": {"torch": "0"}}'
read -r _
echo '{"failed": "RuntimeError: no memory"}'
