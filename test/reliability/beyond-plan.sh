#!/usr/bin/env bash
# beyond-plan.sh TRAIN DATA [options of TRAIN ...]
#
# A run that takes more memory than planned writes all its results, then says
# so, names the library that did it, and ends with 3. The system's rounded
# figure alone is not believed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
train=$1 data=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -shared -fPIC -O1 -o "$work/libtake.so" "$here/TakeMemory.c"

run() { # run [VARIABLE=VALUE...] -- [options of TRAIN]
  local variables=() code=0
  while [[ $1 != -- ]]; do variables+=("$1") && shift; done
  env "${variables[@]}" LD_PRELOAD="$work/libtake.so" "$train" "${@:2}" \
    >"$work/out" 2>"$work/error" || code=$?
  echo "exit code $code"
  sed "s|$work|WORK|" "$work/error"
}

trained() { # trained OUTPUT: the options of a run
  echo --data "$data" --output "$work/$1" --steps 3
}

echo '# nothing taken'
run -- $(trained plain) "$@"
echo '# 64 MiB taken'
run HONE_TAKE=67108864 -- $(trained more) "$@"
grep -c '^peak .* planned' "$work/out"
[[ -s $work/more/report.html ]] || echo 'no report'
for file in adapter_model.safetensors adapter_config.json \
  checkpoint-000003/state.safetensors; do
  cmp "$work/plain/$file" "$work/more/$file"
done
echo '# evaluated'
run HONE_TAKE=67108864 -- --eval-only --eval-data "$data" \
  --adapter "$work/plain" "$@"
echo '# 9 GiB said by a rounded figure'
run HONE_CLAIM=1 -- $(trained claimed) "$@"
grep -o '^peak .*planned' "$work/out"
echo '# resumed'
run -- $(trained more) "$@"
