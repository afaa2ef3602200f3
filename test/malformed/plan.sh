#!/usr/bin/env bash
# plan.sh DIR SPEC: budgets and profiles that no plan can be made from.
source "$(dirname "$0")/cases.sh"
cd "$1" || exit 1
kept=planned
compile=(honec "$2" --set model=model -o planned)

refuses 'a budget below the smallest plan' H0901 'train.memory_budget' \
  'at least [0-9.]+MiB .* but found 1\.00MiB \(1048576 bytes\)' \
  "${compile[@]}" --memory-budget=1MiB
refuses 'a budget in another unit' H0203 'train.memory_budget' "'45MB'" \
  "${compile[@]}" --memory-budget=45MB
refuses 'a budget without a plan' H0207 'train.memory_budget' \
  'only residuals planned' "${compile[@]}" --set train.memory_budget=45MiB \
  --set train.residuals=mesp
refuses 'a resident budget below the smallest plan' H0901 \
  'train.resident_budget' 'at least [0-9.]+MiB .* but found 1\.00MiB \(1048576 bytes\)' \
  "${compile[@]}" --resident-budget=1MiB
refuses 'planned streaming without a budget' H0207 'weights.streaming' \
  'needs a train.resident_budget' "${compile[@]}" \
  --set weights.streaming=planned
refuses 'a profile that is not there' H1001 'nowhere.json' 'opening it failed' \
  "${compile[@]}" --set target.profile=nowhere.json
echo '{"flops_per_second": 0}' >profile.json
refuses 'a profile with a rate of zero' H0214 'profile.json' \
  "'flops_per_second'" "${compile[@]}" --set target.profile=profile.json
rates='"flops_per_second": 1, "other_flops_per_second": 1, "bytes_per_second": 1, "fills_per_second": 1'
echo "{$rates, \"families\": {\"add f32\": {\"byte\": -1}}}" >profile.json
refuses 'a family with a cost below zero' H0214 'profile.json' \
  "'families.add f32.byte'" "${compile[@]}" --set target.profile=profile.json
echo "{$rates, \"families\": [1]}" >profile.json
refuses 'families that are a list' H0214 'profile.json' \
  "'families'" "${compile[@]}" --set target.profile=profile.json
# An estimate that is not finite is no JSON, which a program holds its plan as.
echo "{${rates/1,/1e-320,}}" >profile.json
refuses 'a rate so small that times are infinite' H0214 'profile.json' \
  "'flops_per_second'.* from 1e-6 to 1e24" "${compile[@]}" --set target.profile=profile.json
echo "{$rates, \"step_seconds\": 1e308}" >profile.json
refuses 'a step of more than a lifetime' H0214 'profile.json' \
  "'step_seconds'.* at most 1e6" "${compile[@]}" --set target.profile=profile.json
echo "{$rates, \"families\": {\"$(printf 'x%.0s' {1..9999})\": 1}}" >profile.json
refuses 'a family whose name fills the file' H0214 'profile.json' \
  "'families.x{71}\.\.\.'" "${compile[@]}" --set target.profile=profile.json
[ ! -e planned ] || { failed=1; echo 'FAILED: planned/ was written'; }
finish
