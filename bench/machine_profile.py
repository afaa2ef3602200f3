"""Rates of this machine for `residuals: planned`, as a file for target.profile.

A step takes, by the compiler's estimate, a time for its operations and bytes
and a time for the weights that it makes panels of. Short sequences are mostly
the second, long ones mostly the first: two programs give both rates, and a
third that of products of bfloat16 operands. How products, other operations and
bytes stand to each other stays nominal (passes/plan/CostEstimate.h).
"""

import json
import statistics

from hone_program import HoneProgram
from workload import Workload

# As in passes/plan/CostEstimate.h.
NOMINAL_FLOPS, NOMINAL_OTHER_FLOPS, NOMINAL_BYTES = 4.75e11, 2.1e11, 6e10
FLOAT32 = ["train.residuals=mesp", "weights.dtype=int4"]
BFLOAT16 = FLOAT32 + ["train.float32_matmul_precision=medium"]
RUNS = (32, FLOAT32), (256, FLOAT32), (256, BFLOAT16)


def solve(first, second):
    """The factors of work and fills from two (work, fills, seconds)."""
    (w1, f1, t1), (w2, f2, t2) = first, second
    determinant = w1 * f2 - w2 * f1
    return ((t1 * f2 - t2 * f1) / determinant,
            (w1 * t2 - w2 * t1) / determinant)


def rest_seconds(plan):
    """Of all but products and fills, at the nominal rates."""
    return ((plan["flops"] - plan["product_flops"]) / NOMINAL_OTHER_FLOPS
            + (plan["row_bytes"] + plan["fill_bytes"]) / NOMINAL_BYTES)


def compile_program(config, bin_dir, folder, sequence, keys, steps):
    """The program and its data; None if the target has no such products."""
    workload = Workload(config, sequence, steps=steps)
    where = folder / f"profile-{sequence}-{len(keys)}"
    where.mkdir(parents=True, exist_ok=True)
    model, data = folder / "profile-model", where / "data.jsonl"
    model.mkdir(exist_ok=True)
    workload.make_model(bin_dir, model)
    workload.make_data(data)
    program = HoneProgram(workload, bin_dir, where, keys)
    try:
        program.compile(model)
    except RuntimeError as error:
        if "medium needs bfloat16" in str(error):
            return None
        raise
    return program, data


def measure(config, bin_dir, folder, threads, repetitions, steps, probe):
    """The object of a machine profile; RuntimeError if the machine was busy."""
    compiled = [compile_program(config, bin_dir, folder, *run, steps)
                for run in RUNS]
    programs = [(program, program.contestant(threads), data)
                for program, data in filter(None, compiled)]
    for _ in range(repetitions):
        for program, contestant, data in programs:
            program.run(contestant, data, probe)
    times = [(program.plan,
              statistics.median(r.seconds for r in contestant.repetitions))
             for program, contestant, _ in programs]
    slower, per_fill = solve(*(
        (plan["product_flops"] / NOMINAL_FLOPS + rest_seconds(plan),
         plan["fills"], seconds) for plan, seconds in times[:2]))
    profile = {"flops_per_second": NOMINAL_FLOPS / slower,
               "other_flops_per_second": NOMINAL_OTHER_FLOPS / slower,
               "bytes_per_second": NOMINAL_BYTES / slower,
               "fills_per_second": 1 / per_fill}
    for plan, seconds in times[2:]:
        products = (seconds - slower * rest_seconds(plan)
                    - per_fill * plan["fills"])
        profile["bfloat16_flops_per_second"] = plan["product_flops"] / products
    if min(slower, per_fill, *profile.values()) <= 0:
        raise RuntimeError("the times do not fit together: the machine was "
                           "busy; try again, or with more --repetitions")
    return profile


def write(profile, path):
    path.write_text(json.dumps(profile, indent=1) + "\n")
    print(f"written: {path}; name it in a spec as target: {{profile: ...}}")
