# ===- make_models.py - The project's own random models --------------------===#
#
# Writes golden/models/: small models whose weights come from
# hash_values.py alone. Running it again must leave the files unchanged, byte
# for byte; every golden gradient depends on them. `parallel-tiny` is for a
# hand-written block: its config.json is not one that an importer accepts.
#
# ===-----------------------------------------------------------------------===#

import json
import pathlib

import numpy as np
from safetensors.numpy import save_file

import gpt_models
from hash_values import uniform

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"

# Heads that fill no power of two of lanes: family, head_dim, query and key/value
# heads, layers.
WIDE_HEADS = {
    "heads80": ("llama", 80, 3, 1, 1),
    "heads96": ("qwen2", 96, 2, 2, 1),
    "heads112": ("llama", 112, 2, 1, 2),
}


def wide_heads(family, head_dim, heads, key_value_heads, layers):
    return {
        "architectures": [{"llama": "Llama", "qwen2": "Qwen2"}[family] + "ForCausalLM"],
        "model_type": family,
        "hidden_size": 12,
        "num_attention_heads": heads,
        "num_key_value_heads": key_value_heads,
        "head_dim": head_dim,
        "intermediate_size": 20,
        "num_hidden_layers": layers,
        "vocab_size": 53,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-06,
        "rope_theta": 10000.0,
        "max_position_embeddings": 2048,
        "tie_word_embeddings": True,
        "torch_dtype": "float32",
    }


MODELS = {
    # Transformers 4 spelling: rope_theta at the top, torch_dtype.
    "qwen2-tiny": {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "hidden_size": 48,
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "intermediate_size": 80,
        "num_hidden_layers": 3,
        "vocab_size": 97,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-06,
        "rope_theta": 1000000.0,
        "max_position_embeddings": 128,
        "use_sliding_window": False,
        "tie_word_embeddings": True,
        "torch_dtype": "float32",
    },
    # Transformers 5 spelling: rope_parameters, dtype. With theta 100 and 32
    # original positions the four frequencies fall into all three llama3 bands:
    # kept, blended, divided, divided.
    "llama-tiny": {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 40,
        "num_attention_heads": 5,
        "num_key_value_heads": 1,
        "head_dim": 8,
        "intermediate_size": 72,
        "num_hidden_layers": 2,
        "vocab_size": 101,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-05,
        "rope_parameters": {
            "rope_type": "llama3",
            "rope_theta": 100.0,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 32,
        },
        "max_position_embeddings": 256,
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": False,
        "dtype": "float32",
    },
    # Heads whose sizes fill no lanes and do not add up to hidden_size; layer 1
    # slides.
    "qwen3-tiny": {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "hidden_size": 44,
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "head_dim": 10,
        "intermediate_size": 68,
        "num_hidden_layers": 2,
        "vocab_size": 103,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-06,
        "rope_theta": 1000000.0,
        "max_position_embeddings": 128,
        "attention_bias": False,
        "use_sliding_window": True,
        "sliding_window": 7,
        "max_window_layers": 1,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
    },
    # Layers 0 and 1 slide; the window is longer than some of the sequences.
    # Transformers 5 spelling, with both kinds of rotary settings.
    "gemma3-tiny": {
        "architectures": ["Gemma3ForCausalLM"],
        "model_type": "gemma3_text",
        "hidden_size": 40,
        "num_attention_heads": 5,
        "num_key_value_heads": 1,
        "head_dim": 12,
        "intermediate_size": 60,
        "num_hidden_layers": 3,
        "vocab_size": 107,
        "hidden_activation": "gelu_pytorch_tanh",
        "rms_norm_eps": 1e-06,
        "query_pre_attn_scalar": 20,
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
            "full_attention": {
                "rope_type": "linear",
                "rope_theta": 10000.0,
                "factor": 4.0,
            },
        },
        "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
        "sliding_window": 13,
        "max_position_embeddings": 128,
        "attention_bias": False,
        "attn_logit_softcapping": None,
        "final_logit_softcapping": None,
        "dtype": "float32",
    },
    "mistral-window-tiny": {
        "architectures": ["MistralForCausalLM"],
        "model_type": "mistral",
        "hidden_size": 36,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 14,
        "intermediate_size": 52,
        "num_hidden_layers": 2,
        "vocab_size": 89,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-05,
        "rope_theta": 10000.0,
        "sliding_window": 9,
        "max_position_embeddings": 128,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
    },
    "parallel-tiny": {
        "model_type": "parallel",
        "hidden_size": 32,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "intermediate_size": 56,
        "num_hidden_layers": 2,
        "vocab_size": 61,
        "rms_norm_eps": 1e-05,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
    },
    **{name: wide_heads(*shape) for name, shape in WIDE_HEADS.items()},
    **gpt_models.GPT_MODELS,
}


