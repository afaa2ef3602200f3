"""learned.py BENCH: costs of families are those that made the times."""

import random
import sys

sys.path.append(sys.argv[1])
from family_costs import ASKED, FamilyCosts, TERMS, least_squares  # noqa: E402

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
    # What a kernel computes besides is none of its own; what has none takes no time.
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
# A term whose best factor is below zero is left out.
fitted = least_squares([((1, 1), 1.0), ((2, 1), 3.0), ((3, 1), 5.0)])
assert fitted[0] > 1 and fitted[1] == 0, fitted
print("costs are those that made the times")
