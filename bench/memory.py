"""Peak memory beside the figures of the MeSP paper (tables 1 and 2).

For each of the paper's twelve configurations: the fastest plan within a share
of the paper's figure, its estimated time beside that of residuals: mebp, and,
with --measure, what runs of both compiled programs take, in turns, on weights that are
drawn as int4. The spec is the paper's: batch 1, LoRA r = 8 in bfloat16 on all seven
projections, 4-bit weights in groups of 64, SGD.
"""

import json
import os
import pathlib
import shutil
import statistics
import time

import report
import settings
from build_tools import run_checked, run_main
from workload import Workload, find_config

MIB = 1024 * 1024
# MiB of the whole process, by model and tokens of a sequence.
MESP = {
    "Qwen2.5-0.5B": {128: 110.7, 256: 136.2, 512: 245.8, 1024: 513.6},
    "Qwen2.5-1.5B": {128: 165.2, 256: 262.6, 512: 432.8, 1024: 798.5},
    "Qwen2.5-3B": {128: 245.6, 256: 368.4, 512: 505.3, 1024: 925.8},
}


def parse_arguments():
    parser = settings.parser("--memory", __doc__)
    add = parser.add_argument
    add("--measure", action="store_true",
        help="also compile and run (3B: 2 GB of disk)")
    add("--alone", action="store_true",
        help="measure the planned program without the one of residuals: mebp")
    add("--model", action="append", choices=list(MESP),
        help="only this one; repeatable")
    add("--sequence", action="append", type=settings.count, help="only this length")
    add("--share", type=settings.positive, default=3, metavar="N",
        help="the budget is one N-th of the paper's figure")
    add("--steps", type=settings.count, default=2, help="of a measured run")
    add("--turns", type=settings.count, default=1,
        help="measured runs of each program; times are medians")
    add("--threads", type=settings.count, default=len(os.sched_getaffinity(0)))
    add("--set", action="append", default=[], metavar="KEY=VALUE",
        help="another key of the spec")
    add("--folder", type=pathlib.Path)
    return parser.parse_args()


def write_spec(folder, model, tokens):
    spec = folder / "spec.yaml"
    spec.write_text(
        f"model: {json.dumps(str(model))}\n"
        "weights: {dtype: int4, group_size: 64, streaming: true}\n"
        "lora: {r: 8, lora_alpha: 16, target_modules: all-linear, "
        "dtype: bfloat16}\n"
        f"train: {{optimizer: sgd, optimizer_in_backward: true, batch_size: 1, "
        f"max_seq_length: {tokens}, max_grad_norm: 0, learning_rate: 1e-4, "
        f"shuffle: false, save_every: 0}}\n")
    return spec


def describe_plan(plan):
    return (f"{plan['residuals']}, {plan['recomputed_inputs']} inputs again, "
            f"tiles of {plan['tile_rows'] or 'all'} rows")


def draw_weights(bin_dir, place, program):
    """Of the model in `place`, which all its programs read."""
    weights = place / "weights.hone.safetensors"
    if not weights.exists():
        run_checked([bin_dir / "hone-make-model", "--packed", "--seed", "1",
                     program / "weights.manifest.json", "-o", place])
    return weights


def run(arguments, workload, folder, out, weights):
    """Runs the compiled program; peaks in MiB and seconds of a step."""
    workload.make_data(folder / "data.jsonl")
    log = folder / "log.jsonl"
    log.unlink(missing_ok=True)
    shutil.rmtree(folder / "run", ignore_errors=True)
    run_checked([folder / out / "train", "--data", folder / "data.jsonl",
                 "--weights", weights, "--output", folder / "run", "--log", log, "--steps",
                 arguments.steps, "--threads", arguments.threads,
                 "--show-samples", 0])
    last = json.loads(log.read_text().splitlines()[-1])
    return (last["peak_anonymous_bytes"] / MIB,
            last["peak_resident_bytes"] / MIB,
            workload.tokens / last["tokens_per_second"])


def measure_one(arguments, model, tokens, folder, bin_dir):
    """One row of the table."""
    config = find_config(model)
    workload = Workload(config, sequence=tokens, steps=arguments.steps,
                        warmup=0)
    limit = MESP[model][tokens] / arguments.share
    place = folder / model
    place.mkdir(parents=True, exist_ok=True)
    directory = place / "config"
    directory.mkdir(exist_ok=True)
    shutil.copy(config, directory)
    spec = write_spec(place, directory, tokens)
    row = [model, str(tokens), f"{MESP[model][tokens]:.1f}", f"{limit:.1f}"]

    def compile_with(out, *keys):
        command = [bin_dir / "honec", spec, "--print-plan=json", "--set",
                   f"target.threads={arguments.threads}"]
        for key in (*arguments.set, *keys):
            command += ["--set", key]
        if arguments.measure:
            command += ["--weights-manifest", "-o", place / out]
        return json.loads(run_checked(command))

    try:
        began = time.monotonic()
        plan = compile_with("out", "train.residuals=planned",
                            f"train.memory_budget={int(limit * MIB)}")
        compiled = time.monotonic() - began
        row.append(f"{plan['peak_bytes'] / MIB:.1f}")
        names = ["out"]
        if arguments.alone:
            row.append("-")
        else:
            mebp = compile_with("mebp", "train.residuals=mebp")
            row.append(f"{plan['estimated_seconds'] / mebp['estimated_seconds']:.3f}")
            names.append("mebp")
        if arguments.measure:
            weights = draw_weights(bin_dir, place, place / "out")
            turns = [[run(arguments, workload, place, name, weights)
                      for name in names] for _ in range(arguments.turns)]
            planned = [turn[0] for turn in turns]
            ratios = [turn[0][2] / turn[-1][2] for turn in turns]
            row += [f"{max(anonymous for anonymous, _, _ in planned):.1f}",
                    f"{max(resident for _, resident, _ in planned):.1f}",
                    f"{statistics.median(s for _, _, s in planned):.2f}",
                    "-" if arguments.alone else
                    f"{statistics.median(ratios):.3f}", f"{compiled:.1f}"]
        return row + [describe_plan(plan)]
    except RuntimeError as error:
        problem = str(error).splitlines()[0].split("]: ")[-1]
        columns = 11 if arguments.measure else 6
        return row + ["-"] * (columns - len(row)) + [problem]


def main():
    arguments = parse_arguments()
    bin_dir = arguments.build.resolve() / "bin"
    folder = (arguments.folder or
              arguments.build / "bench" / "memory").resolve()
    heading = ["model", "tokens", "MeSP MiB", f"1/{arguments.share:g}",
               "planned MiB", "estimated / mebp"]
    if arguments.measure:
        heading += ["anonymous MiB", "resident MiB", "step s", "step / mebp",
                    "compile s"]
    rows = [heading + ["plan"]]
    for model in arguments.model or MESP:
        for tokens in arguments.sequence or MESP[model]:
            rows.append(measure_one(arguments, model, tokens, folder, bin_dir))
            print("  ".join(rows[-1]), flush=True)
    table = report.markdown_table(rows)
    print("\n" + report.text_table(rows))
    (folder / "memory.md").write_text(table + "\n")
    print(f"written: {folder}/memory.md")


if __name__ == "__main__":
    run_main(main)
