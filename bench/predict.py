"""Predicted times of a step beside measured ones.

Learns what kernels take on this machine, unless --rates has a file, and compiles
variants of one model with it: each policy for what layers keep, and plans within
budgets, at each length. Their programs take turns. The table has the plan's
estimate, the median of the steps, and by how much the estimate is off; no program
that was learned from is in it. With --only-compile what is slow is done before, on
a machine that need not be quiet: the same command without it finds the programs.
"""

import json
import pathlib
import sys

import machine_profile
import settings
from build_tools import FmaProbe, run_main
from hone_program import HoneProgram
from workload import Workload, find_config

POLICIES = ["full", "mebp", "mesp"]


def parse_arguments():
    parser = settings.parser("--predict", __doc__)
    add = parser.add_argument
    add("--config", default="small", help="a file, 'small', or a name")
    add("--rates", type=pathlib.Path, metavar="FILE",
        help="what was learned; measured and written if it is not there")
    add("--sequences", default="128,256", help="tokens, separated by commas")
    add("--shares", default="1.25,1.75",
        help="budgets of plans as shares of what residuals: mesp needs")
    add("--set", default="weights.dtype=int4", metavar="KEY=VALUE[,KEY=VALUE]",
        help="keys of all specs")
    add("--threads", type=settings.count, default=2)
    add("--steps", type=settings.count, default=3, help="of each run, after one more")
    add("--rounds", type=settings.count, default=3)
    add("--only-compile", action="store_true", help="and measure nothing")
    add("--folder", type=pathlib.Path, help="default: in the build folder")
    return parser.parse_args()


class Variant:
    """A program, and how it stands in the table."""

    def __init__(self, program, data, label, threads):
        self.program, self.data, self.label = program, data, label
        self.contestant = program.contestant(threads)

    @property
    def predicted(self):
        return self.program.plan["estimated_seconds"]

    @property
    def measured(self):
        return self.contestant.seconds

    @property
    def error(self):
        return self.predicted / self.measured - 1


def make_variants(arguments, rates, bin_dir, folder, common):
    """Policies first; budgets are shares of one of them."""
    variants = []
    for sequence in map(int, arguments.sequences.split(",")):
        workload = Workload(find_config(arguments.config), sequence,
                            steps=arguments.steps)
        where = folder / str(sequence)
        where.mkdir(parents=True, exist_ok=True)
        model, data = folder / "model", where / "data.jsonl"
        workload.make_config(model)
        workload.make_data(data)

        def add(label, keys):
            program = HoneProgram(workload, bin_dir, where, [*keys, *common])
            program.compile_for_drawn(
                model, folder, [f"target.profile={rates}"])
            print(f"{sequence} tokens, {label}: compiled", flush=True)
            variants.append(Variant(program, data, label, arguments.threads))
            return program.plan["peak_bytes"]

        for policy in POLICIES:
            peak = add(policy, [f"train.residuals={policy}"])
        add("planned", ["train.residuals=planned"])
        for share in arguments.shares.split(","):
            budget = int(float(share) * peak) // 65536 * 64
            add(f"within {budget / 1024:.1f} MiB",
                ["train.residuals=planned", f"train.memory_budget={budget}KiB"])
    return variants


def table(variants):
    lines = [f"{'tokens':>6}  {'variant':<20}{'MiB':>8}{'predicted ms':>14}"
             f"{'measured ms':>13}{'error':>9}"]
    for each in variants:
        lines.append(
            f"{each.program.workload.sequence:>6}  {each.label:<20}"
            f"{each.program.plan['peak_bytes'] / 2**20:>8.1f}"
            f"{each.predicted * 1e3:>14.2f}{each.measured * 1e3:>13.2f}"
            f"{100 * each.error:>+8.1f} %")
    worst = max(variants, key=lambda each: abs(each.error))
    within = sum(abs(each.error) <= 0.05 for each in variants)
    lines.append(f"{within} of {len(variants)} within 5 %; farthest: "
                 f"{worst.program.workload.sequence} tokens, {worst.label}, "
                 f"{100 * worst.error:+.1f} %")
    return "\n".join(lines)


def main():
    arguments = parse_arguments()
    bin_dir = arguments.build.resolve() / "bin"
    common = [*settings.parse("--set", arguments.set),
              f"target.threads={arguments.threads}"]
    name = Workload(find_config(arguments.config)).name
    folder = (arguments.folder or
              arguments.build / "bench" / "predict" / name).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    rates = (arguments.rates or folder / "rates.json").resolve()
    if not rates.exists():
        machine_profile.write(machine_profile.measure(
            find_config(arguments.config), bin_dir, folder, arguments.threads,
            arguments.rounds, arguments.steps,
            settings.parse("--set", arguments.set)), rates)
    variants = make_variants(arguments, rates, bin_dir, folder, common)
    if arguments.only_compile:
        return
    probe = FmaProbe(bin_dir)
    for _ in range(arguments.rounds):
        for each in variants:
            each.program.run(each.contestant, each.data, probe)
    digest = variants[0].program.plan["profile_sha256"]
    print(f"{name}, {arguments.threads} threads, {arguments.set}, costs of "
          f"{rates.name} (sha256 {digest[:12]})\n{table(variants)}")
    results = [{"tokens": each.program.workload.sequence, "variant": each.label,
                "predicted_seconds": each.predicted,
                "measured_seconds": each.measured,
                "others": [r.others for r in each.contestant.repetitions]}
               for each in variants]
    (folder / "predicted.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    run_main(main)
