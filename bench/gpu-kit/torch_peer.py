#!/usr/bin/env python3
"""PyTorch + PEFT on a GPU: variants of it, on Hone's weights file and ids.

The model is that of bench/peers/torch_worker.py, which lies beside this file in
the kit. With --serve it reads requests, a line of JSON each, and answers each
with a line. Each is a process of its own, forked once everything is imported: it
has the memory of the device to itself, and can be ended when its time is over.
With --waits it reads one request, trains on the processor, and names each op of a
step that would wait for a device: such a step cannot become a CUDA graph.
"""

import argparse
import json
import os
import select
import signal
import statistics
import sys
import time

# The worker's options for each variant.
VARIANTS = {
    "eager": {},
    "captured": {"capture": True},
    "layers": {"compile_layers": True},
    "captured-layers": {"compile_layers": True, "capture": True},
    "captured-compiled": {"compile": True, "capture": True},
    "compiled": {"compile": True},
    "graphs": {"compile": True, "mode": "reduce-overhead"},
    "checkpointing": {"checkpointing": True},
}
PROJECTIONS = ["q_proj", "k_proj", "v_proj", "o_proj",
               "gate_proj", "up_proj", "down_proj"]
# The second and third step of a compiler may compile again.
WARM_UP = 4


def probe():
    """The rate of a matrix product on random numbers, by events."""
    import torch

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


def options_of(request, device):
    """Of torch_worker.make_step."""
    return {
        "model": request["config"], "weights": request["weights"],
        "data": request["ids"], "batch": request["batch"], "dtype": "bfloat16",
        "device": device, "compile": False, "checkpointing": False,
        "whole_sequences": True, "threads": 0, "rank": 8, "alpha": 16,
        "optimizer": "adamw", "learning_rate": 1e-4, "projections": PROJECTIONS,
        **VARIANTS[request["variant"]], **request.get("options", {})}


def train(request, send):
    """Sends a message when it has begun, for each step, and the memory at the end."""
    import torch
    from torch_worker import make_step

    device = request.get("device", "cuda")
    if device == "cuda" and not torch.cuda.is_available():
        raise RuntimeError("torch sees no GPU")
    send({"began": "its model"})
    step = make_step(options_of(request, device))
    send({"began": "its first step"})
    for _ in range(request["steps"] + WARM_UP):
        start = time.perf_counter()
        loss = step()
        seconds = time.perf_counter() - start
        memory = {}
        if device == "cuda":
            free, total = torch.cuda.mem_get_info()
            memory = {
                # With the allocator's cache and the context, as others see it.
                "device_mebibytes": round((total - free) / 2 ** 20),
                "allocated_mebibytes":
                    round(torch.cuda.max_memory_allocated() / 2 ** 20)}
        send({"loss": loss, "seconds": seconds, "memory": memory})


def summary(steps, versions):
    """Of the steps that there are: fewer than were asked if time was over."""
    measured = [1000 * each["seconds"] for each in steps[WARM_UP:]]
    return {"median": statistics.median(measured), "least": min(measured),
            "most": max(measured), "steps": len(measured),
            "first_loss": steps[0]["loss"], "last_loss": steps[-1]["loss"],
            "first_seconds": steps[0]["seconds"], **steps[-1]["memory"],
            **versions}


def waits(request):
    """Ops of the second step on the processor that ask a tensor for a number, or
    for as many elements as its numbers say, and where Python called them."""
    import traceback

    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch_worker import make_step

    aten = torch.ops.aten
    asks = {aten._local_scalar_dense, aten.item, aten.is_nonzero, aten.equal,
            aten.nonzero, aten.masked_select, aten._unique2, aten.unique_dim,
            aten.unique_consecutive, aten.repeat_interleave, aten.bincount}

    class Waits(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.found, self.ops = [], 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.ops += 1
            # An index of truth values is one of as many places as are true.
            by_mask = func.overloadpacket in (aten.index, aten.index_put) and any(
                each is not None and each.dtype in (torch.bool, torch.uint8)
                for each in args[1])
            if func.overloadpacket in asks or by_mask:
                caller = [each for each in traceback.extract_stack()
                          if "/torch/" not in each.filename][-2]
                self.found.append(f"{func} in {caller.name}, "
                                  f"{caller.filename.rpartition('/')[2]}:{caller.lineno}")
            return func(*args, **(kwargs or {}))

    step = make_step(options_of(request, "cpu"))
    first = step()
    with Waits() as seen:
        loss = step.without_waiting()
    return {"waits": seen.found, "ops": seen.ops, "losses": [first, loss.item()]}


def one_line(error):
    lines = [line for line in str(error).splitlines() if line.strip()]
    text = f"{type(error).__name__}: {lines[0].strip() if lines else ''}"
    return text.replace('"', "'")[:200]


def answer(request, versions):
    """The answer of a process of its own, within the request's seconds."""
    deadline = time.monotonic() + request["seconds"]
    here, there = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(here)
        os.dup2(2, 1)  # libraries' output is no answer
        with os.fdopen(there, "w") as out:
            def send(message):
                out.write(json.dumps(message) + "\n")
                out.flush()
            try:
                train(request, send)
            except BaseException as error:  # of any library
                send({"failed": one_line(error)})
        os._exit(0)
    os.close(there)
    steps, began, failed, rest = [], "nothing", None, b""
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([here], [], [], left)[0]:
            failed = f"was ended after {request['seconds']} s, in {began}"
            break
        chunk = os.read(here, 65536)
        if not chunk:
            break
        *lines, rest = (rest + chunk).split(b"\n")
        for message in map(json.loads, lines):
            began = message.get("began", began)
            failed = message.get("failed", failed)
            if "loss" in message:
                steps.append(message)
                began = f"step {len(steps) + 1}"
    try:
        os.kill(child, signal.SIGKILL)
    except ProcessLookupError:
        pass
    os.close(here)
    os.waitpid(child, 0)
    if len(steps) > WARM_UP:
        cut = {"cut": failed} if failed else {}
        return {**summary(steps, versions), **cut}
    return {"failed": failed or f"ended by itself in {began}"}


def serve():
    import peft
    import torch
    import transformers
    import torch_worker  # noqa: F401: imported once for all children

    versions = {"torch": torch.__version__, "peft": peft.__version__,
                "transformers": transformers.__version__}
    print(json.dumps(versions), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), versions)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--probe", action="store_true",
                      help="only the rate of a matrix product")
    kind.add_argument("--serve", action="store_true",
                      help="answer requests from standard input")
    kind.add_argument("--waits", action="store_true",
                      help="name what waits for a device in the request's step")
    given = parser.parse_args()
    if given.serve:
        serve()
    elif given.waits:
        print(json.dumps(waits(json.loads(sys.stdin.readline())), indent=1))
    else:
        print(json.dumps(probe()))


main()
