"""check-parts.py TEST FOLDER: what each part of ./dev check-gpu remembers.

Runs the tests of TEST/gpu/long in FOLDER with programs that do nothing. A part
must run again after a change of a file that decides about it, and pass only if
each program of it did.
"""

import os
import pathlib
import shutil
import subprocess
import sys

test, folder = map(pathlib.Path, sys.argv[1:])
build, copy = folder / "build", folder / "test"
models = copy / "reference/golden/models"

NUMERICS = {f"{kind}-{part}" for kind in ("numerics", "numerics-random")
            for part in range(8)}
METAL = {f"metal-numerics-{part}" for part in range(8)}
BARRIERS = {"barriers-qwen2-tiny", "barriers-gemma3-tiny", "barriers-gpt2-tiny",
            "barriers-heads-64"}
RUNS = {"on-cpu", "on-cuda"}
SHAPES = {"shapes"}

HONEC = f"""#!/bin/sh
kind=cpu
while [ $# -gt 1 ]; do
  [ "$1" = target.triple=nvptx64-nvidia-cuda ] && kind=cuda
  [ "$1" = -o ] && out=$2
  shift
done
mkdir -p $out && cp {build}/train-$kind $out/train
"""
# Keeps a run that has ended.
TRAIN = """#!/bin/sh
while [ "$1" != --output ]; do shift; done
mkdir -p $2
[ -e $2/steps.jsonl ] || for i in $(seq 200); do echo '{"loss": 1}'; done >$2/steps.jsonl
"""
MAKE_MODEL = """#!/bin/sh
mkdir -p $3 && cp $1 $3/config.json
"""
BARRIERS_DROPPED = """#!/bin/sh
echo '10 kernels, 10 barriers: 10 reported, 0 redundant, 0 change bits unreported'
"""
AGREED = 'print("1 cases agree, 0 refused, 0 failed")\n'
CONFIG = f"""
import lit.formats
config.name = "parts"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".test"]
config.excludes = ["Inputs", "arena.test", "launches.test"]
config.test_exec_root = "{build}/test"
config.available_features = {{"shared-data", "x86-64-v3"}}
config.environment["PATH"] = "{build}/bin:{os.environ["PATH"]}"
config.substitutions = [("%build", "{build}"), ("%models", "{models}"),
                        ("%golden", "{models.parent}"),
                        ("%shared", "{folder}/shared")]
"""


def write(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def prepare():
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("gpu/long", "gpu/Inputs", "gpu/metal/host", "python"):
        shutil.copytree(test / name, copy / name,
                        ignore=shutil.ignore_patterns("__pycache__", "kit"))
    write(copy / "gpu/long/lit.cfg", CONFIG)
    write(copy / "gpu/long/shapes.py", AGREED)
    write(copy / "reference/golden/optimizers.safetensors", "")
    for model in ("qwen2-tiny", "gemma3-tiny", "gpt2-tiny"):
        write(models / model / "config.json", "")
        write(models / model / "model.safetensors", "")
    write(folder / "shared/data/tinyshakespeare/input.txt", "text")
    write(build / "train-cpu", TRAIN, 0o755)
    write(build / "train-cuda", TRAIN, 0o755)
    write(build / "bin/honec", HONEC, 0o755)
    write(build / "bin/drop-barriers", BARRIERS_DROPPED, 0o755)
    write(build / "bin/hone-make-model", MAKE_MODEL, 0o755)
    write(build / "test/unit/numerics-tests", "#!/bin/sh\n", 0o755)
    for name in ("runtime_main", "program", "exchange", "text", "core"):
        write(build / f"lib/libhone_{name}.a", "")
    write(build / "ptx-driver/libcuda.so.1", "")
    write(build / "metal-driver/Metal", "")


def remembered():
    """Parts that passed, and runs of stories260k, each with its file's time."""
    passed = (build / "check-gpu").glob("*")
    runs = (build / "test").glob("**/on-*/steps.jsonl")
    return {path.name: path.stat().st_mtime_ns for path in passed} | \
        {path.parent.name: path.stat().st_mtime_ns for path in runs}


def run(name=""):
    """Whether the tests passed that `name` matches, and the parts that ran."""
    before = remembered()
    done = subprocess.run(["lit", "-q", "--filter", name, copy / "gpu/long"],
                          capture_output=True, text=True)
    after = remembered()
    ran = {part for part in after if after[part] != before.get(part)}
    return done.returncode == 0, ran, done.stdout + done.stderr


def expect(what, found, expected_pass, expected_parts):
    passed, ran, text = found
    if (passed, ran) != (expected_pass, expected_parts):
        sys.exit(f"{what}: passed: {passed}, parts too many: "
                 f"{sorted(ran - expected_parts)}, missing: "
                 f"{sorted(expected_parts - ran)}\n{text}")


def change(*paths):
    for path in paths:
        with open(path, "a") as file:
            file.write("\n# changed\n")


def check_changes():
    gpu, library, programs = copy / "gpu", build / "lib", build / "bin"
    # Files of a round decide about different parts.
    rounds = [
        ([build / "ptx-driver/libcuda.so.1", build / "metal-driver/Metal"],
         BARRIERS | SHAPES | NUMERICS | METAL | RUNS),
        ([programs / "honec", build / "test/unit/numerics-tests",
          build / "train-cpu"], BARRIERS | SHAPES | NUMERICS | METAL | RUNS),
        ([library / "libhone_core.a", models.parent / "optimizers.safetensors",
          build / "train-cuda"], BARRIERS | SHAPES | NUMERICS | METAL | RUNS),
        ([library / "libhone_runtime_main.a", gpu / "metal/host/metal_stdlib",
          folder / "shared/data/tinyshakespeare/input.txt"],
         BARRIERS | SHAPES | METAL | RUNS),
        ([programs / "drop-barriers", gpu / "long/shapes.py"], BARRIERS | SHAPES),
        ([gpu / "Inputs/train.yaml", programs / "hone-make-model"],
         BARRIERS | SHAPES),
        ([gpu / "long/barriers.test", gpu / "long/shapes.test"],
         BARRIERS | SHAPES),
        ([models / "qwen2-tiny/model.safetensors", copy / "python/command.py"],
         {"barriers-qwen2-tiny"} | SHAPES),
        ([models / "gpt2-tiny/config.json"], {"barriers-gpt2-tiny"} | SHAPES),
        ([gpu / "long/Inputs/heads-64.json"], {"barriers-heads-64"}),
    ]
    for changed, parts in rounds:
        change(*changed)
        tests = "" if parts & RUNS else "barriers|shapes"
        names = ", ".join(str(path.relative_to(folder)) for path in changed)
        expect(f"after a change of {names}", run(tests), True, parts)


def check_failures():
    # The text is right, and the program failed.
    write(build / "bin/drop-barriers", BARRIERS_DROPPED + "exit 1\n", 0o755)
    # The program ended well, and its text is wrong.
    write(copy / "gpu/long/shapes.py", AGREED.replace("0 failed", "1 failed"))
    expect("failures", run("barriers|shapes"), False, set())


prepare()
expect("first", run(), True, BARRIERS | SHAPES | NUMERICS | METAL | RUNS)
# Outputs of passed parts may be gone.
(build / "test/Output/shapes.test.tmp.txt").unlink()
expect("nothing changed", run(), True, set())
check_changes()
check_failures()
print("all parts run again when they must")
