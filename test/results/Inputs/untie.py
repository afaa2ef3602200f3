# untie.py FROM TO: a copy of a model whose head is its embedding's table, with two tables.

import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from tensor_file import read, write  # noqa: E402

source, target = map(pathlib.Path, sys.argv[1:])
target.mkdir(parents=True)
config = json.loads((source / "config.json").read_text())
(target / "config.json").write_text(json.dumps({**config, "tie_word_embeddings": False}))
tensors = read(source / "model.safetensors")
tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"]
write(target / "model.safetensors", tensors, {"format": "pt"})
