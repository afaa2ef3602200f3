#!/usr/bin/env python3
"""PyTorch + PEFT on a GPU: one variant, on Hone's weights file and ids.

The model is that of bench/peers/torch_worker.py, which lies beside this file in
the kit. Prints one line of JSON.
"""

import argparse
import json
import statistics
import sys
import time

import torch

# What each variant asks of the worker.
VARIANTS = {
    "eager": {},
    "compiled": {"compile": True},
    "graphs": {"compile": True, "mode": "reduce-overhead"},
    "checkpointing": {"checkpointing": True},
}
PROJECTIONS = ["q_proj", "k_proj", "v_proj", "o_proj",
               "gate_proj", "up_proj", "down_proj"]


def probe():
    """The rate of a matrix product on random numbers, by events."""
    size = 8192
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
            for _ in range(2))
    for _ in range(3):
        a @ b
    times = []
    for _ in range(10):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        a @ b
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return {"torch": torch.__version__,
            "bfloat16_teraflops":
                round(2e-9 * size ** 3 / statistics.median(times), 1)}


def measure(arguments):
    from torch_worker import make_step  # imports transformers and peft

    device = arguments.device
    step = make_step({
        "model": arguments.config, "weights": arguments.weights,
        "data": arguments.ids, "batch": arguments.batch, "dtype": "bfloat16",
        "device": device, "compile": False, "checkpointing": False,
        "threads": 0, "rank": 8, "alpha": 16, "optimizer": "adamw",
        "learning_rate": 1e-4, "projections": PROJECTIONS,
        **VARIANTS[arguments.variant]})
    losses, seconds = [], []
    # The second and third step of a compiler may compile again.
    for _ in range(arguments.steps + 4):
        start = time.perf_counter()
        losses.append(step())
        seconds.append(time.perf_counter() - start)
    measured = [1000 * each for each in seconds[4:]]
    memory = {}
    if device == "cuda":
        free, total = torch.cuda.mem_get_info()
        memory = {
            # With what the allocator keeps and the context, as others see it.
            "device_mebibytes": round((total - free) / 2 ** 20),
            "allocated_mebibytes":
                round(torch.cuda.max_memory_allocated() / 2 ** 20)}
    return {"median": statistics.median(measured), "least": min(measured),
            "most": max(measured), "steps": len(measured),
            "first_loss": losses[0], "last_loss": losses[-1],
            "first_seconds": seconds[0], **memory,
            "torch": torch.__version__}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--probe", action="store_true",
                        help="only the rate of a matrix product")
    parser.add_argument("--variant", choices=VARIANTS, default="eager")
    parser.add_argument("--config", help="folder with a config.json")
    parser.add_argument("--weights", help="Hone's weights file")
    parser.add_argument("--ids", help="JSON lines of input_ids")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    if not arguments.probe and not (arguments.config and arguments.weights
                                    and arguments.ids):
        parser.error("--config, --weights and --ids are needed")
    result = probe() if arguments.probe else measure(arguments)
    json.dump(result, sys.stdout)
    print()


main()
