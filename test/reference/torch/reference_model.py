# ===- reference_model.py - PyTorch + PEFT, in float32 and in true float64 -===#
#
# The float32 model is transformers as everyone runs it. A model merely cast to
# float64 is not a float64 reference: transformers still computes RoPE, RMSNorm
# and the softmax in float32. `in_float64` replaces all three.
#
# ===-----------------------------------------------------------------------===#

import json
import pathlib
import types

import numpy as np
import torch
from peft import PeftModel
from safetensors.torch import load_file
from transformers import AttentionInterface, AutoModelForCausalLM
from transformers.models.gpt_neo.modeling_gpt_neo import GPTNeoSelfAttention
from transformers.utils import logging

from gpt_models import FAMILIES
from numpy_forward import inverse_frequencies
from parallel_model import ParallelModel

logging.disable_progress_bar()
GPT_NEO_ATTENTION = GPTNeoSelfAttention._attn


def read_config(model_dir):
    return json.loads((pathlib.Path(model_dir) / "config.json").read_text())


def load_base(model_dir, dtype):
    """The model by itself, in torch.float32, float64 or bfloat16."""
    config = read_config(model_dir)
    if config["model_type"] == "parallel":
        base = ParallelModel(config)
        base.load_state_dict(load_file(pathlib.Path(model_dir) / "model.safetensors"))
        base = base.to(dtype)
    else:
        exact = dtype == torch.float64
        base = AutoModelForCausalLM.from_pretrained(
            model_dir,
            dtype=dtype,
            attn_implementation=attention_of(config, exact),
        )
        if exact and config["model_type"] not in FAMILIES:
            in_float64(base, config)
    return base


def load_whole_model(model_dir, dtype):
    """The model with all parameters trainable. Rows are no padding here: without
    padding_idx, which some configurations give, torch's gradient of a table is that
    of the loss for every token."""
    model = load_base(model_dir, dtype).to(dtype).eval().requires_grad_(True)
    model.get_input_embeddings().padding_idx = None
    return model


def load_model(model_dir, adapter_dir, dtype):
    """The base model with a trainable PEFT adapter, in torch.float32 or float64;
    with torch.bfloat16 the adapter is float32, as PEFT makes it."""
    base = load_base(model_dir, dtype)
    for parameter in base.parameters():
        parameter.requires_grad_(False)
    mixed = dtype == torch.bfloat16
    model = PeftModel.from_pretrained(
        base, str(adapter_dir), is_trainable=True, autocast_adapter_dtype=mixed
    )
    if mixed:
        trained = {p.dtype for p in model.parameters() if p.requires_grad}
        assert trained == {torch.float32}, trained
        return model.eval()
    return model.to(dtype).eval()


def attention_of(config, exact):
    if config["model_type"] == "gpt_neo":  # It has one of its own.
        GPTNeoSelfAttention._attn = _float64_gpt_neo if exact else GPT_NEO_ATTENTION
        return "eager"
    return "float64_causal" if exact else "sdpa"


def detach_layers(model, selected):
    """Lets gradients through layers that are not selected as if they were the
    identity: algorithm 1 of Park et al. 2026 (LCSB)."""

    def detach(module, inputs, named, output):
        h = inputs[0] if inputs else named["hidden_states"]
        return h + (output - h).detach()

    for index, layer in enumerate(model.get_base_model().model.layers):
        if index not in selected:
            layer.register_forward_hook(detach, with_kwargs=True)
    return model


def in_float64(model, config):
    """Makes every float32 island of a transformers decoder float64."""
    theirs, frequencies = model.model.rotary_emb, {}
    for layer in range(config["num_hidden_layers"]):
        # Models with rotary settings for each type of layer ask for it by name.
        kind = model.config.layer_types[layer] if hasattr(theirs, "layer_types") else None
        prefix = f"{kind}_" if kind else ""
        frequency = torch.from_numpy(inverse_frequencies(config, layer))
        found = getattr(theirs, prefix + "inv_freq").double()
        assert torch.allclose(found, frequency, rtol=1e-6, atol=0), "RoPE differs"
        assert getattr(theirs, prefix + "attention_scaling") == 1.0
        frequencies[kind] = frequency
    model.model.rotary_emb = Float64Rope(frequencies)
    embedding = model.model.embed_tokens
    if hasattr(embedding, "embed_scale"):
        scale = torch.tensor(embedding.scalar_embed_scale, dtype=torch.float64)
        assert torch.allclose(embedding.embed_scale.double(), scale)
        embedding.embed_scale = scale
    for module in model.modules():
        if type(module).__name__.endswith("RMSNorm"):
            module.forward = types.MethodType(_float64_rms_norm, module)


