"""counted.py BENCH MODELS WORK: what generate.py counts of a token, of models whose
tables have other names, against their own tensors: what is read of a table is a row,
unless the table is the head."""

import json
import math
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from tensor_file import read  # noqa: E402

sys.path.append(sys.argv[1])
from generate import Program  # noqa: E402

models, work = (pathlib.Path(path).resolve() for path in sys.argv[2:])
ROWS = {"llama-tiny": ["model.embed_tokens.weight"], "qwen2-tiny": [],
        "gpt2-tiny": ["wpe.weight"],
        "opt-tiny": ["model.decoder.embed_positions.weight"]}
# Layers x keys and values x elements of a position.
CACHES = {"llama-tiny": 2 * 2 * 8, "qwen2-tiny": 3 * 2 * 16,
          "gpt2-tiny": 2 * 2 * 40, "opt-tiny": 2 * 2 * 40}
TOKENS = 31
for name, rows in ROWS.items():
    tensors = {key.removeprefix("transformer."): tensor.shape
               for key, tensor in read(models / name / "model.safetensors").items()}
    elements = sum(math.prod(shape[1:] if key in rows else shape)
                   for key, shape in tensors.items())
    linear = [shape for key, shape in tensors.items()
              if len(shape) == 2 and (".h." in f".{key}" or ".layers." in key)]
    adapters = {"weights.dtype=float32": 0,
                "weights.dtype=float32,lora.r=4": sum(4 * sum(s) for s in linear)}
    for keys, more in adapters.items():
        program = Program(keys, work / name)
        program.compile("honec", models / name, TOKENS)
        found = program.bytes_per_token(10)
        expected = 4 * (elements + more), 4 * 10 * CACHES[name]
        assert found == expected, (name, keys, found, expected)
print("counted:", *ROWS)
