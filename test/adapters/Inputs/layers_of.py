#!/usr/bin/env python3
"""layers_of.py ADAPTER OUT FIRST-LAST [as N] [KEY=VALUE...]: the part of an adapter that has
these layers, in OUT; `as N` calls the first of them N. KEY=VALUE, in JSON, goes into
adapter_config.json."""

import json
import pathlib
import re
import sys

source, out, layers, *rest = sys.argv[1:]
first, last = map(int, layers.split("-"))
named = int(rest[1]) if rest[:1] == ["as"] else first
config = json.loads(pathlib.Path(source, "adapter_config.json").read_text())
for pair in rest[2:] if rest[:1] == ["as"] else rest:
    key, value = pair.split("=", 1)
    config[key] = json.loads(value)

data = pathlib.Path(source, "adapter_model.safetensors").read_bytes()
size = int.from_bytes(data[:8], "little")
header, kept, body = json.loads(data[8:8 + size]), {}, b""
for name, about in sorted(header.items()):
    if name == "__metadata__":
        kept[name] = about
        continue
    layer = int(re.search(r"\.layers\.(\d+)\.", name).group(1))
    if not first <= layer <= last:
        continue
    begin, end = about["data_offsets"]
    about["data_offsets"] = [len(body), len(body) + end - begin]
    body += data[8 + size + begin:8 + size + end]
    kept[name.replace(f".layers.{layer}.", f".layers.{layer - first + named}.")] = about
text = json.dumps(kept).encode()
text += b" " * (-len(text) % 8)
folder = pathlib.Path(out)
folder.mkdir(parents=True)
(folder / "adapter_config.json").write_text(json.dumps(config))
(folder / "adapter_model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + body)
