"""JAX on the processor: one step, compiled ahead of its first call.

The state is donated. The program's memory by memory_analysis(), its arguments
included, stands beside its use.
"""

import itertools
import json
import os
import sys
from importlib.metadata import version

import jax
import jax.numpy as jnp

from jax_model import Model
from protocol import read_batches, serve


class Step:
    def __init__(self, options):
        # XLA takes as many threads as it sees processors.
        os.sched_setaffinity(
            0, sorted(os.sched_getaffinity(0))[:options["threads"]])
        model = Model(options)
        self.weights = model.load()
        self.state = model.initial_state(model.adapters(self.weights))
        self.batches = itertools.cycle(
            [jnp.array(batch) for batch in read_batches(options)])
        first = jnp.array(read_batches(options)[0])
        self.program = jax.jit(model.step, donate_argnums=0).lower(
            self.state, self.weights, first).compile()
        memory = self.program.memory_analysis()
        self.planned_bytes = (
            memory.argument_size_in_bytes + memory.output_size_in_bytes +
            memory.temp_size_in_bytes - memory.alias_size_in_bytes)

    def __call__(self):
        self.state, loss = self.program(self.state, self.weights,
                                        next(self.batches))
        loss = loss.item()
        jax.block_until_ready(self.state)
        return loss


serve(lambda: Step(json.loads(sys.argv[1])),
      {"jax": version("jax"), "jaxlib": version("jaxlib")})
