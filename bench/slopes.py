#!/usr/bin/env python3
"""slopes.py MODEL DATA [options]: slopes of HOSL from hidden states in bfloat16.

A client with one direction and an update of plain SGD moves along that direction by its slope, so
what a run of one step has moved lora_B by is the slope. Each seed is a direction, and trains once with
`exchange: {dtype: float32}` and once with bfloat16, over a local socket. Prints the ratio of both
slopes by seed, and the error relative to the root mean square of the slopes in float32.

    PATH=build/release/bin:$PATH bench/slopes.py $HONE_SHARED/data/stories260k input.txt
"""

import argparse
import array
import json
import math
import pathlib
import struct
import tempfile

import settings
from build_tools import run_checked, run_main
from split_programs import train_together


def compile_programs(options, folder, dtype):
    spec = folder / f"{dtype}.yaml"
    spec.write_text(f"""model: {options.model}
weights: {{dtype: float32}}
train: {{batch_size: {options.batch}, max_seq_length: {options.length}, optimizer: sgd,
        learning_rate: 1.0, lr_scheduler_type: constant}}
parts:
  lower: {{layers: 0-{options.below}, method: mezo, directions: 1,
          perturbation_scale: {options.scale}, program: client}}
  upper: {{method: backprop, program: server}}
exchange: {{dtype: {dtype}}}
""")
    run_checked(["honec", spec, "-o", folder / dtype])
    return folder / dtype


def moved(path):
    """All numbers of lora_B, which begin at 0."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    numbers = array.array("f")
    for name, tensor in sorted(json.loads(data[8:8 + size]).items()):
        if "lora_B" in name:
            begin, end = tensor["data_offsets"]
            numbers.frombytes(data[8 + size + begin:8 + size + end])
    return numbers


def train(options, folder, programs, seed):
    out = folder / f"{programs.name}-{seed}"
    out.mkdir()
    train_together(programs, out, ["--data", options.data, "--steps", 1, "--save-every", 0],
                   ["--seed", seed, "--threads", 1])
    return moved(out / "client/adapter_model.safetensors")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--seeds", type=settings.count, default=12)
    parser.add_argument("--below", type=settings.whole(0), default=1, help="the client's last layer")
    parser.add_argument("--batch", type=settings.count, default=8)
    parser.add_argument("--length", type=settings.count, default=64)
    parser.add_argument("--scale", type=settings.positive, nargs="+", default=[1e-3, 1e-2])
    options = parser.parse_args()
    options.model = pathlib.Path(options.model).resolve()
    scales = options.scale
    print("| perturbation_scale | directions | ratio of slopes, from | to | error | signs that differ |")
    print("|--:|--:|--:|--:|--:|--:|")
    for options.scale in scales:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            exact, rounded = (compile_programs(options, folder, dtype)
                              for dtype in ("float32", "bfloat16"))
            ratios, squares, errors = [], 0, 0
            for seed in range(1, options.seeds + 1):
                one, other = (train(options, folder, programs, seed)
                              for programs in (exact, rounded))
                # Both move along one direction z: these are c z and c' z.
                square = math.fsum(x * x for x in one)
                ratio = math.fsum(x * y for x, y in zip(one, other)) / square
                ratios.append(ratio)
                squares += square
                errors += square * (ratio - 1) ** 2
            print(f"| {options.scale:g} | {options.seeds} | {min(ratios):.3f} | {max(ratios):.3f} |"
                  f" {100 * math.sqrt(errors / squares):.1f} % | {sum(r < 0 for r in ratios)} |",
                  flush=True)


if __name__ == "__main__":
    run_main(main)
