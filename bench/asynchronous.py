#!/usr/bin/env python3
"""asynchronous.py MODEL DATA [options]: losses of AsyncFGD against the number of modules.

Compiles MODEL once for each number of modules, trains all modules as processes of their
own over an engine, and prints a Markdown table: the mean training loss of the last
quarter of the steps for each seed, and over all seeds. One module is `fgd`. Data are
drawn in the same order for every number, and directions are the same, too: only the age of
parameters differs.

    PATH=build/release/bin:$PATH bench/asynchronous.py MODEL input.txt \\
        --engine build/release/lib/hone-exchange-mpi.so
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import settings
from build_tools import run_checked, run_main
from children import end_with_parent

ROOT = pathlib.Path(__file__).resolve().parent.parent


def test_engine(folder):
    """The tests' engine, of a link that loses nothing."""
    path = folder / "hone-exchange-test.so"
    subprocess.run(["c++", "-std=c++17", "-O1", "-shared", "-fPIC", "-I",
                    ROOT / "runtime/include", "-I", ROOT / "runtime/src",
                    ROOT / "test/exchange/TestEngine.cpp",
                    ROOT / "runtime/src/exchange/Frame.cpp", "-o", path], check=True)
    return path


def compile_programs(options, folder, modules):
    spec = folder / f"spec{modules}.yaml"
    spec.write_text(f"""model: {options.model}
lora: {{r: {options.rank}}}
train: {{method: fgd, directions: {options.directions}, optimizer: {options.optimizer},
        learning_rate: {options.rate}, batch_size: {options.batch},
        max_seq_length: {options.length}, modules: {modules}, asynchronous: true}}
""")
    out = folder / f"of{modules}"
    run_checked(["honec", spec, "-o", out])
    return out


def losses(path):
    return [json.loads(line)["loss"] for line in path.read_text().splitlines()]


def train(options, folder, engine, out, modules, seed):
    run = folder / f"run{modules}.{seed}"
    common = ["--seed", seed, "--steps", options.steps]
    data = ["--data", options.data, "--save-every", 0]
    if modules == 1:
        commands = [[out / "train", *data, *common, "--output", run / "module1"]]
    else:
        name = engine.stem.rpartition("-")[2]
        commands = []
        for k in range(1, modules + 1):
            program = out / f"module{k}"
            shutil.copy(engine, program)
            commands.append([program / "train", "--exchange", name, "--timeout", 600,
                             *(["--exchange-at", folder] if name == "test" else []),
                             *(data if k == 1 else []), *common,
                             "--output", run / f"module{k}"])
    run.mkdir()
    if modules > 1 and engine.stem.endswith("-mpi"):
        line = ["mpirun", "--oversubscribe", "--bind-to", "none", "--allow-run-as-root"]
        for k, command in enumerate(commands):
            line += ([":"] if k else []) + ["-np", 1, *command]
        commands = [line]
    running = []
    for k, command in enumerate(commands):
        log = open(run / f"log{k}", "w")
        running.append(subprocess.Popen([str(a) for a in command], stdout=log,
                                        stderr=subprocess.STDOUT,
                                        preexec_fn=end_with_parent))
    if any([each.wait() for each in running]):
        sys.exit("\n".join(path.read_text() for path in sorted(run.glob("log*"))))
    found = losses(run / "module1/steps.jsonl")
    last = found[-max(1, len(found) // 4):]
    return sum(last) / len(last), found[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--modules", type=settings.count, nargs="+", default=[1, 2, 3, 5])
    parser.add_argument("--seeds", type=settings.whole(0), nargs="+", default=[1, 2, 3])
    parser.add_argument("--steps", type=settings.count, default=200)
    parser.add_argument("--directions", type=settings.count, default=4)
    parser.add_argument("--optimizer", default="sgd")
    parser.add_argument("--rate", type=settings.positive, nargs="+", default=[1e-3])
    parser.add_argument("--rank", type=settings.count, default=4)
    parser.add_argument("--batch", type=settings.count, default=4)
    parser.add_argument("--length", type=settings.count, default=64)
    parser.add_argument("--engine", type=pathlib.Path,
                        help="default: the tests', compiled here")
    options = parser.parse_args()
    options.model = pathlib.Path(options.model).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        engine = options.engine or test_engine(folder)
        print("| rate | modules | first loss |", *(f"seed {s} |" for s in options.seeds),
              "mean |")
        print("|--:|--:|--:|" + "--:|" * (len(options.seeds) + 1))
        rates = options.rate
        for options.rate in rates:
            for modules in options.modules:
                shutil.rmtree(folder / f"of{modules}", ignore_errors=True)
                out = compile_programs(options, folder, modules)
                found = []
                for seed in options.seeds:
                    found.append(train(options, folder, engine, out, modules, seed))
                    shutil.rmtree(folder / f"run{modules}.{seed}")
                means = [mean for mean, _ in found]
                print(f"| {options.rate:g} | {modules} | {found[0][1]:.4f} |",
                      *(f"{mean:.4f} |" for mean in means),
                      f"{sum(means) / len(means):.4f} |", flush=True)


if __name__ == "__main__":
    run_main(main)
