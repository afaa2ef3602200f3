"""Costs of this machine for `residuals: planned`, as a file for target.profile.

Programs of three lengths, and one with products of bfloat16 operands, run with
--profile. Costs of families of kernels are learned from what their kernels took
(family_costs.py). For families that no program has there are rates of the whole
machine besides: a step takes a time for its operations and bytes and a time for
the weights that it makes panels of. Short sequences are mostly the second, long
ones mostly the first. How products, other operations and bytes stand to each
other stays nominal there (passes/plan/MachineProfile.h).
"""

import json
import statistics

import disk_rate
from family_costs import FamilyCosts
from hone_program import HoneProgram
from workload import Workload

# As in passes/plan/MachineProfile.h.
NOMINAL_FLOPS, NOMINAL_OTHER_FLOPS, NOMINAL_BYTES = 4.75e11, 2.1e11, 6e10
RESIDUALS = ["train.residuals=mesp"]
BFLOAT16 = RESIDUALS + ["train.float32_matmul_precision=medium"]
LONGEST = 256
# Parts of that length; and the keys.
RUNS = (1 / 8, RESIDUALS), (3 / 8, RESIDUALS), (1, RESIDUALS), (1, BFLOAT16)
STORED = ["weights.dtype=int4"]


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
    where = folder / f"profile-{sequence}"
    where.mkdir(parents=True, exist_ok=True)
    model, data = folder / "profile-model", where / "data.jsonl"
    workload.make_config(model)
    workload.make_data(data)
    program = HoneProgram(workload, bin_dir, where, keys)
    try:
        program.compile_for_drawn(model, folder)
    except RuntimeError as error:
        if "medium needs bfloat16" in str(error):
            return None
        raise
    return program, data


def profile_step(program, threads, data, repetitions):
    """Seconds of one step, and of each of its kernels: those of a long run less
    those of a short one, so that the first step counts for nothing."""
    steps = program.workload.steps
    kernels, totals = {}, []
    for _ in range(repetitions):
        short = program.kernel_seconds(threads, data, 1)
        long = program.kernel_seconds(threads, data, steps + 1)
        totals.append((long[1] - short[1]) / steps)
        for key, seconds in long[0].items():
            kernels.setdefault(key, []).append(
                max(seconds - short[0][key], 0) / steps)
    return ({key: statistics.median(each) for key, each in kernels.items()},
            statistics.median(totals))


def measure(config, bin_dir, folder, threads, repetitions, steps, stored=STORED):
    """The object of a machine profile; RuntimeError if the machine was busy."""
    longest = min(LONGEST, json.loads(config.read_text()).get(
        "max_position_embeddings", LONGEST))
    compiled = [compile_program(config, bin_dir, folder, int(part * longest),
                                [*keys, *stored, f"target.threads={threads}"],
                                steps) for part, keys in RUNS]
    costs, times = FamilyCosts(), []
    for program, data in filter(None, compiled):
        kernels, seconds = profile_step(program, threads, data, repetitions)
        print(f"{program.workload.sequence} tokens, {program.name}: "
              f"{seconds * 1e3:.2f} ms a step", flush=True)
        costs.add(program.plan["kernels"], kernels, seconds)
        times.append((program.plan, seconds))
    slower, per_fill = solve(*(
        (plan["product_flops"] / NOMINAL_FLOPS + rest_seconds(plan),
         plan["fills"], seconds) for plan, seconds in (times[0], times[2])))
    profile = {"flops_per_second": NOMINAL_FLOPS / slower,
               "other_flops_per_second": NOMINAL_OTHER_FLOPS / slower,
               "bytes_per_second": NOMINAL_BYTES / slower,
               "fills_per_second": 1 / per_fill}
    for plan, seconds in times[3:]:
        products = (seconds - slower * rest_seconds(plan)
                    - per_fill * plan["fills"])
        if products > 0:  # else so small a share that it does not matter
            profile["bfloat16_flops_per_second"] = plan["product_flops"] / products
    if min(slower, per_fill, *profile.values()) <= 0:
        raise RuntimeError("the times do not fit together: the machine was "
                           "busy; try again while nothing else runs")
    disk = disk_rate.measure(folder)
    if disk:
        profile["disk_bytes_per_second"] = disk
    return {**profile, "threads": threads,
            "step_seconds": max(statistics.median(costs.beside), 0.0),
            "families": costs.learn()}


def write(profile, path):
    path.write_text(json.dumps(profile, indent=1) + "\n")
    print(f"written: {path}; name it in a spec as target: {{profile: ...}}")