class Float64Rope(torch.nn.Module):
    def __init__(self, frequencies):
        super().__init__()
        self.frequencies = frequencies

    def forward(self, x, position_ids, layer_type=None):
        angle = position_ids[..., None].double() * self.frequencies[layer_type]
        angle = torch.cat((angle, angle), dim=-1)
        return angle.cos(), angle.sin()


def _float64_rms_norm(self, x):
    assert x.dtype == torch.float64
    mean_square = x.pow(2).mean(-1, keepdim=True)
    if hasattr(self, "variance_epsilon"):
        return self.weight * (x / torch.sqrt(mean_square + self.variance_epsilon))
    return (1 + self.weight) * (x / torch.sqrt(mean_square + self.eps))  # Gemma


def _float64_causal_attention(module, q, k, v, attention_mask, scaling, **kwargs):
    """q [batch, heads, tokens, head_dim]; causal with any given mask, and in
    the window that the model asks for."""
    assert q.dtype == torch.float64
    groups = getattr(module, "num_key_value_groups", 1)
    k = k.repeat_interleave(groups, 1)
    v = v.repeat_interleave(groups, 1)
    score = q @ k.transpose(2, 3) * scaling
    hidden = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool).triu(1)
    if window := kwargs.get("sliding_window"):
        hidden |= hidden.new_ones(hidden.shape).tril(-window)
    p = score.masked_fill(hidden, float("-inf")).softmax(-1)
    return (p @ v).transpose(1, 2).contiguous(), p


def _float64_gpt_neo(self, query, key, value, attention_mask=None):
    """Without the casts to float32; the window is in the module's mask."""
    assert query.dtype == torch.float64
    score = query @ key.transpose(2, 3)
    seen = self.bias[:, :, : score.shape[2], : score.shape[3]].bool()
    p = score.masked_fill(~seen, float("-inf")).softmax(-1)
    return p @ value, p


AttentionInterface.register("float64_causal", _float64_causal_attention)


def mean_nll(model, batch, regularization=None):
    """Mean negative log-likelihood over all targets of a batch.

    `batch` is a list of (input_ids, labels); labels stand at their own token's
    place, as in transformers, so labels[i + 1] is the target of row i and
    labels[0] never counts. Sequences run one by one: no padding is involved.
    """
    total, count, first = 0.0, 0, 0
    for ids, labels in batch:
        if regularization:
            regularization.begin(first, len(ids))
        first += len(ids)
        ids = torch.tensor(ids)
        targets = torch.tensor(labels[1:])
        base = model.get_base_model() if isinstance(model, PeftModel) else model
        if isinstance(base, ParallelModel):
            logits = model(ids)
        else:
            logits = model(input_ids=ids[None], use_cache=False).logits[0]
        # As transformers' own loss does.
        if logits.dtype == torch.bfloat16:
            logits = logits.float()
        total = total + torch.nn.functional.cross_entropy(
            logits[:-1],
            targets,
            ignore_index=-100,
            reduction="sum",
            label_smoothing=regularization.smoothing if regularization else 0.0,
        )
        count += int((targets != -100).sum())
    return total / count


def name_in_files(name):
    """Of an adapter's parameter, as PEFT saves it."""
    magnitude = "lora_magnitude_vector"
    name = name.replace(".default", "").replace(".modules_to_save", "")
    return name.replace(f"{magnitude}.weight", magnitude)


def gradients(model, batch, regularization=None):
    """The loss and the gradient of all that trains, as float64: of an adapter
    under PEFT's names."""
    model.zero_grad()
    loss = mean_nll(model, batch, regularization)
    loss.backward()
    found = {
        name_in_files(name): (
            np.zeros(p.shape) if p.grad is None else p.grad.numpy().astype(np.float64)
        )
        for name, p in model.named_parameters()
        if p.requires_grad
    }
    return float(loss.detach()), found


def read_batch(path):
    lines = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    return [(line["input_ids"], line["labels"]) for line in lines]