def module_shapes(config):
    """Shape [out, in] of each LoRA target, under its one-word name."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    dim = config.get("head_dim") or hidden // config["num_attention_heads"]
    q, kv = (dim * config[f"num_{n}_heads"] for n in ("attention", "key_value"))
    return {
        "q": (q, hidden),
        "k": (kv, hidden),
        "v": (kv, hidden),
        "o": (hidden, q),
        "gate": (inner, hidden),
        "up": (inner, hidden),
        "down": (hidden, inner),
    }


def target_shapes(config):
    """Shape [out, in] of each LoRA target under its full path."""
    if config["model_type"] in gpt_models.FAMILIES:
        return gpt_models.target_shapes(config)
    return {
        module_path(config, layer, module): shape
        for layer in range(config["num_hidden_layers"])
        for module, shape in module_shapes(config).items()
    }


def module_path(config, layer, module):
    """Where a LoRA target lives, without `.weight`."""
    if config["model_type"] == "parallel":
        return f"layers.{layer}.{module}"
    block = "self_attn" if module in "qkvo" else "mlp"
    return f"model.layers.{layer}.{block}.{module}_proj"


def tensor_shapes(config):
    """Every tensor of the model file: name to shape."""
    if config["model_type"] in gpt_models.FAMILIES:
        return gpt_models.tensor_shapes(config)
    hidden, vocab = config["hidden_size"], config["vocab_size"]
    parallel = config["model_type"] == "parallel"
    root = "" if parallel else "model."
    norms = ["norm"] if parallel else ["input_layernorm", "post_attention_layernorm"]
    gemma = config["model_type"] == "gemma3_text"
    if gemma:
        norms += ["pre_feedforward_layernorm", "post_feedforward_layernorm"]
    shapes = {root + ("embed" if parallel else "embed_tokens") + ".weight": (vocab, hidden)}
    for layer in range(config["num_hidden_layers"]):
        for norm in norms:
            shapes[f"{root}layers.{layer}.{norm}.weight"] = (hidden,)
        if gemma or config["model_type"] == "qwen3":
            for norm in ("q_norm", "k_norm"):
                path = f"{root}layers.{layer}.self_attn.{norm}.weight"
                shapes[path] = (config["head_dim"],)
        for module, shape in module_shapes(config).items():
            path = module_path(config, layer, module)
            shapes[path + ".weight"] = shape
            if config["model_type"] == "qwen2" and module in "qkv":
                shapes[path + ".bias"] = shape[:1]
    shapes[root + "norm.weight"] = (hidden,)
    if not config.get("tie_word_embeddings", gemma):
        shapes["head.weight" if parallel else "lm_head.weight"] = (vocab, hidden)
    return shapes


def make_tensor(model, name, shape, norm_center=1.0):
    """float32 values that keep activations near one in size."""
    values = uniform(f"{model}/{name}", shape)
    if name.endswith("norm.weight") or (".ln_" in name and name.endswith(".weight")):
        return (norm_center + 0.5 * values).astype(np.float32)
    if name.endswith(".bias") or any(n in name for n in ("embed", "wte", "wpe")):
        return (0.5 * values).astype(np.float32)
    inputs = shape[0] if model.startswith("gpt2") else shape[1]
    return (np.sqrt(3.0 / inputs) * values).astype(np.float32)


def write_model(directory, config):
    directory.mkdir(parents=True, exist_ok=True)
    # Gemma's norms multiply by one more than their weights.
    center = 0.0 if config["model_type"] == "gemma3_text" else 1.0
    tensors = {
        name: make_tensor(directory.name, name, shape, center)
        for name, shape in tensor_shapes(config).items()
    }
    if config["model_type"] in gpt_models.FAMILIES:
        tensors = {gpt_models.name_in_file(config, n): t for n, t in tensors.items()}
    save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
    text = json.dumps(config, indent=2, sort_keys=True) + "\n"
    (directory / "config.json").write_text(text)


if __name__ == "__main__":
    for name, config in MODELS.items():
        write_model(GOLDEN / "models" / name, config)
