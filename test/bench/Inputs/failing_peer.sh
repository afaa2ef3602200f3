#!/usr/bin/env bash
# A library that plans 3 MiB for a step, which fails.
[ "$1" != -c ] || exit 0
echo '{"ready": {"executorch": "0"}}'
read -r _
echo '{"seconds": [], "losses": [], "planned": 3145728}'
read -r _
echo '{"failed": "RuntimeError: no kernel"}'
