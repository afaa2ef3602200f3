# ===- regularization.py - Masks and noise as compiled models draw them ----===#
#
# The rules of dialects/Hone/HoneModelOps.td, on the random words of philox.py;
# masks take the place of PEFT's dropout and NEFTune's noise in the models.
#
# ===-----------------------------------------------------------------------===#

import numpy as np
import torch
from peft.tuners.lora import LoraLayer

from numpy_forward import NumpyModel
from philox import halves, philox, stream

DROPOUT, NOISE = 3, 10  # purposes
EMBEDDING = "model.embed_tokens"


class Regularization:
    """The draws of a run with `seed` for the first batch of its first step.

    Rows are those of the batch, in which sequences follow one another: `begin`
    tells where the next one is, as the models run them one by one.
    """

    def __init__(self, dropout, alpha, smoothing, seed=42):
        self.dropout, self.alpha, self.smoothing = dropout, alpha, smoothing
        self.seed = seed
        self.begin(0, 0)

    def begin(self, first, length):
        self.first, self.length = first, length

    def _words(self, purpose, name, columns):
        """uint32[length, columns] of the rows of this sequence."""
        own = stream(purpose, name, self.seed)
        row = np.arange(self.first, self.first + self.length, dtype=np.uint64)[:, None]
        column = np.arange(columns, dtype=np.uint64)[None, :]
        groups = np.uint64((columns + 63) // 64)
        group = row * groups + column // np.uint64(64)
        block = group * np.uint64(16) + column % np.uint64(16)
        low, high = block & np.uint64(0xFFFFFFFF), block >> np.uint64(32)
        words = np.stack(philox((low, high, *own), halves(self.seed)))
        which = np.broadcast_to(column // np.uint64(16) % np.uint64(4), block.shape)
        return np.take_along_axis(words, which[None].astype(np.int64), 0)[0]

    def mask(self, module, columns):
        """The factors of the input of the module's adapter."""
        kept = self._words(DROPOUT, module, columns) >= round(self.dropout * 2**32)
        return kept / (1 - self.dropout)

    def noise(self, columns):
        """The noise of embeddings."""
        words = self._words(NOISE, EMBEDDING, columns)
        uniform = (words >> np.uint64(8)).astype(np.float64) * 2.0**-23 - 1
        return self.alpha / np.sqrt(self.length * columns) * uniform


class _Dropout(torch.nn.Module):
    def __init__(self, regularization, module):
        super().__init__()
        self.regularization, self.module = regularization, module

    def forward(self, x):
        mask = self.regularization.mask(self.module, x.shape[-1])
        return x * torch.from_numpy(mask).to(x.dtype)


def regularize(model, regularization):
    """Gives a PEFT model the masks and the noise."""
    for name, module in model.get_base_model().named_modules():
        if isinstance(module, LoraLayer):
            module.lora_dropout["default"] = _Dropout(regularization, name)

    def add_noise(module, inputs, output):
        noise = regularization.noise(output.shape[-1])
        return output + torch.from_numpy(noise).to(output.dtype)

    model.get_input_embeddings().register_forward_hook(add_noise)
    return model


class RegularizedNumpyModel(NumpyModel):
    def __init__(self, regularization, *model):
        super().__init__(*model)
        self.regularization = regularization

    def mean_nll(self, batch):
        total, count, first = 0.0, 0, 0
        for ids, labels in batch:
            self.regularization.begin(first, len(ids))
            first += len(ids)
            targets = np.asarray(labels[1:])
            rows = np.flatnonzero(targets != -100)
            logits = self._logits(np.asarray(ids))[rows]
            logits -= logits.max(axis=1, keepdims=True)
            nll = np.log(np.exp(logits).sum(axis=1, keepdims=True)) - logits
            smoothing = self.regularization.smoothing
            total += (1 - smoothing) * nll[np.arange(rows.size), targets[rows]].sum()
            total += smoothing * nll.mean(axis=1).sum()
            count += rows.size
        return total / count

    def _embed(self, ids):
        x = super()._embed(ids)
        return x + self.regularization.noise(x.shape[1])

    def _adapter_input(self, x, module):
        return x * self.regularization.mask(module, x.shape[1])
