"""Where the time of a step goes: one table for each configuration.

A configuration is a model's shape, a number of tokens, a plan and an optimizer;
all combinations of what the options name are measured, one after another. A row
has a kernel's share of the step, what it does and moves in a second, and what
that is of the roofline: the time in which the processor could do the operations
(pairs of bfloat16 count at the rate of their instruction) or move the bytes,
whichever is longer, over the time that it took. The rates of the processor are
measured before and after each run, on as many threads.

The last table has a row for each configuration: the parts of a step, their
shares of the time, and what each reaches of its roofline.

"planned" has --budget MiB, one for all or one for each of --tokens, or where
none is given, --share of what `full` is planned with. With Qwen2.5-0.5B and 256
tokens, 0.43 of it is a tenth of what PyTorch takes.
"""

import argparse
import itertools
import json
import pathlib
import shutil

import report
import settings
from build_tools import FmaProbe, ReadProbe, run_checked, run_main
from hone_program import HoneProgram
from workload import Workload, find_config

MIB = 1024 * 1024
PLANS = ["full", "planned"]
# Activations in bfloat16, as the fastest peers have them.
SETTINGS = ["train.compute_dtype=bfloat16"]


def parse_arguments():
    parser = settings.parser("--breakdown", __doc__, argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--config", default="Qwen2.5-0.5B,Qwen2.5-1.5B",
        help="files, or names, separated by commas")
    add("--tokens", type=settings.counts, default=[128, 256, 1024],
        help="of a sequence, separated by commas; default: 128,256,1024")
    add("--plans", type=settings.names(PLANS), default=PLANS)
    add("--optimizers", type=settings.names(["sgd", "adamw"]),
        default=["sgd", "adamw"])
    add("--budget", type=settings.counts, metavar="MIB", help="of `planned`")
    add("--share", type=settings.positive, default=0.43,
        help="of the plan of `full`, where there is no --budget")
    add("--threads", type=settings.count, default=2)
    add("--steps", type=settings.count, default=4, help="measured, after one more")
    add("--folder", type=pathlib.Path,
        help="for models and results; default: BUILD/bench/breakdown")
    add("--rows", type=settings.count, default=16, help="kernels of a table")
    add("--prepare", action="store_true",
        help="only compile and draw weights: a machine that is quiet for a short\n"
             "while measures after it, with the same options")
    add("--set", action="append", metavar="KEY=VALUE",
        help=f"keys of all specs in place of {SETTINGS[0]}")
    return parser.parse_args()


class Machine:
    """The rates of `threads` threads: operations and bytes of a second."""

    def __init__(self, bin_dir, threads):
        self.peak, self.read = FmaProbe(bin_dir), ReadProbe(bin_dir)
        self.threads = threads
        self.rates = []

    def measure(self, weights):
        rates = self.peak.rates(self.threads)
        self.rates.append({"flops": rates["gflops"] * 1e9,
                           "pairs": rates["pairs_gflops"] * 1e9,
                           "bytes": self.read.measure(weights, self.threads)
                           * 1e9})

    def best(self, name):
        """Of the run's measurements the best one: disturbances only make it slower."""
        return max(rates[name] for rates in self.rates)


def profile(program, machine, steps, data):
    """A profile as report.profile_rows() takes it, of steps whose weights are in
    memory: less that of a run of one step, which reads them."""
    machine.rates.clear()
    found = []
    for count in (steps + 1, 1):
        machine.measure(program.weights)
        path = program.folder / "profile.json"
        command = program.command(machine.threads, data)
        command[command.index("--steps") + 1] = str(count)
        summary = run_checked(command + ["--profile", path])
        found.append(json.loads(path.read_text()))
    machine.measure(program.weights)
    has_pairs = ("products pairs" in summary or
                 "train.float32_matmul_precision=medium" in program.settings)
    return {**without_first(*found), "counted": program.plan["kernels"],
            "flops_per_second": machine.best("flops"),
            "pairs_per_second": machine.best("pairs" if has_pairs else "flops"),
            "bytes_per_second": machine.best("bytes")}


def without_first(long, first):
    """The profile of the steps of `long` but for the one that `first` is of."""
    kernels = [{**kernel, "calls": kernel["calls"] - one["calls"],
                "seconds": max(kernel["seconds"] - one["seconds"], 0)}
               for kernel, one in zip(long["kernels"], first["kernels"])]
    # Of short steps more is around them in the first run than in the second.
    seconds = max(long["seconds"] - first["seconds"],
                  sum(kernel["seconds"] for kernel in kernels))
    return {"steps": long["steps"] - first["steps"], "kernels": kernels,
            "seconds": seconds}


