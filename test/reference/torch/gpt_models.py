# ===- gpt_models.py - Random models with learned positions ----------------===#
#
# OPT, GPT-2 and GPT-Neo: their files, the modules with adapters, and their
# loss, written plainly in float64 like numpy_forward.py's. `opt-post-tiny` and
# `gpt2-tiny` have files of the base model alone, without its prefix.
#
# ===-----------------------------------------------------------------------===#

import math

import numpy as np

from numpy_forward import NumpyModel

FAMILIES = ("opt", "gpt2", "gpt_neo")

GPT_MODELS = {
    "opt-tiny": {
        "architectures": ["OPTForCausalLM"],
        "model_type": "opt",
        "hidden_size": 40,
        "num_attention_heads": 5,
        "ffn_dim": 72,
        "num_hidden_layers": 2,
        "vocab_size": 101,
        "max_position_embeddings": 64,
        "word_embed_proj_dim": 40,
        "activation_function": "relu",
        "do_layer_norm_before": True,
        "dropout": 0.1,
        "attention_dropout": 0.0,
        "layerdrop": 0.0,
        "torch_dtype": "float32",
    },
    "opt-post-tiny": {
        "architectures": ["OPTForCausalLM"],
        "model_type": "opt",
        "hidden_size": 48,
        "num_attention_heads": 6,
        "ffn_dim": 76,
        "num_hidden_layers": 3,
        "vocab_size": 97,
        "max_position_embeddings": 64,
        "word_embed_proj_dim": 20,
        "activation_function": "gelu",
        "do_layer_norm_before": False,
        "dropout": 0.0,
        "tie_word_embeddings": True,
        "torch_dtype": "float32",
    },
    "gpt2-tiny": {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "n_embd": 40,
        "n_head": 5,
        "n_layer": 2,
        "n_inner": None,
        "n_positions": 64,
        "n_ctx": 64,
        "vocab_size": 103,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-05,
        "scale_attn_by_inverse_layer_idx": True,
        "resid_pdrop": 0.1,
        "embd_pdrop": 0.1,
        "attn_pdrop": 0.1,
        "torch_dtype": "float32",
    },
    # A window of 15: some sequences fill it.
    "gpt-neo-tiny": {
        "architectures": ["GPTNeoForCausalLM"],
        "model_type": "gpt_neo",
        "hidden_size": 36,
        "num_heads": 3,
        "num_layers": 3,
        "intermediate_size": None,
        "attention_types": [[["global", "local"], 1], [["local"], 1]],
        "attention_layers": ["global", "local", "local"],
        "window_size": 15,
        "max_position_embeddings": 64,
        "vocab_size": 107,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-05,
        "resid_dropout": 0,
        "embed_dropout": 0,
        "attention_dropout": 0,
        "torch_dtype": "float32",
    },
}


def sizes(config):
    """Hidden size, inner size and layers."""
    if config["model_type"] == "opt":
        names = "hidden_size", "ffn_dim", "num_hidden_layers"
    elif config["model_type"] == "gpt2":
        names = "n_embd", "n_inner", "n_layer"
    else:
        names = "hidden_size", "intermediate_size", "num_layers"
    hidden, inner, layers = (config[name] for name in names)
    return hidden, inner or 4 * hidden, layers


def target_shapes(config):
    """Shape [out, in] of each LoRA target under its full path."""
    hidden, inner, layers = sizes(config)
    square = hidden, hidden
    if config["model_type"] == "opt":
        prefix = "model.decoder.layers."
        modules = {f"self_attn.{n}": square for n in ("k_proj", "v_proj", "q_proj", "out_proj")}
        modules |= {"fc1": (inner, hidden), "fc2": (hidden, inner)}
    else:
        prefix = "transformer.h."
        modules = {"mlp.c_fc": (inner, hidden), "mlp.c_proj": (hidden, inner)}
        if config["model_type"] == "gpt2":
            modules |= {"attn.c_attn": (3 * hidden, hidden), "attn.c_proj": square}
        else:
            names = "q_proj", "k_proj", "v_proj", "out_proj"
            modules |= {f"attn.attention.{n}": square for n in names}
    shapes = {
        f"{prefix}{layer}.{module}": shape
        for layer in range(layers)
        for module, shape in modules.items()
    }
    narrow = config.get("word_embed_proj_dim", hidden)
    if narrow != hidden:
        shapes["model.decoder.project_in"] = hidden, narrow
        shapes["model.decoder.project_out"] = narrow, hidden
    return shapes


def tensor_shapes(config):
    """Every tensor of the model under its full name, as the file holds it."""
    hidden, _, layers = sizes(config)
    vocab, family = config["vocab_size"], config["model_type"]
    shapes = {}
    for path, shape in target_shapes(config).items():
        shapes[path + ".weight"] = shape[::-1] if family == "gpt2" else shape
        neo = family == "gpt_neo" and path.split(".")[-1] in ("q_proj", "k_proj", "v_proj")
        if not neo and "project_" not in path:
            shapes[path + ".bias"] = shape[:1]
    if family == "opt":
        narrow = config["word_embed_proj_dim"]
        shapes["model.decoder.embed_tokens.weight"] = vocab, narrow
        positions = config["max_position_embeddings"] + 2
        shapes["model.decoder.embed_positions.weight"] = positions, hidden
        names = ("self_attn_layer_norm", "final_layer_norm")
        norms = [f"model.decoder.layers.{i}.{n}" for i in range(layers) for n in names]
        if config["do_layer_norm_before"]:
            norms.append("model.decoder.final_layer_norm")
    else:
        shapes["transformer.wte.weight"] = vocab, hidden
        positions = config.get("n_positions") or config["max_position_embeddings"]
        shapes["transformer.wpe.weight"] = positions, hidden
        names = ("ln_1", "ln_2")
        norms = [f"transformer.h.{i}.{n}" for i in range(layers) for n in names]
        norms.append("transformer.ln_f")
    for norm in norms:
        shapes[norm + ".weight"] = shapes[norm + ".bias"] = (hidden,)
    return shapes


