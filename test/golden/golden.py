"""golden.py WORK SPEC... [--record REASON]: golden runs.

Compiles each spec, trains for a few steps with one, two and three threads, and
compares the loss of every step and the hash of the adapter with runs.json, to
the bit. With --record, runs.json takes what was found and REASON, which says
why the bits are new.

Specs name models of WORK/models. memory_budget: least is the smallest that the
compiler accepts, so that plans do not hang on the size of its own tables.
"""

import argparse
import hashlib
import json
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


def compile_spec(work, source):
    spec = work / source.name
    text = source.read_text()
    spec.write_text(text.replace("memory_budget: least", "memory_budget: 1KiB"))
    if spec.read_text() != text:
        _, refusal = call("honec", spec, "--print-plan")
        least = re.search(r"\((\d+) bytes", refusal)
        if not least:
            sys.exit(f"{spec}: expected the smallest budget but got\n{refusal}")
        spec.write_text(text.replace("budget: least", f"budget: {least[1]}"))
    must("honec", spec, "-o", work / source.stem)


def train(work, name, threads):
    """What a run must repeat: losses and the adapter."""
    output, log = work / f"{name}.run", work / f"{name}.log"
    shutil.rmtree(output, ignore_errors=True)
    log.unlink(missing_ok=True)
    must(work / name / "train", "--data", work / "data.jsonl", "--steps", STEPS,
         "--threads", threads, "--output", output, "--log", log)
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("specs", nargs="+", metavar="SPEC", type=pathlib.Path)
    parser.add_argument("--record", metavar="REASON")
    options = parser.parse_args()
    work = options.work.resolve()
    records = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    prepare(work)

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
