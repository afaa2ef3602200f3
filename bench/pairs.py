"""This tree beside an older commit: speed, planned memory, losses.

Builds the commit in a clone of its own, compiles one spec with both, and
runs the two programs in turn. What decides is the median over the pairs of
the ratio of their CPU seconds, since both runs of a pair meet the same
neighbours on the machine; wall seconds of a step are shown beside it.
"""

import json
import os
import pathlib
import statistics
import subprocess

import settings
from build_tools import run_checked, run_main
from hone_program import HoneProgram
from workload import Workload, find_config

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLS = ["honec", "hone-make-model", "hone_runtime_main"]


def parse_arguments():
    parser = settings.parser("--pairs", __doc__)
    add = parser.add_argument
    add("commit", help="the older one")
    add("--config", default="small", help="a file, 'small', or a name")
    add("--count", type=settings.count, default=21, help="of pairs")
    add("--steps", type=settings.count, default=3, help="of each run, after one more")
    add("--sequence", type=settings.count, default=256)
    add("--optimizer", default="adamw")
    add("--threads", type=settings.count, default=1)
    add("--set", action="append", default=[], metavar="KEY=VALUE",
        help="a key of the spec")
    return parser.parse_args()


def build_commit(commit, folder):
    """Tools of `commit`, built as this tree is; returns their folder."""
    tree = folder / "tree"
    if not tree.exists():
        run_checked(["git", "clone", "--shared", "--no-checkout", ROOT, tree])
    found = run_checked(["git", "-C", ROOT, "rev-parse", commit]).strip()
    run_checked(["git", "-C", tree, "checkout", "--detach", found])
    for command in (["cmake", "--preset", "release"],
                    ["cmake", "--build", "build/release", "--target", *TOOLS]):
        subprocess.run(command, cwd=tree, check=True, stdout=subprocess.DEVNULL)
    return tree / "build" / "release" / "bin"


def measure(program, threads, data):
    """CPU seconds of a run, median seconds of a step, and the last loss."""
    log = program.folder / "log.jsonl"
    log.unlink(missing_ok=True)
    before = os.times()
    run_checked(program.command(threads, data) + ["--log", log])
    after = os.times()
    steps = [json.loads(line) for line in log.read_text().splitlines()]
    return (after.children_user + after.children_system -
            before.children_user - before.children_system,
            statistics.median(program.workload.tokens / s["tokens_per_second"]
                              for s in steps[program.workload.warmup:]),
            steps[-1]["loss"])


def main():
    arguments = parse_arguments()
    folder = arguments.build.resolve() / "bench" / "pairs"
    folder.mkdir(parents=True, exist_ok=True)
    work = Workload(find_config(arguments.config), optimizer=arguments.optimizer,
                    sequence=arguments.sequence, steps=arguments.steps)
    new_bin = arguments.build.resolve() / "bin"
    work.make_model(new_bin, folder / "model")
    data = folder / "data.jsonl"
    work.make_data(data)
    programs = {}
    for name, bin_dir in (("old", build_commit(arguments.commit, folder)),
                          ("new", new_bin)):
        programs[name] = HoneProgram(work, bin_dir, folder / name,
                                     arguments.set)
        programs[name].compile(folder / "model")
    runs = {"old": [], "new": []}
    for i in range(arguments.count):
        for name in ("old", "new") if i % 2 else ("new", "old"):
            runs[name].append(measure(programs[name], arguments.threads, data))
    for at, what in enumerate(("CPU seconds of a run", "seconds of a step")):
        old, new = ([run[at] for run in runs[name]] for name in ("old", "new"))
        ratios = [b / a for a, b in zip(old, new)]
        print(f"{what:22} old {statistics.median(old):.4f}  "
              f"new {statistics.median(new):.4f}  "
              f"new / old {statistics.median(ratios):.3f} "
              f"({min(ratios):.3f} to {max(ratios):.3f}), "
              f"{arguments.count} pairs, {arguments.threads} threads")
    old, new = (programs[name].plan["arena_bytes"] for name in ("old", "new"))
    print(f"{'planned arena':22} old {old}  new {new} bytes")
    same = len({run[2] for name in runs for run in runs[name]}) == 1
    print(f"{'last loss':22} {'the same bits' if same else 'differs'}")


if __name__ == "__main__":
    run_main(main)
