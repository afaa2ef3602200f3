#!/usr/bin/env bash
# linked.sh MODEL.mlir WEIGHTS DATA [ZIG TRIPLE]
#
# Static programs, which can load nothing, are linked with an engine, by a linker that is
# given its object, too: they have the bits of one program that trains alone. Another
# engine is refused by name.
set -euo pipefail

model=$1 weights=$2 data=$3 zig=${4-}
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
steps=6
. "$(dirname "$0")/programs.sh"
# honec tells zig by its name, and says to it for which machine it links.
compiler=(c++) links='c++ -static' name=link target=()
if [[ -n $zig ]]; then
  compiler=("$zig" c++ -target "$5") links="'$zig'" name=zig-link target=(--target="$5")
fi
"${compiler[@]}" -std=c++17 -O1 -c -I "$here/../../runtime/include" -I "$here/../../runtime/src" \
  "$here/TestEngine.cpp" -o "$work/engine.o"
cat >"$work/$name" <<LINK
#!/bin/sh
exec $links "\$@" '$work/engine.o'
LINK
chmod +x "$work/$name"
start_engine() { :; }
bring() { :; }
prepare 2 --linker="$work/$name" "${target[@]}"
for program in client server; do
  ! readelf -lW "$work/together2/$program/train" | grep -E 'INTERP|DYNAMIC' ||
    { echo "linked: $program is not static" >&2; exit 1; }
  train $program together2
done
for program in %1 %2; do
  wait $program || fails $program together2 $?
done
same one2 together2 client server
echo 'same bits as one program: static programs with an engine'

status=0
"$work/together2/client/train" --data "$data" --exchange other --output "$work/none" >"$work/log" 2>&1 || status=$?
((status == 66)) && grep -q 'H0823.*hone-exchange-other.so: there is no such engine' "$work/log" ||
  { echo "linked: $status of another engine" >&2; cat "$work/log" >&2; exit 1; }
[[ ! -e $work/none ]]
echo 'another engine: 66'
