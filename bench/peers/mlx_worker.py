"""MLX on the processor, with the LoRA layers of mlx-lm.

MLX chooses its threads itself; it is held to the processors that the harness
gives it. Its scale is lora_alpha / r, and its lists of keys name modules
within a layer.
"""

import itertools
import json
import os
import pathlib
import sys
from importlib.metadata import version

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optimizers
from mlx.utils import tree_map
from mlx_lm.tuner.trainer import grad_checkpoint
from mlx_lm.tuner.utils import linear_to_lora_layers
from mlx_lm.utils import load_model

from protocol import read_batches, serve


def loss_of(model, ids):
    logits = model(ids[:, :-1]).astype(mx.float32)
    return nn.losses.cross_entropy(logits, ids[:, 1:], reduction="mean")


def make_step(options):
    os.sched_setaffinity(
        0, sorted(os.sched_getaffinity(0))[:options["threads"]])
    mx.set_default_device(mx.cpu)
    model, _ = load_model(pathlib.Path(options["model"]))
    dtype = getattr(mx, options["dtype"])
    model.update(tree_map(lambda value: value.astype(dtype),
                          model.parameters()))
    model.freeze()
    keys = {name for name, _ in model.layers[0].named_modules()
            if name.split(".")[-1] in options["projections"]}
    linear_to_lora_layers(
        model, len(model.layers),
        {"rank": options["rank"], "scale": options["alpha"] / options["rank"],
         "dropout": 0.0, "keys": keys})
    mx.eval(model.parameters())
    model.train()
    if options["checkpointing"]:
        grad_checkpoint(model.layers[0])
    kind = {"sgd": optimizers.SGD, "adamw": optimizers.AdamW}
    settings = {"weight_decay": 0.0} if options["optimizer"] == "adamw" else {}
    optimizer = kind[options["optimizer"]](
        learning_rate=options["learning_rate"], **settings)
    differentiate = nn.value_and_grad(model, loss_of)
    batches = itertools.cycle([mx.array(b) for b in read_batches(options)])

    def update(ids):
        loss, gradients = differentiate(model, ids)
        optimizer.update(model, gradients)
        return loss

    state = [model.state, optimizer.state]
    if options["compile"]:
        update = mx.compile(update, inputs=state, outputs=state)

    def step():
        loss = update(next(batches))
        mx.eval(state, loss)
        return loss.item()

    return step


serve(lambda: make_step(json.loads(sys.argv[1])),
      {"mlx": version("mlx"), "mlx-lm": version("mlx-lm")})
