"""ExecuTorch on the processor: the joint graph of a step, exported ahead.

Its program gives the loss and the gradients in memory that it plans, the arena;
an optimizer of its runtime is outside of it. A trained weight is one of the
program's constants, which the plan does not have.
"""

import itertools
import json
import sys
from importlib.metadata import version

import torch
from executorch.exir import EdgeCompileConfig, to_edge
from executorch.extension.pybindings.portable_lib import (
    _load_for_executorch_from_buffer)
from executorch.extension.training import TrainingModule, get_sgd_optimizer
from torch.export.experimental import _export_forward_backward
from torch.nn.attention import SDPBackend, sdpa_kernel

from protocol import read_batches, serve
from torch_worker import load_model, loss_of, with_adapters


class Loss(torch.nn.Module):
    """A joint graph is that of a module whose first result is the loss."""

    def __init__(self, options):
        super().__init__()
        model = load_model(options, getattr(torch, options["dtype"]))
        model.config.use_cache = False
        self.model = with_adapters(model, options)
        self.loss = loss_of(self.model, {"whole_sequences": True})

    def forward(self, ids):
        return self.loss(ids)


def without_empty_permuted(program):
    """The runtime has no aten::empty_permuted, which is an empty, permuted."""
    graph, aten = program.graph, torch.ops.aten
    for node in graph.find_nodes(op="call_function",
                                 target=aten.empty_permuted.default):
        sizes, order = node.args
        with graph.inserting_before(node):
            empty = graph.call_function(
                aten.empty.memory_format, ([sizes[i] for i in order],),
                node.kwargs)
            node.replace_all_uses_with(graph.call_function(
                aten.permute.default,
                (empty, [order.index(i) for i in range(len(order))])))
        graph.erase_node(node)
    return program


def exported(loss, ids):
    """ExecuTorch's program, its memory planned by its default, greedy."""
    with sdpa_kernel([SDPBackend.MATH]):  # as in its examples
        joint = without_empty_permuted(_export_forward_backward(
            torch.export.export(loss, (ids,), strict=False)))
    return to_edge(
        joint, compile_config=EdgeCompileConfig(_check_ir_validity=False)
    ).to_executorch()


class Step:
    def __init__(self, options):
        if options["optimizer"] != "sgd":
            raise ValueError("ExecuTorch has no optimizer but SGD")
        torch.manual_seed(0)
        torch.set_num_threads(options["threads"])
        batches = [torch.tensor(batch) for batch in read_batches(options)]
        program = exported(Loss(options), batches[0])
        self.planned_bytes = sum(
            size for plan in program.executorch_program.execution_plan
            for size in plan.non_const_buffer_sizes)
        self.rate = options["learning_rate"]
        self.batches = itertools.cycle(batches)
        self.buffer = program.buffer  # the module points into it
        self.module = TrainingModule(
            _load_for_executorch_from_buffer(self.buffer))
        self.optimizer = None

    def __call__(self):
        loss, = self.module.forward_backward("forward", (next(self.batches),))
        # The module knows its parameters after the first pass.
        self.optimizer = self.optimizer or get_sgd_optimizer(
            self.module.named_parameters(), self.rate)
        self.optimizer.step(self.module.named_gradients())
        return loss.item()


if __name__ == "__main__":
    serve(lambda: Step(json.loads(sys.argv[1])),
          {name: version(name)
           for name in ("executorch", "torch", "transformers", "peft")})
