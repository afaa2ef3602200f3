"""Rates of this machine for `residuals: planned`, as a file for target.profile.

A step takes, by the compiler's estimate, a time for its operations and bytes
and a time for the weights that it makes panels of. Short sequences are mostly
the second, long ones mostly the first: two programs give both rates. How
operations and bytes stand to each other stays nominal (passes/CostEstimate.h).
"""

import json
import statistics

from hone_program import HoneProgram
from workload import Workload

# As in passes/CostEstimate.h.
NOMINAL_FLOPS, NOMINAL_BYTES = 5e11, 4e10
SEQUENCES = 16, 256


def solve(first, second):
    """The factors of work and fills from two (work, fills, seconds)."""
    (w1, f1, t1), (w2, f2, t2) = first, second
    determinant = w1 * f2 - w2 * f1
    return ((t1 * f2 - t2 * f1) / determinant,
            (w1 * t2 - w2 * t1) / determinant)


def measure(config, bin_dir, folder, threads, repetitions, steps, probe):
    """The object of a machine profile; RuntimeError if the machine was busy."""
    programs = []
    for sequence in SEQUENCES:
        workload = Workload(config, sequence, steps=steps)
        where = folder / f"profile-{sequence}"
        where.mkdir(parents=True, exist_ok=True)
        model, data = folder / "profile-model", where / "data.jsonl"
        model.mkdir(exist_ok=True)
        workload.make_model(bin_dir, model)
        workload.make_data(data)
        program = HoneProgram(workload, bin_dir, where,
                              ["train.residuals=mesp", "weights.dtype=int4"])
        program.compile(model)
        programs.append((program, program.contestant(threads), data))
    for _ in range(repetitions):
        for program, contestant, data in programs:
            program.run(contestant, data, probe)
    equations = []
    for program, contestant, _ in programs:
        plan = program.plan
        work = (plan["flops"] / NOMINAL_FLOPS
                + plan["row_bytes"] / NOMINAL_BYTES)
        seconds = statistics.median(
            r.seconds for r in contestant.repetitions)
        equations.append((work, plan["fills"], seconds))
    slower, per_fill = solve(*equations)
    if slower <= 0 or per_fill <= 0:
        raise RuntimeError("the times do not fit together: the machine was "
                           "busy; try again, or with more --repetitions")
    return {"flops_per_second": NOMINAL_FLOPS / slower,
            "bytes_per_second": NOMINAL_BYTES / slower,
            "fills_per_second": 1 / per_fill}


def write(profile, path):
    path.write_text(json.dumps(profile, indent=1) + "\n")
    print(f"written: {path}; name it in a spec as target: {{profile: ...}}")
