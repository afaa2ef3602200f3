#!/usr/bin/env bash
# policies.sh WORK DATA HONEC-ARG...: compiles under each policy of residuals, or
# under those that POLICIES names.
# Losses and gradients of an adapter that was trained for a few steps must be
# the same, bit for bit. EMULATOR, if set, is the command that runs programs of
# another machine.
set -euo pipefail
work=$1 data=$2
shift 2
rm -rf "$work"
mkdir -p "$work"
read -ra policies <<<"${POLICIES:-mesp store-h mebp full}"
for policy in "${policies[@]}"; do
  honec "$@" --set train.residuals="$policy" -o "$work/$policy"
  [ -d "$work/run" ] || ${EMULATOR-} "$work/$policy/train" --data "$data" --steps 3 \
    --learning-rate 1e-2 --output "$work/run" >"$work/log" 2>&1
  ${EMULATOR-} "$work/$policy/train" --data "$data" --adapter "$work/run" \
    --dump-gradients "$work/$policy.safetensors" >"$work/log" 2>&1
  cmp "$work/$policies.safetensors" "$work/$policy.safetensors"
done
echo "same bits of ${policies[*]}"
