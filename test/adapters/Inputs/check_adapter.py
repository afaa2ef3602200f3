# check_adapter.py - what hone-adapter wrote, computed again in plain Python
#
#   check_adapter.py merged MODEL ADAPTER MERGED [--dtype T]
#   check_adapter.py gguf MODEL ADAPTER FILE
#   check_adapter.py mlx MODEL ADAPTER FOLDER
#
# Standard library only. Sums are math.fsum of exact products, so a merged
# element is right if it is the nearest of its type, or, where doubles added in
# another order fall on the other side of a tie, its neighbour.

import json
import math
import pathlib
import re
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from tensor_file import decode, read  # noqa: E402


def read_model(folder):
    out = {}
    for path in sorted(folder.glob("*.safetensors")):
        out.update(read(path))
    return out


class Adapter:
    def __init__(self, folder, family):
        self.config = json.loads((folder / "adapter_config.json").read_text())
        # PEFT overrules the setting where it sees the module.
        self.turned = {"llama": False, "gpt2": True}.get(family, self.config.get("fan_in_fan_out"))
        tensors = read(folder / "adapter_model.safetensors")
        self.pairs, self.saved, self.magnitudes = {}, {}, {}
        for name, (dtype, shape, data) in tensors.items():
            name = name.removeprefix("base_model.model.")
            name = name.replace(".base_layer.bias", ".bias")
            module = name.removesuffix(".lora_A.weight").removesuffix(".lora_B.weight")
            if name.endswith(".lora_magnitude_vector"):
                self.magnitudes[name.removesuffix(".lora_magnitude_vector")] = decode(dtype, data)
            elif module == name:
                self.saved[name.replace(".base_layer.bias", ".bias")] = decode(dtype, data)
            else:
                values = decode(dtype, data)
                rows = [values[i : i + shape[1]] for i in range(0, len(values), shape[1])]
                self.pairs.setdefault(module, {})["a" if "lora_A" in name else "b"] = rows

    def scale(self, module):
        rank = len(self.pairs[module]["a"])
        expect(rank == self.number("rank_pattern", module, self.config["r"]), f"{module}: rank {rank}")
        alpha = self.number("alpha_pattern", module, self.config["lora_alpha"])
        return alpha / (math.sqrt(rank) if self.config.get("use_rslora") else rank)

    def number(self, pattern, module, otherwise):
        """As PEFT's get_pattern_key."""
        for key, number in self.config.get(pattern, {}).items():
            if re.match(rf"(.*\.)?({key})$", module):
                return number
        return otherwise

    def update(self, module):
        """scale B A, [out][in], or its transpose."""
        a, b, s = self.pairs[module]["a"], self.pairs[module]["b"], self.scale(module)
        columns = list(zip(*a))
        delta = [[s * math.fsum(x * y for x, y in zip(row, column)) for column in columns] for row in b]
        return [list(r) for r in zip(*delta)] if self.turned else delta

    def merge(self, module, values):
        """The elements of the module's weight with the adapter."""
        sums = [w + d for w, d in zip(values, (x for row in self.update(module) for x in row))]
        if module not in self.magnitudes:
            return sums
        magnitudes = self.magnitudes[module]
        outputs, inputs = len(magnitudes), len(sums) // len(magnitudes)
        output = [i % outputs if self.turned else i // inputs for i in range(len(sums))]
        squares = [[] for _ in magnitudes]
        for i, value in zip(output, sums):
            squares[i].append(value * value)
        factors = [m / math.sqrt(math.fsum(s)) for m, s in zip(magnitudes, squares)]
        return [value * factors[i] for i, value in zip(output, sums)]


def neighbours(dtype, value):
    """The nearest element of the type, and the distance of its neighbours."""
    bits, least = {"F32": (24, -149), "BF16": (8, -133), "F16": (11, -24), "F64": (53, -1074)}[dtype]
    exponent = math.frexp(value)[1] - bits if value else least
    step = 2.0 ** max(exponent, least)
    return round(value / step) * step, step


def expect(condition, message):
    if not condition:
        sys.exit(f"check_adapter.py: {message}")


def untied(model, merged, tensors, adapter):
    """The model's tensors; where the adapter has a copy of the head or of the table that
    it reads, with a head of its own, and under the names of a model with a head."""
    was, now = (json.loads((folder / "config.json").read_text()) for folder in (model, merged))
    if not was.get("tie_word_embeddings", was.get("model_type") == "gpt2"):
        return tensors
    table = next((n for n in tensors if n.endswith(("embed_tokens.weight", "wte.weight"))), "")
    body = "transformer." if table == "wte.weight" else ""
    if not {body + table, "lm_head.weight"} & adapter.saved.keys():
        return tensors
    expect(now["tie_word_embeddings"] is False, "the merged model is tied")
    for key in ("tie_word_embeddings", "torch_dtype"):
        was.pop(key, None), now.pop(key, None)
    expect(was == now, "other settings than the model's")
    found = {body + n: t for n, t in tensors.items() if not n.startswith("lm_head.")}
    return {**found, "lm_head.weight": tensors[table]}


def check_merged(model, adapter, merged, dtype):
    before, after = untied(model, merged, read_model(model), adapter), read_model(merged)
    expect(before.keys() == after.keys(), "other tensors than the model's")
    trained = {*adapter.saved, *(module + ".weight" for module in adapter.pairs)}
    changed = ties = 0
    for name, (old_type, shape, data) in before.items():
        new_type, new_shape, new_data = after[name]
        expect(new_shape == shape, f"{name}: shape {new_shape}")
        expect(new_type == (dtype or old_type), f"{name}: {new_type}")
        values = decode(old_type, data)
        if "transformer." + name in trained:
            name = "transformer." + name
        module = name.removesuffix(".weight")
        if module in adapter.pairs:
            values = adapter.merge(module, values)
            changed += 1
        elif name in adapter.saved:
            values = adapter.saved[name]
            changed += 1
        elif new_type == old_type:
            expect(new_data == data, f"{name}: not the model's bytes")
        for i, (want, got) in enumerate(zip(values, decode(new_type, new_data))):
            nearest, step = neighbours(new_type, want)
            if got != nearest:
                ties += 1
                expect(abs(got - want) <= step * 0.5000001, f"{name}[{i}]: {got!r}, expected {want!r}")
    expect(changed == len(adapter.pairs) + len(adapter.saved), "some modules were not merged")
    print(f"{changed} tensors merged, {ties} at ties")


def read_gguf(path):
    data = path.read_bytes()
    at = 0

    def take(letter):
        nonlocal at
        (value,) = struct.unpack_from("<" + letter, data, at)
        at += struct.calcsize(letter)
        return value

    def text():
        nonlocal at
        size = take("Q")
        at += size
        return data[at - size : at].decode()

    expect(data[:4] == b"GGUF", "no GGUF")
    at = 4
    expect(take("I") == 3, "another version")
    tensors, pairs = take("Q"), take("Q")
    fields = {}
    for _ in range(pairs):
        key = text()
        kind = take("I")
        fields[key] = text() if kind == 8 else take({4: "I", 6: "f"}[kind])
    infos = []
    for _ in range(tensors):
        name = text()
        dims = [take("Q") for _ in range(take("I"))]
        infos.append((name, dims, take("I"), take("Q")))
    start = (at + 31) // 32 * 32
    out = {}
    for name, dims, kind, offset in infos:
        expect(offset % 32 == 0, f"{name} is not aligned")
        dtype, width = {0: ("F32", 4), 1: ("F16", 2), 30: ("BF16", 2)}[kind]
        size = dims[0] * dims[1] * width
        values = decode(dtype, data[start + offset : start + offset + size])
        out[name] = [values[i : i + dims[0]] for i in range(0, len(values), dims[0])]
    return fields, out


NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "attn.c_attn": "attn_qkv",
    "attn.c_proj": "attn_output",
    "mlp.c_fc": "ffn_up",
    "mlp.c_proj": "ffn_down",
}
ARCHITECTURES = {"llama": "llama", "mistral": "llama", "gemma3_text": "gemma3"}


