"""Trains a deep small model from scratch, for comparing methods on it.

A Llama of 24 layers with bytes for tokens learns all its parameters from text;
what it writes is a Hugging Face directory for `./dev bench --methods --model`.
Killed and started again with the same arguments, it goes on where it was.
"""

import argparse
import hashlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sysconfig

import settings
from build_tools import run_checked, run_main
from children import end_with_parent

CONFIG = pathlib.Path(__file__).parents[1] / "examples/quickstart/config.json"
MEASURED_STEPS = 6
PIECE = 4000  # characters
FIRST_HELD_OUT = 5
TOOLS = ["bin/honec", "bin/hone-make-model", "lib/libhone_core.a",
         "lib/libhone_exchange.a", "lib/libhone_text.a", "lib/libhone_program.a"]


def parse_arguments():
    parser = settings.parser("--base", __doc__, argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--data", type=pathlib.Path, nargs="+", metavar="FILE",
        help="text; default: the licences that every Debian machine has and "
             "the sources of Python's library")
    add("--minutes", type=settings.positive, default=60, help="of training, by a "
        "measurement of a few steps before")
    add("--steps", type=settings.count, help="instead of --minutes")
    add("--layers", type=settings.count, default=24)
    add("--hidden", type=settings.count, default=256)
    add("--batch", type=settings.count, default=8)
    add("--sequence", type=settings.count, default=256)
    add("--rate", type=settings.positive, default=1e-3)
    add("--set", action="append", default=[], metavar="KEY=VALUE",
        help="a key of the spec")
    add("--seed", type=settings.whole(0), default=1)
    add("--threads", type=settings.count, default=len(os.sched_getaffinity(0)))
    add("--folder", type=pathlib.Path,
        help="empty, or with a run of the same arguments; default: "
             "BUILD/bench/base")
    return parser.parse_args()


def standard_text():
    licences = pathlib.Path("/usr/share/common-licenses")
    library = pathlib.Path(sysconfig.get_path("stdlib"))
    return ([path for path in sorted(licences.glob("*"))
             if path.is_file() and not path.is_symlink()] +
            sorted(library.glob("*.py")) + sorted(library.glob("[a-e]*/*.py")))


def write_data(paths, folder):
    """Writes pieces of some pages, every 20th of them held out; two paths."""
    texts = [path.read_text(encoding="utf-8", errors="ignore")
             for path in paths]
    pieces = [text[i:i + PIECE] for text in texts
              for i in range(0, len(text), PIECE)]
    train, held_out = folder / "train.jsonl", folder / "held-out.jsonl"
    kept = pieces[FIRST_HELD_OUT::20]
    if not kept:
        raise RuntimeError(f"--data: expects more than {FIRST_HELD_OUT * PIECE} "
                           f"characters but has {sum(map(len, texts))}")
    del pieces[FIRST_HELD_OUT::20]
    for path, part in ((train, pieces), (held_out, kept)):
        path.write_text("".join(json.dumps({"text": piece}) + "\n"
                                for piece in part if piece.strip()))
    return train, held_out


def write_config(arguments, path):
    config = json.loads(CONFIG.read_text())
    config |= {"num_hidden_layers": arguments.layers,
               "hidden_size": arguments.hidden,
               "intermediate_size": 2 * arguments.hidden,
               "num_attention_heads": arguments.hidden // config["head_dim"],
               "num_key_value_heads": arguments.hidden // config["head_dim"] // 2,
               "max_position_embeddings": max(512, arguments.sequence),
               "initializer_range": 0.02}
    path.write_text(json.dumps(config, indent=2) + "\n")


def compile_program(arguments, bin_dir, folder):
    write_config(arguments, folder / "config.json")
    run_checked([bin_dir / "hone-make-model", folder / "config.json", "-o",
                 folder / "start", "--seed", arguments.seed,
                 "--tokenizer=byte"])
    (folder / "base.yaml").write_text(
        f"model: {json.dumps(str(folder / 'start'))}\n"
        f"lora: none\n"
        f"train: {{optimizer: adamw, batch_size: {arguments.batch}, "
        f"max_seq_length: {arguments.sequence}, "
        f"learning_rate: {arguments.rate}, weight_decay: 0.01, "
        f"warmup_steps: 100, lr_scheduler_type: cosine}}\n")
    command = [bin_dir / "honec", folder / "base.yaml", "-o", folder / "out"]
    for setting in arguments.set:
        command += ["--set", setting]
    run_checked(command)


