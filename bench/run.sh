#!/usr/bin/env bash
# run.sh BUILD_DIR [ARGS] - builds the benchmarks and runs them.
# ARGS: see bench.py --help; those of the other programs after
# --memory, --pairs, --cells, --methods, --costs, --predict, --generate, --base,
# --large, --breakdown or --products.
# --no-build: take the programs as they are.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${1:?usage: run.sh BUILD_DIR [ARGS]}
shift
if [ "${1-}" = --no-build ]; then
  shift
else
  cmake --build "$build" --target honec hone-make-model hone_runtime_main \
    hone-bench-peak hone-bench-contract hone-bench-products hone-bench-read
fi
program=bench.py
case ${1-} in
--memory | --pairs | --cells | --methods | --costs | --predict | --generate | \
  --base | --large | --breakdown | --products)
  program=${1#--}.py
  shift
  ;;
esac
exec python3 "$here/$program" --build "$build" "$@"