def measure(arguments, config, tokens, optimizer, budget, folder, machine):
    """Prints a table for each plan, and returns them for the JSON file, and the
    programs."""
    bin_dir = arguments.build.resolve() / "bin"
    work = Workload(config, sequence=tokens, optimizer=optimizer,
                    steps=arguments.steps)
    model = folder / work.name
    work.make_config(model)
    where = folder / f"{work.name}-{tokens}-{optimizer}"
    where.mkdir(parents=True, exist_ok=True)
    data = where / "data.jsonl"
    work.make_data(data)
    keys = arguments.set or SETTINGS
    programs = {"full": HoneProgram(work, bin_dir, where,
                                    ["train.residuals=full"] + keys)}
    needs_share = "planned" in arguments.plans and not budget
    if "full" in arguments.plans or needs_share:
        programs["full"].compile_for_drawn(model, folder)
    if "planned" in arguments.plans:
        budget = budget or int(
            arguments.share * programs["full"].plan["peak_bytes"] / MIB)
        programs["planned"] = HoneProgram(
            work, bin_dir, where,
            ["train.residuals=planned", f"train.memory_budget={budget}MiB"]
            + keys)
        try:
            programs["planned"].compile_for_drawn(model, folder)
        except RuntimeError as error:  # No plan may be that small.
            print(f"planned in {budget} MiB: {error}\n", flush=True)
            del programs["planned"]
    tables = []
    plans = [] if arguments.prepare else arguments.plans
    for plan in filter(programs.get, plans):
        program = programs[plan]
        found = profile(program, machine, arguments.steps, data)
        title = (f"{work.name}, {tokens} tokens, {plan} in "
                 f"{program.plan['peak_bytes'] / MIB:.0f} MiB, {optimizer}")
        rows = report.profile_rows(found, arguments.rows)
        flops, pairs, moved = (found[f"{of}_per_second"] / 1e9
                               for of in ("flops", "pairs", "bytes"))
        print(f"{title}: {found['seconds'] / found['steps'] * 1e3:.0f} ms a step, "
              f"{machine.threads} threads; at most {flops:.0f} GFLOP/s, "
              f"{pairs:.0f} of products, {moved:.0f} GB/s\n\n"
              f"{report.markdown_table(rows)}\n", flush=True)
        tables.append({"title": title, "rates": list(machine.rates),
                       "rows": rows, "parts": report.parts_cells(found),
                       "profile": found})
    return tables, [program for program in programs.values() if program.weights]


def with_budgets(arguments):
    """(tokens, MiB or None) for each number of tokens."""
    found = arguments.budget or [None]
    if len(found) == 1:
        found *= len(arguments.tokens)
    if len(found) != len(arguments.tokens):
        raise RuntimeError(f"--budget: expected one, or {len(arguments.tokens)} for as "
                           f"many --tokens, found {len(found)}")
    return zip(arguments.tokens, found)


def main():
    arguments = parse_arguments()
    folder = (arguments.folder
              or arguments.build / "bench" / "breakdown").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    machine = Machine(arguments.build.resolve() / "bin", arguments.threads)
    tables, programs = [], []
    for name, (tokens, budget), optimizer in itertools.product(
            arguments.config.split(","), with_budgets(arguments),
            arguments.optimizers):
        found, used = measure(arguments, find_config(name), tokens, optimizer,
                              budget, folder, machine)
        tables += found
        programs += used
    if arguments.prepare:
        print(f"prepared: {len(programs)} programs in {folder}")
        return
    print(report.markdown_table(
        [["configuration", *report.parts_heading()]]
        + [[table["title"], *table["parts"]] for table in tables]))
    path = folder / "breakdown.json"
    path.write_text(json.dumps(tables, indent=1) + "\n")
    print(f"written: {path}")
    for program in programs:
        shutil.rmtree(program.folder, ignore_errors=True)
    # Weights are large; other prepared programs still need them.
    if not any(folder.glob("*/*/made-from.json")):
        for program in programs:
            shutil.rmtree(program.weights.parent, ignore_errors=True)


if __name__ == "__main__":
    run_main(main)
