# ===- numpy_forward.py - A decoder's loss, written plainly in float64 -----===#
#
# Shares no code with torch or transformers, so it catches an error in either.
# The reference gradients are checked against finite differences of this loss.
# All matrices are [out, in]; one sequence at a time, rows are tokens.
#
# ===-----------------------------------------------------------------------===#

import numpy as np


def slides(config, layer):
    """Whether a layer sees only the last config["sliding_window"] tokens."""
    if config["model_type"] == "mistral":
        return config["sliding_window"] is not None
    if "layer_types" in config:
        return config["layer_types"][layer] == "sliding_attention"
    return config.get("use_sliding_window", False) and (
        layer >= config["max_window_layers"]
    )


def rope_parameters(config, layer=0):
    """The RoPE settings of either spelling: nested, or rope_theta at the top."""
    settings = dict(config.get("rope_scaling") or {})
    settings.update(config.get("rope_parameters") or {})
    if "full_attention" in settings:
        kind = "sliding_attention" if slides(config, layer) else "full_attention"
        return settings[kind]
    settings.setdefault("rope_theta", config.get("rope_theta"))
    settings.setdefault("rope_type", "default")
    return settings


def inverse_frequencies(config, layer=0):
    """float64[head_dim / 2]; `llama3` blends each frequency with itself / factor."""
    settings = rope_parameters(config, layer)
    dim = head_dim(config)
    frequency = settings["rope_theta"] ** (-np.arange(0, dim, 2) / np.float64(dim))
    if settings["rope_type"] == "default":
        return frequency
    if settings["rope_type"] == "linear":
        return frequency / settings["factor"]
    assert settings["rope_type"] == "llama3", settings["rope_type"]
    low, high = settings["low_freq_factor"], settings["high_freq_factor"]
    turns = settings["original_max_position_embeddings"] * frequency / (2 * np.pi)
    keep = np.clip((turns - low) / (high - low), 0.0, 1.0)
    return frequency * (keep + (1.0 - keep) / settings["factor"])


def head_dim(config):
    return config.get("head_dim") or (
        config["hidden_size"] // config["num_attention_heads"]
    )


