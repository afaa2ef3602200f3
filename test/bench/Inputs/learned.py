"""learned.py BENCH: costs of families, and rates of a whole machine, are those
that made the times."""

import random
import sys

sys.path.append(sys.argv[1])
from family_costs import (ASKED, FamilyCosts, TERMS, least_squares,  # noqa: E402
                          step_seconds)
import machine_profile  # noqa: E402

random.seed(3)
TRUE = {"linear f32 int4": (2e-12, 0, 3e-11, 1e-6), "add f32": (0, 4e-11, 0, 0)}


def op(family, site):
    return {"block": "decoder", "kernel": f"{family.split()[0]} {site}",
            "family": family, "flops": random.randrange(10**6, 10**9),
            "bytes": random.randrange(10**5, 10**7),
            "fills": random.randrange(10**5, 10**7),
            "launches": random.randrange(1, 9)}


def seconds(op):
    return sum(op[asked] * cost
               for asked, cost in zip(ASKED, TRUE[op["family"]]))


costs = FamilyCosts()
for _ in range(3):
    ops = [op(family, site) for family in TRUE for site in ("up", "down")]
    kernels = {("decoder", each["kernel"]): seconds(each) for each in ops}
    # Additional work of a kernel is not its own; a kernel without work takes no
    # time.
    second = {**op("add f32", "gate"), "kernel": "scale gate",
              "family": "scale f32"}
    first = op("linear f32 int4", "gate")
    kernels["decoder", "linear+scale gate"] = seconds(first)
    kernels["update", "sgd"] = 0.25
    total = sum(kernels.values())
    costs.add(ops + [first, second], kernels, total + 0.5)

learned = costs.learn()
for family, true in TRUE.items():
    for term, cost in zip(TERMS, true):
        found = learned[family][term]
        assert abs(found - cost) <= 1e-6 * max(TRUE[family]) + 1e-20, \
            (family, term, found, cost)
assert set(learned["scale f32"].values()) == {0.0}, learned
assert all(abs(beside - 0.75) < 1e-9 for beside in costs.beside), costs.beside
# A step takes the learned time of its ops, and the time beside them.
ops = [op(family, "up") for family in TRUE] + [op("rope f32", "up")]
profile = {"step_seconds": 0.75, "families": learned}
assert abs(step_seconds(profile, ops) - 0.75 - sum(map(seconds, ops[:2]))) < 1e-9
# A term whose best factor is below zero is left out.
fitted = least_squares([((1, 1), 1.0), ((2, 1), 3.0), ((3, 1), 5.0)])
assert fitted[0] > 1 and fitted[1] == 0, fitted


def step(tokens, family, product_rate, per_fill, slower):
    """(plan, seconds) of a machine `slower` than the nominal one."""
    plan = {"kernels": [{"family": family}], "product_flops": tokens * 10**9,
            "flops": tokens * 12 * 10**8, "row_bytes": tokens * 10**6,
            "fill_bytes": 2 * 10**9, "fills": 10**9}
    return plan, slower * (plan["product_flops"] / product_rate
                           + machine_profile.rest_seconds(plan)) \
        + per_fill * plan["fills"]


MEDIUM = "train.float32_matmul_precision=medium"
assert [MEDIUM in keys for _, keys in machine_profile.runs([])] == [False] * 3 + [True]
assert not any(MEDIUM in keys for _, keys in
               machine_profile.runs(["train.compute_dtype=bfloat16"]))
for family, rate in (("linear f32 int4", 4.75e11),
                     ("linear bf16 bfloat16 rounded", 9e11)):
    # Weights that become panels in no time are no sign of a busy machine.
    for per_fill in (0, 2e-11):
        times = [step(tokens, family, rate, per_fill, slower=2)
                 for tokens in (32, 96, 256)]
        rates = machine_profile.rates(times)
        assert abs(rates["flops_per_second"] / (4.75e11 / 2) - 1) < 1e-9, rates
        assert abs(rates["bfloat16_flops_per_second"] / 4.5e11 - 1) < 1e-9, rates
        assert ("fills_per_second" in rates) == (per_fill > 0), rates
        medium = step(256, "linear f32 int4 rounded", 6e11, per_fill, slower=2)
        rates = machine_profile.rates([*times, medium])
        assert abs(rates["bfloat16_flops_per_second"] / 3e11 - 1) < 1e-9, rates
    plan, seconds = times[1]
    times[1] = plan, 2 * seconds  # by others
    try:
        machine_profile.rates(times)
    except RuntimeError as error:
        assert "busy" in str(error), error
    else:
        assert False, "a busy machine was believed"
print("costs are those that made the times")
