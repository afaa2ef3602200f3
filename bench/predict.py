"""Predicted times of a step beside measured ones.

Learns what kernels take on this machine, unless --rates has a file, and compiles
variants of one model with it: each policy for what layers keep, and plans within
budgets, at each length. Their programs, and those that were learned from, then take
turns until each variant has had enough quiet ones. The table has what the costs of
these rounds predict, the median of the quiet steps, and by how much the prediction
is off; beside it, by how much the plan's estimate is, whose costs were learned
before, on a machine that may have been slower or faster then. Of the variants only
mesp at the longest length may be learned from. With --only-compile what is slow is
done before, on a machine that need not be quiet: the same command without it finds
the programs.
"""

import json
import pathlib
import statistics
import sys

import machine_profile
import settings
from build_tools import FmaProbe, run_main
from family_costs import step_seconds
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
    add("--rounds", type=settings.count, default=3, help="quiet ones of each program")
    add("--tries", type=settings.count, default=6, help="rounds at most")
    add("--only-compile", action="store_true", help="and measure nothing")
    add("--folder", type=pathlib.Path, help="default: in the build folder")
    return parser.parse_args()


class Variant:
    """A program, and how it stands in the table."""

    def __init__(self, program, data, label, threads):
        self.program, self.data, self.label = program, data, label
        self.contestant = program.contestant(threads)

    @property
    def estimated(self):
        return self.program.plan["estimated_seconds"]

    def predict(self, before, now):
        """By costs that were learned now, of a plan that was made by others."""
        counted = self.program.plan["kernels"]
        self.predicted = (self.estimated - step_seconds(before, counted)
                          + step_seconds(now, counted))

    @property
    def quiet(self):
        return [each for each in self.contestant.repetitions if each.is_quiet]

    @property
    def measured(self):
        """Of all if none was quiet."""
        return statistics.median(each.seconds for each in
                                 self.quiet or self.contestant.repetitions)

    @property
    def error(self):
        return self.predicted / self.measured - 1

    @property
    def error_before(self):
        return self.estimated / self.measured - 1


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
             f"{'measured ms':>13}{'error':>9}{'before':>9}"
             f"{'quiet':>9}"]
    for each in variants:
        lines.append(
            f"{each.program.workload.sequence:>6}  {each.label:<20}"
            f"{each.program.plan['peak_bytes'] / 2**20:>8.1f}"
            f"{each.predicted * 1e3:>14.2f}{each.measured * 1e3:>13.2f}"
            f"{100 * each.error:>+8.1f} %{100 * each.error_before:>+8.1f} %"
            f"{len(each.quiet):>4} of {len(each.contestant.repetitions)}")
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
    learner = machine_profile.Learner(
        find_config(arguments.config), bin_dir, folder, arguments.threads,
        arguments.steps, settings.parse("--set", arguments.set))
    if not rates.exists():
        learner.run(arguments.rounds)
        machine_profile.write(learner.profile(), rates)
    variants = make_variants(arguments, rates, bin_dir, folder, common)
    if arguments.only_compile:
        return
    probe = FmaProbe(bin_dir)
    learner.forget()
    for _ in range(max(arguments.tries, arguments.rounds)):
        waiting = [each for each in variants
                   if len(each.quiet) < arguments.rounds]
        if waiting:
            learner.run()
        for each in waiting:
            each.program.run(each.contestant, each.data, probe)
    before, now = json.loads(rates.read_text()), learner.profile()
    for each in variants:
        each.predict(before, now)
    digest = variants[0].program.plan["profile_sha256"]
    print(f"{name}, {arguments.threads} threads, {arguments.set}, costs of "
          f"{rates.name} (sha256 {digest[:12]})\n{table(variants)}")
    results = [{"tokens": each.program.workload.sequence, "variant": each.label,
                "predicted_seconds": each.predicted,
                "estimated_seconds": each.estimated,
                "measured_seconds": each.measured,
                "others": [r.others for r in each.contestant.repetitions]}
               for each in variants]
    (folder / "predicted.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    run_main(main)
