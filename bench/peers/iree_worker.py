"""IREE on the processor: the step of jax_model.py as StableHLO, compiled ahead.

The program stays in the folder of compiled ones. IREE has no donated
arguments, so a step has the adapters twice.
"""

import hashlib
import itertools
import json
import os
import pathlib
import re
import sys
from importlib.metadata import version

import iree.compiler
import iree.runtime
import jax
import jax.numpy as jnp
import numpy as np

from jax_model import Model
from protocol import read_batches, serve

# Of O3 its compiler says that vectors are too large.
FLAGS = ["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O2"]
# How JAX asks for sums in float32 of bfloat16, which the types say too; IREE
# takes no product with it.
ALGORITHM = re.compile(r", algorithm = <[^>]*>")


def compiled(text, folder):
    """The file of IREE's program for a module of StableHLO."""
    key = hashlib.sha256(json.dumps(
        [text, FLAGS, version("iree-base-compiler")]).encode()).hexdigest()
    path = pathlib.Path(folder) / f"iree-{key[:16]}.vmfb"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        iree.compiler.compile_str(
            text, input_type="stablehlo", target_backends=["llvm-cpu"],
            extra_args=FLAGS, output_file=str(new))
        new.replace(path)
    return path


class Step:
    def __init__(self, options):
        os.sched_setaffinity(
            0, sorted(os.sched_getaffinity(0))[:options["threads"]])
        iree.runtime.flags.parse_flags(
            f"--task_topology_group_count={options['threads']}")
        model = Model(options)
        weights = model.load()
        state = model.initial_state(model.adapters(weights))
        batches = [np.array(batch, np.int32) for batch in read_batches(options)]
        lowered = jax.jit(model.step, keep_unused=True).lower(
            state, weights, jnp.array(batches[0]))
        config = iree.runtime.Config("local-task")
        module = iree.runtime.load_vm_module(iree.runtime.VmModule.mmap(
            config.vm_instance,
            str(compiled(ALGORITHM.sub("", lowered.as_text("stablehlo")),
                         options["cache"]))), config)
        self.program = module.main

        def on_device(values):
            return [iree.runtime.asdevicearray(config.device, np.asarray(value))
                    for value in jax.tree.leaves(values)]

        self.state, self.weights = on_device(state), on_device(weights)
        self.batches = itertools.cycle(on_device(batches))

    def __call__(self):
        *self.state, loss = self.program(*self.state, *self.weights,
                                         next(self.batches))
        return loss.to_host().item()


serve(lambda: Step(json.loads(sys.argv[1])),
      {name: version(name) for name in
       ("iree-base-compiler", "iree-base-runtime", "jax")})
