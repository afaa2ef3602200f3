"""golden.py WORK SPEC... [--record REASON | --target TRIPLE [--like TRIPLE]]:
golden runs.

Compiles each spec, trains for a few steps with one, two and three threads, and
compares the loss of every step and the hash of the adapter with runs.json, to
the bit. With --record, runs.json takes what was found and REASON, which says
why the bits are new.

With --target the specs' programs are made for TRIPLE, run by $EMULATOR, and must
have the recorded bits, or with --like those of a program for that triple. What
both print must be the same, but for what is measured.

Specs name models of WORK/models. memory_budget: least is the smallest that the
compiler accepts, so that plans do not hang on the size of its own tables.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RECORDS = HERE / "runs.json"
STEPS = 8
THREADS = (1, 2, 3)
# Lines of steps are shown as often as a clock says; the log has all of them.
PROGRESS = re.compile(r"(?m)^step +\d+/\d+.*\n")
# The numbers of a run, among others that it prints of memory and time.
NUMBERS = re.compile(r"\b(loss|norm|lr|perplexity|accuracy|steps|ids) +(.+?)(?=  |, |\n|$)")


def call(*command):
    done = subprocess.run([str(part) for part in command], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def must(*command):
    code, output = call(*command)
    if code:
        sys.exit(f"{' '.join(map(str, command))}: exit code {code}\n{output}")
    return output


def prepare(work):
    """Models, and data of ragged lengths whose ids every model knows."""
    models = work / "models"
    shutil.rmtree(models, ignore_errors=True)
    models.mkdir(parents=True)
    for model in (ROOT / "test/reference/golden/models").iterdir():
        (models / model.name).symlink_to(model)
    (models / "parallel.mlir").symlink_to(
        ROOT / "examples/parallel-residual/model.mlir")
    must("hone-make-model", ROOT / "test/numerics/Inputs/groups128.json",
         "-o", models / "groups", "--seed", 4)
    state = 1
    with open(work / "data.jsonl", "w") as data:
        for sample in range(22):
            ids = []
            for _ in range(2 + sample * 29 % 44):
                state = (state * 1103515245 + 12345) % 2**31
                ids.append(state // 2**16 % 61)
            labels = [-100 if i < sample % 3 else id for i, id in enumerate(ids)]
            print(json.dumps({"input_ids": ids, "labels": labels}), file=data)


def setting_of(target):
    if not target:
        return []
    triple, _, cpu = target.partition(":")
    return ["--set", f"target.triple={triple}"] + (
        ["--set", f"target.cpu={cpu}"] if cpu else [])


def compile_spec(work, source, target=None):
    spec = work / source.name
    text = source.read_text()
    spec.write_text(text.replace("memory_budget: least", "memory_budget: 1KiB"))
    if spec.read_text() != text:
        _, refusal = call("honec", spec, "--print-plan", *setting_of(target))
        least = re.search(r"\((\d+) bytes", refusal)
        if not least:
            sys.exit(f"{spec}: expected the smallest budget but got\n{refusal}")
        spec.write_text(text.replace("budget: least", f"budget: {least[1]}"))
    must("honec", spec, "-o", work / source.stem, *setting_of(target))


def train(work, name, threads, emulator=(), evaluates=False):
    """The results that a run must repeat: losses, the adapter, and its
    output."""
    output, log = work / f"{name}.run", work / f"{name}.log"
    shutil.rmtree(output, ignore_errors=True)
    log.unlink(missing_ok=True)
    more = ["--eval-data", work / "data.jsonl", "--eval-every", 3] if evaluates else []
    printed = must(*emulator, work / name / "train", "--data", work / "data.jsonl",
                   "--steps", STEPS, "--threads", threads, "--output", output,
                   "--log", log, *more)
    if evaluates:
        measured = ("run", "tokens_per_second", "peak_anonymous_bytes",
                    "peak_resident_bytes")
        lines = [json.loads(line) for line in open(log)]
        return {"printed": NUMBERS.findall(PROGRESS.sub("", printed)),
                "log": [{key: value for key, value in line.items()
                         if key not in measured} for line in lines]}
    adapter = (output / "adapter_model.safetensors").read_bytes()
    return {"losses": [json.loads(line)["loss"] for line in open(log)],
            "adapter": hashlib.sha256(adapter).hexdigest()}


def difference(name, threads, found, expected):
    for step, (a, b) in enumerate(zip(found["losses"], expected["losses"]), 1):
        if a != b:
            return (f"{name}: {threads} threads, step {step}: expected loss "
                    f"{b!r} but got {a!r}")
    if found != expected:
        return (f"{name}: {threads} threads: expected adapter "
                f"{expected['adapter']} but got {found['adapter']}")
    return None


def compare(work, spec, target, like):
    """Bits and printed numbers of the program for `target`; a difference."""
    name = spec.stem
    emulator = os.environ.get("EMULATOR", "").split()
    compile_spec(work, spec, like)
    its = emulator if like else []
    expected = train(work, name, 2, its), train(work, name, 2, its, evaluates=True)
    if not like:
        recorded = {**json.loads(RECORDS.read_text())[name]}
        del recorded["reason"]
        if wrong := difference(name, 2, expected[0], recorded):
            return wrong
    compile_spec(work, spec, target)
    found = train(work, name, 2, emulator), train(work, name, 2, emulator, evaluates=True)
    if wrong := difference(name, 2, found[0], expected[0]):
        return wrong
    for key in found[1]:
        if found[1][key] != expected[1][key]:
            return f"{name}: {key}: expected\n{expected[1][key]}\nbut got\n{found[1][key]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("specs", nargs="+", metavar="SPEC", type=pathlib.Path)
    parser.add_argument("--record", metavar="REASON")
    parser.add_argument("--target", metavar="TRIPLE")
    parser.add_argument("--like", metavar="TRIPLE")
    options = parser.parse_args()
    work = options.work.resolve()
    records = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    prepare(work)

    if options.target:
        wrong = [compare(work, spec, options.target, options.like)
                 for spec in options.specs]
        for spec, what in zip(options.specs, wrong):
            print(what or f"{spec.stem}: same bits, same numbers")
        sys.exit(any(wrong))

    failed = False
    for spec in options.specs:
        name = spec.stem
        compile_spec(work, spec)
        runs = {threads: train(work, name, threads) for threads in THREADS}
        if options.record:
            records[name] = {"reason": options.record, **runs[1]}
        expected = {key: records.get(name, {}).get(key, [])
                    for key in ("losses", "adapter")}
        differences = [difference(name, threads, found, expected)
                       for threads, found in runs.items()]
        failed |= any(differences)
        print(next(filter(None, differences), f"{name}: same bits"))
    if options.record:
        text = json.dumps(dict(sorted(records.items())), indent=1)
        RECORDS.write_text(text + "\n")
    elif failed:
        print("help: if the bits must change, golden.py WORK SPEC --record "
              "REASON records them")
    sys.exit(failed)


if __name__ == "__main__":
    main()
