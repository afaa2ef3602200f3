"""Training methods side by side: quality, time and memory on one model.

Every method trains the same model on the same data in the same order, with
several seeds; what is compared is the loss on held-out text. Each is given as
NAME or NAME:KEY=VALUE,... with keys of the spec; `steps` is no key, but how many
times the steps of the others it makes. --optimizers has backpropagation with each
optimizer instead.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import shutil
import statistics
import time

import curves
import report
import settings
from build_tools import run_checked, run_main

MIB = 1024 * 1024
# Rates: about the largest at which each method does not diverge on stories260k.
# MeZO's and the forward gradient's are SGD's, as in the papers.
METHODS = [
    "backprop:train.learning_rate=3e-3",
    "lcsb:train.learning_rate=3e-3",
    "lcsb:train.learning_rate=3e-3,train.unselected=exact",
    "mezo:train.learning_rate=1e-3",
    "mezo:train.learning_rate=3e-3,train.directions=4",
    "fgd:train.learning_rate=1e-3",
    "fgd:train.learning_rate=3e-3,train.directions=4",
]
# The trained part, and each optimizer of it. Lion's rate is a tenth of AdamW's, within its
# paper's three to ten times; the other rates are not tuned.
OPTIMIZERS = {
    "adapters": [
        "backprop:train.optimizer=adamw,train.learning_rate=3e-3",
        "backprop:train.optimizer=adamw-8bit,train.learning_rate=3e-3",
        "backprop:train.optimizer=lion,train.learning_rate=3e-4",
        "backprop:train.optimizer=lion,train.momentum_dtype=bfloat16,"
        "train.learning_rate=3e-4",
        "backprop:train.optimizer=adafactor,train.learning_rate=3e-3",
        "backprop:train.optimizer=sgd,train.momentum=0.9,"
        "train.learning_rate=1e-1",
    ],
    "weights": [
        "backprop:train.optimizer=adamw,train.learning_rate=3e-4",
        "backprop:train.optimizer=adamw-8bit,train.learning_rate=3e-4",
        "backprop:train.optimizer=lion,train.learning_rate=3e-5",
        "backprop:train.optimizer=adafactor,train.learning_rate=3e-4",
        "backprop:train.optimizer=sinkgd,train.learning_rate=3e-4",
    ],
}


def parse_arguments():
    shared = pathlib.Path(os.environ.get("HONE_SHARED", "../shared")) / "data"
    parser = settings.parser("--methods", __doc__, argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--model", type=pathlib.Path, default=shared / "stories260k")
    add("--data", type=pathlib.Path, default=shared / "wikitext2/valid.txt")
    add("--eval-data", type=pathlib.Path, default=shared / "wikitext2/test.txt")
    add("--eval-lines", type=settings.whole(0), default=200,
        help="of the held-out file, from its beginning")
    add("--method", action="append", metavar="NAME[:KEY=VALUE,...]",
        help="instead of the list in methods.py; repeatable")
    add("--optimizers", choices=OPTIMIZERS,
        help="compare the optimizers of adapters, or of all weights")
    add("--seeds", type=settings.count, default=3)
    add("--steps", type=settings.count, default=1000)
    add("--evaluations", type=settings.count, default=10, help="of the held-out loss")
    add("--sequence", type=settings.count, default=128)
    add("--batch", type=settings.count, default=4)
    add("--rank", type=settings.count, default=8)
    add("--threads", type=settings.count, default=len(os.sched_getaffinity(0)))
    add("--folder", type=pathlib.Path, help="default: BUILD/bench/methods")
    return parser.parse_args()


@dataclasses.dataclass
class Run:
    """One seed: (step, seconds, held-out loss) as it trained."""
    seed: int
    curve: list
    seconds: float
    peak_bytes: int


class Method:
    """A compiled method and its runs."""

    def __init__(self, text):
        self.name, _, rest = text.partition(":")
        self.settings = settings.parse("--method", rest) if rest else []
        self.factor = 1
        for setting in list(self.settings):
            if setting.startswith("steps="):
                self.factor = int(setting.removeprefix("steps="))
                self.settings.remove(setting)
        short = [s.split(".", 1)[-1] for s in self.settings]
        self.label = " ".join([self.name] + short)
        self.runs = []

    def compile(self, arguments, folder):
        self.folder = folder / self.label.replace(" ", "-").replace("=", "-")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        spec = self.folder / "spec.yaml"
        lora = "none" if arguments.optimizers == "weights" else (
            f"{{r: {arguments.rank}, lora_alpha: {2 * arguments.rank}, "
            f"target_modules: all-linear}}")
        spec.write_text(
            f"model: {json.dumps(str(arguments.model.resolve()))}\n"
            f"lora: {lora}\n"
            f"train: {{method: {self.name}, batch_size: {arguments.batch}, "
            f"max_seq_length: {arguments.sequence}, "
            f"lr_scheduler_type: constant, save_every: 0}}\n")
        settings = [part for s in self.settings for part in ("--set", s)]
        self.plan = json.loads(run_checked(
            [arguments.build / "bin" / "honec", spec, *settings,
             "--print-plan=json", "-o", self.folder / "out"]))

    def train(self, arguments, held_out, seed):
        steps = arguments.steps * self.factor
        log, output = self.folder / "log.jsonl", self.folder / "run"
        log.unlink(missing_ok=True)
        shutil.rmtree(output, ignore_errors=True)
        started = time.monotonic()
        run_checked(
            [self.folder / "out" / "train", "--data", arguments.data,
             "--output", output, "--log", log, "--seed", seed, "--steps",
             steps, "--threads", arguments.threads, "--eval-data", held_out,
             "--eval-every", max(1, steps // arguments.evaluations)])
        seconds, curve, peak = 0.0, [], 0
        tokens = arguments.sequence * arguments.batch
        for line in map(json.loads, log.read_text().splitlines()):
            if "eval_loss" in line:
                curve.append((line["step"], seconds, line["eval_loss"]))
            else:
                seconds += tokens / line["tokens_per_second"]
                peak = max(peak, line["peak_anonymous_bytes"])
        run = Run(seed, curve, seconds, peak)
        self.runs.append(run)
        print(f"{self.label}, seed {seed}: held-out loss {curve[-1][2]:.4f} "
              f"after {steps} steps in {seconds:.1f} s "
              f"({time.monotonic() - started:.1f} with evaluations)",
              flush=True)

    def final(self):
        return [run.curve[-1][2] for run in self.runs]

    def mean_curve(self):
        """(seconds, loss), both means over the seeds."""
        return [(statistics.mean(p[1] for p in points),
                 statistics.mean(p[2] for p in points))
                for points in zip(*(run.curve for run in self.runs))]


def table(methods, first_loss):
    reference = methods[0]
    rows = [("method", "steps", "held-out loss", "+-", "loss / first", "step ms",
             "total s",
             "time / first", "FLOP / first", "planned MiB", "peak MiB")]
    step = {m.label: statistics.median(r.seconds / r.curve[-1][0]
                                       for r in m.runs) for m in methods}
    for m in methods:
        losses = m.final()
        spread = statistics.stdev(losses) if len(losses) > 1 else 0.0
        rows.append((
            m.label, str(m.runs[0].curve[-1][0]),
            f"{statistics.mean(losses):.4f}", f"{spread:.4f}",
            f"{statistics.mean(losses) / statistics.mean(reference.final()):.4f}",
            f"{step[m.label] * 1e3:.2f}",
            f"{statistics.mean(r.seconds for r in m.runs):.1f}",
            f"{step[m.label] / step[reference.label]:.2f}",
            f"{m.plan['flops'] / reference.plan['flops']:.2f}",
            f"{m.plan['peak_bytes'] / MIB:.2f}",
            f"{max(r.peak_bytes for r in m.runs) / MIB:.2f}"))
    return rows, f"before training: {first_loss:.4f}"


def main():
    arguments = parse_arguments()
    folder = arguments.folder or arguments.build.resolve() / "bench" / "methods"
    folder.mkdir(parents=True, exist_ok=True)
    held_out = folder / f"held-out{arguments.eval_data.suffix}"
    lines = arguments.eval_data.read_text().splitlines(keepends=True)
    held_out.write_text("".join(lines[:arguments.eval_lines]))
    methods = [Method(text) for text in
               arguments.method or OPTIMIZERS.get(arguments.optimizers, METHODS)]
    settings.check_names("--method", [method.label for method in methods])
    for method in methods:
        method.compile(arguments, folder)
    # The spec of the first method names the model; a fresh adapter is the model.
    text = run_checked([methods[0].folder / "out" / "train", "--eval-only",
                        "--eval-data", held_out, "--threads",
                        arguments.threads])
    first_loss = float(text.split("eval loss")[1].split()[0])
    # Seeds outside, so that a busy hour is everybody's.
    for seed in range(1, arguments.seeds + 1):
        for method in methods:
            method.train(arguments, held_out, seed)
    rows, note = table(methods, first_loss)
    print()
    print(report.text_table(rows))
    print(note)
    (folder / "methods.json").write_text(json.dumps({
        "arguments": {k: str(v) for k, v in vars(arguments).items()},
        "first_loss": first_loss,
        "methods": [{"label": m.label, "settings": m.settings,
                     "plan": m.plan, "runs": list(map(dataclasses.asdict,
                                                      m.runs))}
                    for m in methods]}, indent=1) + "\n")
    (folder / "methods.svg").write_text(curves.svg(
        [(m.label, [(0.0, first_loss)] + m.mean_curve()) for m in methods],
        [(m.label, m.plan["peak_bytes"] / MIB, statistics.mean(m.final()))
         for m in methods],
        f"{arguments.model.name}, {arguments.steps} steps, "
        f"{arguments.seeds} seeds"))
    print(f"written: {folder}/methods.json, methods.svg")


if __name__ == "__main__":
    run_main(main)
