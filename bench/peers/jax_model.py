"""One LoRA step of Qwen2 (and Llama without scaled rotations) in JAX.

A user of JAX writes this by hand: layers in one lax.scan over stacked weights,
jax.checkpoint where a variant asks for it, statistics in float32.
"""

import json
import pathlib

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

DTYPES = {"BF16": ml_dtypes.bfloat16, "F32": np.float32, "F16": np.float16}
CHUNK_ROWS = 64  # of the logits that a chunked loss holds


def read_tensors(folder):
    """Tensors of a model directory by name, mapped from their files."""
    found = {}
    for path in sorted(pathlib.Path(folder).glob("*.safetensors")):
        with open(path, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(size))
        data = np.memmap(path, mode="r", offset=8 + size)
        for name, entry in header.items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                found[name] = data[begin:end].view(
                    DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return found


class Model:
    """Shapes from config.json; weights are stacked over layers."""

    def __init__(self, options):
        folder = pathlib.Path(options["model"])
        config = json.loads((folder / "config.json").read_text())
        if config["model_type"] not in ("qwen2", "llama"):
            raise ValueError(f"{config['model_type']} is not qwen2 or llama")
        self.layers = config["num_hidden_layers"]
        self.heads = config["num_attention_heads"]
        self.kv_heads = config["num_key_value_heads"]
        self.head = config.get("head_dim") or config["hidden_size"] // self.heads
        self.epsilon = config["rms_norm_eps"]
        self.theta = config.get("rope_theta", 10000.0)
        self.tied = config.get("tie_word_embeddings", False)
        self.options, self.folder = options, folder
        self.dtype = jnp.dtype(options["dtype"])
        self.adapter_dtype = (jnp.dtype("float32")
                              if options.get("float32_adapters") else self.dtype)
        self.scale = options["alpha"] / options["rank"]

    def load(self):
        """The base's weights: those outside of layers, and the layers'."""
        tensors = read_tensors(self.folder)
        prefix = "model.layers."
        names = {name.removeprefix(prefix + "0.") for name in tensors
                 if name.startswith(prefix + "0.")}
        layers = {name: jnp.asarray(np.stack(
            [tensors[f"{prefix}{i}.{name}"] for i in range(self.layers)]),
            self.dtype) for name in sorted(names)}
        outside = {"embed": tensors["model.embed_tokens.weight"],
                   "norm": tensors["model.norm.weight"]}
        if not self.tied:
            outside["head"] = tensors["lm_head.weight"]
        return {"layers": layers, **{name: jnp.asarray(value, self.dtype)
                                     for name, value in outside.items()}}

    def adapters(self, weights):
        """A is random and B is zero, as in PEFT."""
        rank, found = self.options["rank"], {}
        key = jax.random.key(0)
        for name, value in weights["layers"].items():
            module = name.removesuffix(".weight")
            if module.split(".")[-1] in self.options["projections"]:
                key, own = jax.random.split(key)
                layers, wide, narrow = value.shape
                bound = narrow ** -0.5
                found[module] = (
                    jax.random.uniform(own, (layers, rank, narrow),
                                       self.adapter_dtype, -bound, bound),
                    jnp.zeros((layers, wide, rank), self.adapter_dtype))
        return found

    def norm(self, x, weight):
        wide = x.astype(jnp.float32)
        scale = jax.lax.rsqrt(
            jnp.mean(wide * wide, -1, keepdims=True) + self.epsilon)
        return (wide * scale).astype(x.dtype) * weight

    def project(self, x, module, weights, adapters):
        y = x @ weights[module + ".weight"].T
        if module + ".bias" in weights:
            y = y + weights[module + ".bias"]
        if module in adapters:
            a, b = adapters[module]
            y = y + (self.scale * ((x.astype(a.dtype) @ a.T) @ b.T)
                     ).astype(y.dtype)
        return y

    def rotate(self, x):
        """Rotary positions of [batch, tokens, heads, head]."""
        half = self.head // 2
        frequency = self.theta ** (-jnp.arange(half, dtype=jnp.float32) / half)
        angle = jnp.arange(x.shape[1], dtype=jnp.float32)[:, None] * frequency
        cos, sin = (f(angle).astype(x.dtype)[None, :, None]
                    for f in (jnp.cos, jnp.sin))
        first, second = x[..., :half], x[..., half:]
        return jnp.concatenate([first * cos - second * sin,
                                second * cos + first * sin], -1)

    def layer(self, x, weights, adapters):
        batch, tokens, _ = x.shape

        def heads(module, count):
            return self.project(h, module, weights, adapters).reshape(
                batch, tokens, count, self.head)

        h = self.norm(x, weights["input_layernorm.weight"])
        mixed = jax.nn.dot_product_attention(
            self.rotate(heads("self_attn.q_proj", self.heads)),
            self.rotate(heads("self_attn.k_proj", self.kv_heads)),
            heads("self_attn.v_proj", self.kv_heads), is_causal=True)
        x = x + self.project(mixed.reshape(batch, tokens, -1),
                             "self_attn.o_proj", weights, adapters)
        h = self.norm(x, weights["post_attention_layernorm.weight"])
        gate = self.project(h, "mlp.gate_proj", weights, adapters)
        up = self.project(h, "mlp.up_proj", weights, adapters)
        return x + self.project(jax.nn.silu(gate) * up, "mlp.down_proj",
                                weights, adapters)

    def loss(self, adapters, weights, ids):
        """Mean cross-entropy of the next token."""
        def body(x, of_layer):
            return self.layer(x, *of_layer), None

        if self.options["checkpointing"]:
            body = jax.checkpoint(body, prevent_cse=False)
        x, _ = jax.lax.scan(body, weights["embed"][ids],
                            (weights["layers"], adapters),
                            unroll=self.options.get("unrolled", 1))
        x = self.norm(x, weights["norm"]).reshape(-1, x.shape[-1])
        labels = jnp.roll(ids, -1, 1).reshape(-1)
        counted = jnp.ones_like(ids).at[:, -1].set(0).reshape(-1)
        head = weights["embed" if self.tied else "head"]

        def sum_of(rows):
            x, labels, counted = rows
            logits = (x @ head.T).astype(jnp.float32)
            own = jnp.take_along_axis(logits, labels[:, None], 1)[:, 0]
            return jnp.sum((jax.nn.logsumexp(logits, -1) - own) * counted)

        rows = (x, labels, counted)
        if self.options.get("chunked_loss"):
            rows = jax.tree.map(
                lambda v: v.reshape(-1, min(CHUNK_ROWS, len(v)), *v.shape[1:]),
                rows)
            total = jnp.sum(jax.lax.map(jax.checkpoint(sum_of), rows))
        else:
            total = sum_of(rows)
        return total / jnp.sum(counted)

    def initial_state(self, adapters):
        """The state that a step updates: adapters, and AdamW's moments and count."""
        if self.options["optimizer"] == "sgd":
            return {"adapters": adapters}
        zeros = lambda: jax.tree.map(  # of which none may be donated twice
            lambda p: jnp.zeros(p.shape, jnp.float32), adapters)
        return {"adapters": adapters, "first": zeros(), "second": zeros(),
                "count": jnp.zeros((), jnp.int32)}

    def step(self, state, weights, ids):
        """The next state and the loss."""
        loss, gradients = jax.value_and_grad(self.loss)(
            state["adapters"], weights, ids)
        rate = self.options["learning_rate"]
        if self.options["optimizer"] == "sgd":
            return {"adapters": jax.tree.map(
                lambda p, g: (p - rate * g).astype(p.dtype),
                state["adapters"], gradients)}, loss
        count = state["count"] + 1
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["first"],
                             gradients)
        second = jax.tree.map(
            lambda v, g: 0.999 * v + 0.001 * jnp.square(g.astype(v.dtype)),
            state["second"], gradients)
        adapters = jax.tree.map(
            lambda p, m, v: (p - rate * (m / (1 - 0.9 ** count)) / (
                jnp.sqrt(v / (1 - 0.999 ** count)) + 1e-8)).astype(p.dtype),
            state["adapters"], first, second)
        return {"adapters": adapters, "first": first, "second": second,
                "count": count}, loss
