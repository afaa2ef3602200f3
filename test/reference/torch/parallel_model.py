# ===- parallel_model.py - A block that no importer makes, in torch --------===#
#
# y = x + attention(n(x)) + mlp(n(x)): both branches read one RMSNorm of the
# block's input. The reference for a hand-written .mlir block: module names are
# the names in models/parallel-tiny/model.safetensors, not those of Llama.
#
# ===-----------------------------------------------------------------------===#

import torch
from torch import nn
from torch.nn import functional as F

from make_models import module_shapes
from numpy_forward import inverse_frequencies


class ParallelBlock(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.head_dim = config["head_dim"]
        self.norm = nn.RMSNorm(config["hidden_size"], eps=config["rms_norm_eps"])
        for name, (outputs, inputs) in module_shapes(config).items():
            setattr(self, name, nn.Linear(inputs, outputs, bias=False))

    def forward(self, x, cos, sin):
        y = self.norm(x)
        mlp = self.down(F.silu(self.gate(y)) * self.up(y))
        return x + self._attention(y, cos, sin) + mlp

    def _attention(self, y, cos, sin):
        def heads(z):  # [tokens, heads * head_dim] -> [heads, tokens, head_dim]
            return z.view(len(z), -1, self.head_dim).transpose(0, 1)

        q = rotate(heads(self.q(y)), cos, sin)
        k = rotate(heads(self.k(y)), cos, sin)
        v = heads(self.v(y))
        group = len(q) // len(k)
        k, v = k.repeat_interleave(group, 0), v.repeat_interleave(group, 0)
        score = q @ k.transpose(1, 2) * self.head_dim**-0.5
        future = torch.ones(len(y), len(y), dtype=torch.bool).triu(1)
        p = score.masked_fill(future, float("-inf")).softmax(-1)
        return self.o((p @ v).transpose(0, 1).reshape(len(y), -1))


class ParallelModel(nn.Module):
    """forward(input_ids[tokens]) -> logits[tokens, vocab]."""

    def __init__(self, config):
        super().__init__()
        hidden, vocab = config["hidden_size"], config["vocab_size"]
        self.settings = config
        self.embed = nn.Embedding(vocab, hidden)
        self.layers = nn.ModuleList(
            ParallelBlock(config) for _ in range(config["num_hidden_layers"])
        )
        self.norm = nn.RMSNorm(hidden, eps=config["rms_norm_eps"])
        self.head = nn.Linear(hidden, vocab, bias=False)

    def forward(self, input_ids):
        x = self.embed(input_ids)
        frequency = torch.from_numpy(inverse_frequencies(self.settings)).to(x)
        angle = torch.outer(torch.arange(len(x)).to(x), frequency)
        cos, sin = angle.cos(), angle.sin()
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.head(self.norm(x))


def rotate(x, cos, sin):
    """RoPE on halves: (a, b) -> (a cos - b sin, b cos + a sin)."""
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)