def name_in_file(config, name):
    """The name without the base model's prefix, where the files have none."""
    if config["model_type"] == "gpt2":
        return name.removeprefix("transformer.")
    if config["model_type"] == "opt" and not config["do_layer_norm_before"]:
        return name.removeprefix("model.")
    return name


def is_conv1d(config, name):
    """Whether files and transformers have the matrix as [in, out]."""
    path = name.removesuffix(".weight")
    return config["model_type"] == "gpt2" and path != name and path in target_shapes(config)


_erf = np.vectorize(math.erf)

ACTIVATIONS = {
    "gelu": lambda x: x * (1 + _erf(x / np.sqrt(2))) / 2,
    "gelu_new": lambda x: x
    * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    / 2,
}


class NumpyGpt(NumpyModel):
    """Where relu is zero is decided by the first call for a sequence, so that
    finite differences afterwards meet no kink: the derivative is the same."""

    def __init__(self, config, weights, adapter=None, scaling=0.0):
        super().__init__(config, weights, adapter, scaling)
        self.positive = {}

    def _named(self, weights):
        full = {name_in_file(self.config, name): name for name in tensor_shapes(self.config)}
        named = {full[n]: w for n, w in weights.items() if n in full}
        return {n: w.T if is_conv1d(self.config, n) else w for n, w in named.items()}

    def _logits(self, ids):
        config, self.ids = self.config, ids.tobytes()
        if config["model_type"] == "opt":
            root, tokens, table, offset = "model.decoder.", "embed_tokens", "embed_positions", 2
            layer, last = self._opt_layer, "final_layer_norm"
        else:
            root, tokens, table, offset = "transformer.", "wte", "wpe", 0
            layer, last = self._gpt_layer, "ln_f"
        embedding = self.weights[f"{root}{tokens}.weight"]
        x = embedding[ids]
        if root + "project_in.weight" in self.weights:
            x = self._linear(x, root + "project_in")
        x = x + self.weights[f"{root}{table}.weight"][offset : offset + len(ids)]
        for index in range(sizes(config)[2]):
            x = layer(x, index)
        if f"{root}{last}.weight" in self.weights:
            x = self._layer_norm(x, root + last)
        if root + "project_out.weight" in self.weights:
            x = self._linear(x, root + "project_out")
        return x @ embedding.T

    def _layer_norm(self, x, name):
        x = x - x.mean(axis=1, keepdims=True)
        x = x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5)
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def _opt_layer(self, x, index):
        p = f"model.decoder.layers.{index}."
        first = self.config["do_layer_norm_before"]

        def around(x, part, norm):
            if first:
                return x + part(self._layer_norm(x, p + norm))
            return self._layer_norm(x + part(x), p + norm)

        def attention(y):
            q, k, v = (self._linear(y, f"{p}self_attn.{n}_proj") for n in "qkv")
            heads = self.config["num_attention_heads"]
            scale = (q.shape[1] // heads) ** -0.5
            y = self._attend(q, k, v, heads, scale, None)
            return self._linear(y, p + "self_attn.out_proj")

        x = around(x, attention, "self_attn_layer_norm")
        return around(x, lambda y: self._mlp_of(y, p, "fc1", "fc2"), "final_layer_norm")

    def _gpt_layer(self, x, index):
        p = f"transformer.h.{index}."
        y = self._layer_norm(x, p + "ln_1")
        if self.config["model_type"] == "gpt2":
            q, k, v = np.split(self._linear(y, p + "attn.c_attn"), 3, axis=1)
            heads, window, out = self.config["n_head"], None, "attn.c_proj"
            scale = (q.shape[1] // heads) ** -0.5
            if self.config["scale_attn_by_inverse_layer_idx"]:
                scale /= index + 1
        else:
            q, k, v = (self._linear(y, f"{p}attn.attention.{n}_proj") for n in "qkv")
            heads, scale, out = self.config["num_heads"], 1.0, "attn.attention.out_proj"
            local = self.config["attention_layers"][index] == "local"
            window = self.config["window_size"] if local else None
        x = x + self._linear(self._attend(q, k, v, heads, scale, window), p + out)
        y = self._layer_norm(x, p + "ln_2")
        return x + self._mlp_of(y, p, "mlp.c_fc", "mlp.c_proj")

    def _mlp_of(self, x, prefix, up, down):
        inner = self._linear(x, prefix + up)
        if self.config["activation_function"] == "relu":
            inner = inner * self.positive.setdefault((prefix, self.ids), inner > 0)
        else:
            inner = ACTIVATIONS[self.config["activation_function"]](inner)
        return self._linear(inner, prefix + down)

    @staticmethod
    def _attend(q, k, v, heads, scale, window):
        row, key = np.indices((len(q), len(q)))
        hidden = (key > row) | (window is not None and key <= row - (window or 0))
        out = []
        for a, b, c in zip(*(np.split(m, heads, axis=1) for m in (q, k, v))):
            score = np.where(hidden, -np.inf, a @ b.T * scale)
            p = np.exp(score - score.max(axis=1, keepdims=True))
            out.append(p / p.sum(axis=1, keepdims=True) @ c)
        return np.concatenate(out, axis=1)
