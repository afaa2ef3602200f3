# make_adapters.py FOLDER - adapters and models that Hone does not train
#
# Beside FOLDER/llama, a copy of a model and its adapter: with use_rslora, with
# a saved lm_head, with ranks and alphas by module, with DoRA; a Conv1D model with
# fan_in_fan_out whose files lack the name of the body, without and with a bias;
# and an MLX-quantised matrix. Standard library only.

import json
import pathlib
import random
import shutil
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from tensor_file import read, write  # noqa: E402

random.seed(7)


def floats(*shape, size=0.1):
    count = 1
    for n in shape:
        count *= n
    return "F32", list(shape), struct.pack(f"<{count}f", *(random.uniform(-size, size) for _ in range(count)))


def save(folder, config, tensors, name="adapter_model.safetensors"):
    folder.mkdir(parents=True, exist_ok=True)
    file = "config.json" if name == "model.safetensors" else "adapter_config.json"
    (folder / file).write_text(json.dumps(config, indent=2))
    write(folder / name, tensors)


def prefixed(tensors):
    return {"base_model.model." + name: tensor for name, tensor in tensors.items()}


def main():
    out, adapter = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    config = json.loads((adapter / "adapter_config.json").read_text())
    tensors = read(adapter / "adapter_model.safetensors")
    save(out / "rslora", {**config, "use_rslora": True}, tensors)
    head = {"base_model.model.lm_head.weight": floats(101, 40)}
    save(out / "saved", {**config, "modules_to_save": ["lm_head"]}, {**tensors, **head})
    embedding = {"base_model.model.model.embed_tokens.weight": floats(101, 40)}
    save(out / "saved-shape", {**config, "modules_to_save": ["embed_tokens"]},
         {**tensors, "base_model.model.model.embed_tokens.weight": floats(100, 40)})
    save(out / "other-module", config, {**tensors, **prefixed({
        "model.layers.7.mlp.up_proj.lora_A.weight": floats(4, 40),
        "model.layers.7.mlp.up_proj.lora_B.weight": floats(72, 4)})})
    save(out / "dora-no-magnitude", {**config, "use_dora": True}, tensors)
    magnitudes = {
        name.replace("lora_B.weight", "lora_magnitude_vector"): floats(shape[0], size=2)
        for name, (_, shape, _) in tensors.items() if "lora_B" in name}
    save(out / "dora", {**config, "use_dora": True}, {**tensors, **magnitudes})
    # The first key that names a module counts.
    ranks = {r"layers\.1\..*_proj": 3, "q_proj": 2}
    alphas = {"^model.layers.0.mlp.(up|gate)_proj": 5, "v_proj": 1.5}
    ranked = {}
    for name, (_, shape, _) in tensors.items():
        rank = 3 if "layers.1." in name else 2 if "q_proj" in name else 4
        ranked[name] = floats(rank, shape[1]) if "lora_A" in name else floats(shape[0], rank)
    save(out / "patterns", {**config, "rank_pattern": ranks, "alpha_pattern": alphas}, ranked)
    save(out / "alphas", {**config, "alpha_pattern": alphas}, tensors)
    many = {f"q_proj.{i}": 2 for i in range(4097)}
    save(out / "many-patterns", {**config, "alpha_pattern": many}, tensors)
    save(out / "pattern", {**config, "rank_pattern": {"(?:q)_proj": 2}}, tensors)
    infinite = dict(tensors)
    name = next(name for name in infinite if "lora_B" in name)
    dtype, shape, data = infinite[name]
    infinite[name] = dtype, shape, struct.pack("<f", float("inf")) + data[4:]
    save(out / "infinite", config, infinite)
    save(out / "saved-nan", {**config, "modules_to_save": ["lm_head"]}, {**tensors, **prefixed({
        "lm_head.weight": ("F32", [101, 40], head["base_model.model.lm_head.weight"][2][:-4] + struct.pack("<f", float("nan")))})})
    lonely = dict(tensors)
    del lonely[name]
    save(out / "lonely", config, lonely)
    save(out / "fewer-targets", {**config, "target_modules": ["q_proj", "v_proj"]}, tensors)
    save(out / "fewer-layers", {**config, "layers_to_transform": 1}, tensors)
    del embedding

    # Biases, also of a module with factors; the model's are those of its layers.
    bias = {"model.layers.0.self_attn.q_proj.base_layer.bias": floats(40),
            "model.layers.0.self_attn.k_proj.bias": floats(20)}
    save(out / "biased", {**config, "bias": "all"}, prefixed({
        "model.layers.0.self_attn.q_proj.lora_A.weight": floats(4, 40),
        "model.layers.0.self_attn.q_proj.lora_B.weight": floats(40, 4), **bias}))
    save(out / "unbiased", config, prefixed({
        "model.layers.0.self_attn.q_proj.lora_A.weight": floats(4, 40),
        "model.layers.0.self_attn.q_proj.lora_B.weight": floats(40, 4), **bias}))
    save(out / "with-biases", {"model_type": "llama", "vocab_size": 101}, {
        "model.layers.0.self_attn.q_proj.weight": floats(40, 40),
        "model.layers.0.self_attn.q_proj.bias": floats(40),
        "model.layers.0.self_attn.k_proj.bias": floats(20)}, "model.safetensors")

    # Files with a head that config.json, or its family, says to be the embedding.
    for name, keys in (("tied", {"model_type": "llama", "tie_word_embeddings": True}),
                       ("tied-family", {"model_type": "gpt2"}), ("untied", {"model_type": "llama"})):
        save(out / name, {"vocab_size": 101, **keys}, {
            "transformer.tokens.weight": floats(101, 40), "lm_head.weight": floats(101, 40),
            "transformer.ln_f.weight": floats(101)}, "model.safetensors")
    save(out / "tokens", {**config, "modules_to_save": ["tokens"]},
         prefixed({"transformer.tokens.weight": floats(101, 40)}))
    save(out / "head", {**config, "target_modules": ["lm_head"]}, prefixed({
        "lm_head.lora_A.weight": floats(4, 40), "lm_head.lora_B.weight": floats(101, 4)}))
    # Those whose table is known: a head that is left over is none, a key may be absent,
    # and files of the body alone become those of a model with its head.
    save(out / "tied-tables", {"model_type": "llama", "vocab_size": 101, "tie_word_embeddings": True}, {
        "model.embed_tokens.weight": floats(101, 40), "model.norm.weight": floats(40),
        "lm_head.weight": floats(101, 40), "lm_head.scales": floats(7)}, "model.safetensors")
    save(out / "tied-body", {"model_type": "gpt2", "vocab_size": 10}, {
        "wte.weight": floats(10, 6), "ln_f.bias": floats(6)}, "model.safetensors")
    save(out / "own-table", {**config, "modules_to_save": ["embed_tokens"]},
         prefixed({"model.embed_tokens.weight": floats(101, 40)}))
    save(out / "own-head", {**config, "modules_to_save": ["lm_head"]},
         prefixed({"lm_head.weight": floats(101, 40)}))
    save(out / "own-both", {**config, "modules_to_save": ["embed_tokens", "lm_head"]},
         prefixed({"model.embed_tokens.weight": floats(101, 40), "lm_head.weight": floats(101, 40)}))
    save(out / "own-head-of-body", {**config, "modules_to_save": ["lm_head"]},
         prefixed({"lm_head.weight": floats(10, 6)}))
    save(out / "own-wte", {**config, "modules_to_save": ["wte"]},
         prefixed({"transformer.wte.weight": floats(10, 6)}))
    save(out / "kept-tied", {**config, "modules_to_save": ["embed_tokens"], "ensure_weight_tying": True},
         prefixed({"model.embed_tokens.weight": floats(101, 40)}))
    save(out / "final-norm", {**config, "modules_to_save": ["ln_f"]},
         prefixed({"transformer.ln_f.weight": floats(101)}))

    # Qwen3 without head_dim, which is 128 then.
    save(out / "qwen3", {"model_type": "qwen3", "hidden_size": 40, "num_attention_heads": 4,
                         "num_key_value_heads": 2, "num_hidden_layers": 1, "intermediate_size": 8,
                         "vocab_size": 10, "rms_norm_eps": 1e-6, "hidden_act": "silu", "rope_theta": 10000.0,
                         "max_position_embeddings": 64}, {}, "model.safetensors")
    save(out / "qwen3-of-other-ropes", {"model_type": "qwen3", "num_hidden_layers": 1, "rope_scaling": 7}, {},
         "model.safetensors")
    for name, outs in (("heads-of-128", 512), ("heads-of-10", 40)):
        save(out / name, config, prefixed({
            "model.layers.0.self_attn.q_proj.lora_A.weight": floats(4, 40),
            "model.layers.0.self_attn.q_proj.lora_B.weight": floats(outs, 4)}))

    # GPT-2: [in, out], and files of the body alone.
    gpt = {"h.0.attn.c_attn.weight": floats(6, 18), "h.0.attn.c_attn.bias": floats(18), "wte.weight": floats(10, 6)}
    save(out / "conv1d", {"model_type": "gpt2"}, gpt, "model.safetensors")
    conv1d = {"transformer.h.0.attn.c_attn.lora_A.weight": floats(2, 6),
              "transformer.h.0.attn.c_attn.lora_B.weight": floats(18, 2)}
    conv1d_config = {**config, "r": 2, "fan_in_fan_out": True, "target_modules": ["c_attn"]}
    save(out / "conv1d-adapter", conv1d_config, prefixed(conv1d))
    save(out / "biased-adapter", {**conv1d_config, "bias": "lora_only"}, prefixed({
        **conv1d, "transformer.h.0.attn.c_attn.base_layer.bias": floats(18)}))

    # Square matrices, whose shape does not tell: [out, in] in llama with any
    # fan_in_fan_out, and [in, out] in GPT-2.
    save(out / "square-turned", {**config, "fan_in_fan_out": True, "target_modules": ["q_proj"]}, prefixed({
        "model.layers.0.self_attn.q_proj.lora_A.weight": floats(4, 40),
        "model.layers.0.self_attn.q_proj.lora_B.weight": floats(40, 4)}))
    save(out / "square-conv1d", {"model_type": "gpt2"}, {"h.0.attn.c_proj.weight": floats(6, 6)}, "model.safetensors")
    save(out / "square-unturned", {**conv1d_config, "fan_in_fan_out": False, "target_modules": ["c_proj"]}, prefixed({
        "transformer.h.0.attn.c_proj.lora_A.weight": floats(2, 6),
        "transformer.h.0.attn.c_proj.lora_B.weight": floats(6, 2)}))

    save(out / "conv1d-dora", {**conv1d_config, "use_dora": True}, prefixed({
        "transformer.h.0.attn.c_attn.lora_A.weight": floats(2, 6),
        "transformer.h.0.attn.c_attn.lora_B.weight": floats(18, 2),
        "transformer.h.0.attn.c_attn.lora_magnitude_vector": floats(18)}))

    # MLX: 4 bits in groups of 32, and an update of the second group of row 0.
    words = struct.pack("<64I", *(random.getrandbits(32) for _ in range(64)))
    mlx = {
        "model.layers.0.mlp.up_proj.weight": ("U32", [8, 8], words),
        "model.layers.0.mlp.up_proj.scales": floats(8, 2),
        "model.layers.0.mlp.up_proj.biases": floats(8, 2),
        "model.norm.weight": floats(64),
    }
    quantization = {"group_size": 32, "bits": 4}
    save(out / "mlx", {"model_type": "llama", "rms_norm_eps": 1e-05, "quantization": quantization,
                       "quantization_config": quantization}, mlx, "model.safetensors")
    a = struct.pack("<64f", *([0.0] * 32 + [random.uniform(-1, 1) for _ in range(32)]))
    b = struct.pack("<8f", *([1.0] + [0.0] * 7))
    save(out / "mlx-adapter", {**config, "r": 1}, prefixed({
        "model.layers.0.mlp.up_proj.lora_A.weight": ("F32", [1, 64], a),
        "model.layers.0.mlp.up_proj.lora_B.weight": ("F32", [8, 1], b)}))
    shutil.copyfile(out / "mlx/config.json", out / "mlx/tokenizer_config.json")


main()