def check_gguf(model, adapter, path):
    config = json.loads((model / "config.json").read_text())
    fields, tensors = read_gguf(path)
    rooted = adapter.config.get("use_rslora")
    rank = adapter.config["r"]
    expect(fields["general.type"] == "adapter", "general.type")
    expect(fields["adapter.type"] == "lora", "adapter.type")
    interleaves = config["model_type"] in ("llama", "mistral")
    architecture = ARCHITECTURES.get(config["model_type"], config["model_type"])
    expect(fields["general.architecture"] == architecture, "architecture")
    # llama.cpp's scale is alpha / rank.
    alpha = adapter.config["lora_alpha"] * (math.sqrt(rank) if rooted else 1)
    expect(math.isclose(fields["adapter.lora.alpha"], alpha, rel_tol=1e-7), "adapter.lora.alpha")
    for module, pair in adapter.pairs.items():
        _, _, layer, rest = module.split(".", 3)
        name = f"blk.{layer}.{NAMES[rest]}.weight"
        expect(tensors.pop(name + ".lora_a") == pair["a"], f"{name}.lora_a")
        b = pair["b"]
        if interleaves and rest[-6:] in ("q_proj", "k_proj"):
            heads = config["num_key_value_heads" if rest[-6] == "k" else "num_attention_heads"]
            size = len(b) // heads
            # A head's halves x, y become x0 y0 x1 y1 ...
            order = [h * size + p * (size // 2) + i for h in range(heads) for i in range(size // 2) for p in (0, 1)]
            b = [b[i] for i in order]
        expect(tensors.pop(name + ".lora_b") == b, f"{name}.lora_b")
    expect(not tensors, f"more tensors: {sorted(tensors)}")
    print(f"{len(adapter.pairs)} modules for llama.cpp")


def check_mlx(model, adapter, folder):
    config = json.loads((folder / "adapter_config.json").read_text())
    parameters = config["lora_parameters"]
    expect(config["fine_tune_type"] == "lora", "fine_tune_type")
    expect(parameters["rank"] == adapter.config["r"], "rank")
    model_config = json.loads((model / "config.json").read_text())
    layers = model_config.get("num_hidden_layers") or model_config["n_layer"]
    adapted = set()
    tensors = read(folder / "adapters.safetensors")
    for module, pair in adapter.pairs.items():
        _, _, layer, rest = module.split(".", 3)
        expect(rest in parameters["keys"], f"{rest} is no key")
        adapted.add(int(layer))
        expect(parameters["scale"] == adapter.scale(module), "scale")
        for suffix, rows in pair.items():
            # mlx-lm calls GPT-2's body as all others.
            own = re.sub(r"^transformer\.", "model.", module)
            _, shape, data = tensors.pop(f"{own}.lora_{suffix}")
            expect(shape == [len(rows[0]), len(rows)], f"{module}: {shape}")
            values = [x for column in zip(*rows) for x in column]
            expect(decode("F32", data) == values, f"{module}.lora_{suffix}")
    expect(config["num_layers"] == layers - min(adapted), "num_layers")
    expect(not tensors, f"more tensors: {sorted(tensors)}")
    print(f"{len(adapter.pairs)} modules for mlx-lm")


def main():
    what, model, adapter, output = sys.argv[1], *map(pathlib.Path, sys.argv[2:5])
    adapter = Adapter(adapter, json.loads((model / "config.json").read_text())["model_type"])
    if what == "merged":
        check_merged(model, adapter, output, sys.argv[5] if len(sys.argv) > 5 else None)
    else:
        {"gguf": check_gguf, "mlx": check_mlx}[what](model, adapter, output)


main()