class NumpyModel:
    """Weights and adapter by name; `mean_nll` is the only thing it computes.

    `scaling` is of all modules, or a dictionary. The lengths that DoRA divides by
    are those of the adapter that is given here: derivatives hold them.
    """

    def __init__(self, config, weights, adapter=None, scaling=0.0):
        self.config = config
        self.is_gemma = config["model_type"] == "gemma3_text"
        self.weights = self._named({n: w.astype(np.float64) for n, w in weights.items()})
        self.adapter = adapter or {}
        self.scaling = scaling
        self.lengths = {}
        for name in self.adapter:
            if name.endswith(".lora_magnitude_vector"):
                path = name.removesuffix(".lora_magnitude_vector")
                module = path.removeprefix("base_model.model.")
                a, b = (self.adapter[f"{path}.lora_{x}.weight"] for x in "AB")
                whole = self.weights[module + ".weight"] + self._scale(module) * b @ a
                self.lengths[module] = np.sqrt((whole**2).sum(axis=1))

    def _named(self, weights):
        """The tensors of a file, by their full names and [out, in]."""
        return weights

    def _scale(self, module):
        return self.scaling[module] if isinstance(self.scaling, dict) else self.scaling

    def mean_nll(self, batch):
        """Mean over all targets of a batch of (input_ids, labels) pairs."""
        total, count = 0.0, 0
        for ids, labels in batch:
            targets = np.asarray(labels[1:])
            rows = np.flatnonzero(targets != -100)
            logits = self._logits(np.asarray(ids))[rows]
            logits -= logits.max(axis=1, keepdims=True)
            log_sum = np.log(np.exp(logits).sum(axis=1))
            total += (log_sum - logits[np.arange(rows.size), targets[rows]]).sum()
            count += rows.size
        return total / count

    def _logits(self, ids):
        if self.config["model_type"] == "parallel":
            x = self.weights["embed.weight"][ids]
            for layer in range(self.config["num_hidden_layers"]):
                p = f"layers.{layer}."
                y = self._rms_norm(x, p + "norm.weight")
                x = x + self._attention(y, p, "", layer) + self._mlp(y, p, "")
            return self._rms_norm(x, "norm.weight") @ self.weights["head.weight"].T
        x = self._embed(ids)
        for layer in range(self.config["num_hidden_layers"]):
            x = self._layer(x, layer, ids)
        head = self._table("lm_head.weight")
        if head is None:
            head = self.weights["model.embed_tokens.weight"]
        return self._rms_norm(x, "model.norm.weight") @ head.T

    def _table(self, name):
        """The adapter's own, or else the model's."""
        own = self.adapter.get("base_model.model." + name)
        return self.weights.get(name) if own is None else own

    def _embed(self, ids):
        x = self._table("model.embed_tokens.weight")[ids]
        if self.is_gemma:
            x = x * np.sqrt(np.float64(self.config["hidden_size"]))
        return x

    def _layer(self, x, layer, ids):
        p = f"model.layers.{layer}."
        y = self._rms_norm(x, p + "input_layernorm.weight")
        y = self._attention(y, p + "self_attn.", "_proj", layer)
        if not self.is_gemma:
            x = x + y
            y = self._rms_norm(x, p + "post_attention_layernorm.weight")
            return x + self._mlp(y, p + "mlp.", "_proj")
        x = x + self._rms_norm(y, p + "post_attention_layernorm.weight")
        y = self._rms_norm(x, p + "pre_feedforward_layernorm.weight")
        y = self._mlp(y, p + "mlp.", "_proj")
        return x + self._rms_norm(y, p + "post_feedforward_layernorm.weight")

    def _linear(self, x, module):
        y = x @ self.weights[module + ".weight"].T
        bias = self.weights.get(module + ".bias", 0.0)
        a = self.adapter.get(f"base_model.model.{module}.lora_A.weight")
        if a is None:
            return y + bias
        b = self.adapter[f"base_model.model.{module}.lora_B.weight"]
        y = y + self._scale(module) * (self._adapter_input(x, module) @ a.T @ b.T)
        if module in self.lengths:
            name = f"base_model.model.{module}.lora_magnitude_vector"
            y = y * (self.adapter[name] / self.lengths[module])
        return y + bias

    def _adapter_input(self, x, module):
        return x

    def _rms_norm(self, x, name):
        """Of the last axis."""
        mean_square = (x * x).mean(axis=-1, keepdims=True)
        weight = self.weights[name] + float(self.is_gemma)
        return x / np.sqrt(mean_square + self.config["rms_norm_eps"]) * weight

    def _attention(self, x, prefix, suffix, layer):
        dim = head_dim(self.config)
        scale = 1 / np.sqrt(self.config.get("query_pre_attn_scalar", dim))
        window = self.config["sliding_window"] if slides(self.config, layer) else None
        q, k, v = (
            self._linear(x, prefix + n + suffix).reshape(len(x), -1, dim) for n in "qkv"
        )
        if prefix + "q_norm.weight" in self.weights:
            q = self._rms_norm(q, prefix + "q_norm.weight")
            k = self._rms_norm(k, prefix + "k_norm.weight")
        q, k = self._rope(q, layer), self._rope(k, layer)
        group = q.shape[1] // k.shape[1]
        out = np.empty_like(q)
        for head in range(q.shape[1]):
            score = q[:, head] @ k[:, head // group].T * scale
            score[np.triu_indices(len(x), 1)] = -np.inf
            if window is not None:
                score[np.tril_indices(len(x), -window)] = -np.inf
            p = np.exp(score - score.max(axis=1, keepdims=True))
            out[:, head] = p / p.sum(axis=1, keepdims=True) @ v[:, head // group]
        return self._linear(out.reshape(len(x), -1), prefix + "o" + suffix)

    def _rope(self, x, layer):
        half = x.shape[2] // 2
        angle = np.outer(np.arange(len(x)), inverse_frequencies(self.config, layer))
        cos, sin = np.cos(angle)[:, None, :], np.sin(angle)[:, None, :]
        first, second = x[..., :half], x[..., half:]
        return np.concatenate(
            (first * cos - second * sin, second * cos + first * sin), axis=2
        )

    def _mlp(self, x, prefix, suffix):
        gate = self._linear(x, prefix + "gate" + suffix)
        up = self._linear(x, prefix + "up" + suffix)
        if self.is_gemma:
            bend = np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)
            inner = 0.5 * gate * (1 + np.tanh(bend))
        else:
            inner = gate / (1 + np.exp(-gate))
        return self._linear(inner * up, prefix + "down" + suffix)


class SelectedNumpyModel(NumpyModel):
    """A layer that is not selected adds its first value to a sequence, with any
    later adapter: selective backpropagation derives this loss."""

    def __init__(self, selected, *model):
        super().__init__(*model)
        self.selected = selected
        self.added = {}

    def _layer(self, x, layer, ids):
        if layer in self.selected:
            return super()._layer(x, layer, ids)
        key = (layer, ids.tobytes())
        if key not in self.added:
            self.added[key] = super()._layer(x, layer, ids) - x
        return x + self.added[key]