def measure_step(arguments, folder, data):
    """Seconds of a step: the median of a short run's without the first."""
    log = folder / "measured.jsonl"
    log.unlink(missing_ok=True)
    shutil.rmtree(folder / "measured", ignore_errors=True)
    run_checked([folder / "out/train", "--data", data, "--log", log, "--output",
                 folder / "measured", "--steps", MEASURED_STEPS, "--save-every",
                 0, "--too-long", "split", "--threads", arguments.threads])
    tokens = [json.loads(line) for line in log.read_text().splitlines()]
    shutil.rmtree(folder / "measured")
    log.unlink()
    return statistics.median(arguments.batch * arguments.sequence /
                             step["tokens_per_second"] for step in tokens[1:])


def identity(arguments, bin_dir):
    """By name, the values that a run must share with the one that it goes on with."""
    values = {f"--{key}": str(value) for key, value in vars(arguments).items()
              if key not in ("build", "threads", "folder")}
    tools = hashlib.sha256()
    try:
        for name in TOOLS:
            tools.update((bin_dir.parent / name).read_bytes())
    except OSError as error:
        raise RuntimeError(f"{error.filename}: {error.strerror}; build it, or "
                           f"leave out --no-build") from None
    return values | {"tools": tools.hexdigest()[:16]}


def steps_there(folder, stamp, wanted):
    """The steps of the run that is there, None where none began to train; refuses
    a folder of anything else."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    try:
        made = json.loads(stamp.read_text())
        run, steps = dict(made["run"]), made["steps"]
    except (OSError, ValueError, TypeError, KeyError):
        raise RuntimeError(f"--folder: expected an empty folder or one with a "
                           f"base but found {folder}; give another --folder"
                           ) from None
    changed = [f"{key} (was {run.get(key)}, now {value})"
               for key, value in wanted.items() if run.get(key) != value]
    if steps and changed:
        raise RuntimeError(f"--folder: expected the base of these arguments "
                           f"but {folder} has another: {', '.join(changed)}; "
                           f"remove it or give another --folder")
    return steps


def prepare(arguments, bin_dir, folder):
    """Makes the files of a run with these arguments, unless they are there; its
    steps."""
    wanted = identity(arguments, bin_dir)
    stamp = folder / "run.json"
    if steps := steps_there(folder, stamp, wanted):
        return steps
    folder.mkdir(parents=True, exist_ok=True)
    # Before all else, so that an interrupted run is known for its own.
    stamp.write_text(json.dumps({"run": wanted, "steps": None}))
    train, _ = write_data(arguments.data or standard_text(), folder)
    compile_program(arguments, bin_dir, folder)
    steps = arguments.steps
    if not steps:
        seconds = measure_step(arguments, folder, train)
        steps = max(200, round(60 * arguments.minutes / seconds))
        print(f"a step takes {seconds:.2f} s: {steps} steps")
    stamp.write_text(json.dumps({"run": wanted, "steps": steps}))
    return steps


def main():
    arguments = parse_arguments()
    bin_dir = arguments.build.resolve() / "bin"
    folder = (arguments.folder or arguments.build / "bench/base").resolve()
    steps = prepare(arguments, bin_dir, folder)
    every = max(1, steps // 10)
    status = subprocess.run(
        [folder / "out/train", "--data", folder / "train.jsonl", "--eval-data",
         folder / "held-out.jsonl", "--output", folder / "model", "--steps",
         str(steps), "--eval-every", str(every), "--save-every", str(every),
         "--log", folder / "log.jsonl", "--too-long", "split", "--show-samples", "0",
         "--threads", str(arguments.threads)],
        preexec_fn=end_with_parent).returncode
    if status:
        return status
    print(f"\nthe base is {folder / 'model'}; methods on it:\n"
          f"  ./dev bench --methods --model {folder / 'model'}")
    return 0


if __name__ == "__main__":
    run_main(main)
