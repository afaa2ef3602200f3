"""Costs of this machine for `residuals: planned`, as a file for target.profile.

Programs of three lengths run with --profile, and one whose float32 products have
bfloat16 operands. Costs of families of kernels are learned from what their kernels
took (family_costs.py). For families that no program has there are rates of the
whole machine besides: a step takes a time for its operations and bytes and a time
for the weights that it makes panels of. Short sequences are mostly the second,
long ones mostly the first. How products, other operations and bytes stand to each
other stays nominal there (passes/plan/MachineProfile.h).
"""

import json
import statistics

import disk_rate
from contestant import Repetition
from family_costs import FamilyCosts, least_squares
from hone_program import HoneProgram
from other_load import OtherLoad, children_seconds
from workload import Workload

# As in passes/plan/MachineProfile.h; products of float32, and of bfloat16.
NOMINAL_FLOPS, NOMINAL_BFLOAT16_FLOPS = 4.75e11, 9e11
NOMINAL_OTHER_FLOPS, NOMINAL_BYTES = 2.1e11, 6e10
RESIDUALS = ["train.residuals=mesp"]
LONGEST = 256
PARTS = 1 / 8, 3 / 8, 1  # of that length
STORED = ["weights.dtype=int4"]
# Steps that are farther from two factors are no steps of a machine at rest.
FARTHEST = 0.25


def runs(keys):
    """Parts of the longest length and keys of the programs to learn from."""
    alike = [(part, RESIDUALS) for part in PARTS]
    if "train.compute_dtype=bfloat16" in keys:
        return alike  # bfloat16 activations have products of one precision
    return [*alike, (1, RESIDUALS + ["train.float32_matmul_precision=medium"])]


def rounds(plan):
    """Whether products with weights have bfloat16 operands."""
    return any(op["family"].endswith(" rounded") for op in plan["kernels"])


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


class ProfiledProgram:
    """A program to learn from, and the profiles of its steps."""

    def __init__(self, program, data, threads):
        self.program, self.data, self.threads = program, data, threads
        self.forget()

    def forget(self):
        self.kernels, self.totals, self.others = {}, [], []

    def run(self):
        """Seconds of one step, and of each of its kernels: those of a long run
        less those of a short one, so that the first step counts for nothing."""
        steps = self.program.workload.steps
        with OtherLoad(children_seconds) as load:
            short = self.program.kernel_seconds(self.threads, self.data, 1)
            long = self.program.kernel_seconds(self.threads, self.data, steps + 1)
        self.others.append(load.processors)
        self.totals.append((long[1] - short[1]) / steps)
        for key, seconds in long[0].items():
            self.kernels.setdefault(key, []).append(
                max(seconds - short[0][key], 0) / steps)

    @property
    def seconds(self):
        return statistics.median(self.totals)

    @property
    def kernel_seconds(self):
        return {key: statistics.median(each) for key, each in self.kernels.items()}

    def __str__(self):
        others = statistics.median(self.others)
        busy = (f"; others kept {others:.2f} processors busy"
                if others >= Repetition.QUIET_PROCESSORS else "")
        return (f"{self.program.workload.sequence} tokens, {self.program.name}: "
                f"{self.seconds * 1e3:.2f} ms a step{busy}")


def rates(times):
    """Of the whole machine, from [(plan, seconds)] of programs as runs() has them."""
    alike = [((plan["product_flops"] / (NOMINAL_BFLOAT16_FLOPS if rounds(plan)
                                        else NOMINAL_FLOPS) + rest_seconds(plan),
               plan["fills"]), seconds) for plan, seconds in times[:len(PARTS)]]
    slower, per_fill = least_squares(alike)
    if slower == 0 or any(
            abs((work * slower + fills * per_fill) / seconds - 1) > FARTHEST
            for (work, fills), seconds in alike):
        raise RuntimeError("the times do not fit together: the machine was "
                           "busy; try again while nothing else runs")
    profile = {"flops_per_second": NOMINAL_FLOPS / slower,
               "bfloat16_flops_per_second": NOMINAL_BFLOAT16_FLOPS / slower,
               "other_flops_per_second": NOMINAL_OTHER_FLOPS / slower,
               "bytes_per_second": NOMINAL_BYTES / slower}
    if per_fill > 0:  # else too little to be seen
        profile["fills_per_second"] = 1 / per_fill
    for plan, seconds in times[len(PARTS):]:
        products = (seconds - slower * rest_seconds(plan)
                    - per_fill * plan["fills"])
        if products > 0:  # else so small a share that it does not matter
            profile["bfloat16_flops_per_second"] = plan["product_flops"] / products
    return profile


class Learner:
    """Learns from programs that run in turns; `stored` are keys of all specs."""

    def __init__(self, config, bin_dir, folder, threads, steps, stored=STORED):
        longest = min(LONGEST, json.loads(config.read_text()).get(
            "max_position_embeddings", LONGEST))
        compiled = [compile_program(config, bin_dir, folder, int(part * longest),
                                    [*keys, *stored, f"target.threads={threads}"],
                                    steps) for part, keys in runs(stored)]
        self.folder, self.threads = folder, threads
        self.programs = [ProfiledProgram(*each, threads)
                         for each in compiled if each]

    def forget(self):
        for each in self.programs:
            each.forget()

    def run(self, repetitions=1):
        for _ in range(repetitions):
            for each in self.programs:
                each.run()

    def profile(self):
        """The object of a machine profile, of the runs since forget();
        RuntimeError if the machine was busy."""
        costs = FamilyCosts()
        for each in self.programs:
            print(each, flush=True)
            costs.add(each.program.plan["kernels"], each.kernel_seconds, each.seconds)
        profile = rates([(each.program.plan, each.seconds) for each in self.programs])
        disk = disk_rate.measure(self.folder)
        if disk:
            profile["disk_bytes_per_second"] = disk
        return {**profile, "threads": self.threads,
                "step_seconds": max(statistics.median(costs.beside), 0.0),
                "families": costs.learn()}


def write(profile, path):
    path.write_text(json.dumps(profile, indent=1) + "\n")
    print(f"written: {path}; name it in a spec as target: {{profile: ...}}")
