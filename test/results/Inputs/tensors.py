# tensors.py - safetensors files of a folder, with the standard library alone.
#
#   tensors.py shard FROM TO        copies a model into two shards and an index
#   tensors.py same A B             A and B have the same values by name; where
#                                   only the element types differ, after rounding
#                                   to bfloat16
#   tensors.py differ A B           at least one value differs
#   tensors.py names FOLDER         "name file dtype", sorted
#   tensors.py count MODEL ADAPTER  what a program says of their parameters
#   tensors.py equal A NAME B NAME  one tensor of each has the same values

import json
import math
import pathlib
import shutil
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from tensor_file import read, read_folder, write  # noqa: E402


def shard(source, target):
    target.mkdir(parents=True)
    for path in source.iterdir():
        if path.suffix == ".json":
            shutil.copy(path, target)
    tensors = read(source / "model.safetensors")
    names, weight_map, size = sorted(tensors), {}, 0
    for i in range(2):
        file = f"model-0000{i + 1}-of-00002.safetensors"
        part = {n: tensors[n] for n in names[i::2]}
        write(target / file, part, {"format": "pt"})
        weight_map.update({n: file for n in part})
        size += sum(len(t.data) for t in part.values())
    index = {"metadata": {"total_size": size}, "weight_map": weight_map}
    (target / "model.safetensors.index.json").write_text(json.dumps(index))


def to_bfloat16(data):
    words = struct.unpack(f"<{len(data) // 4}I", data)
    return struct.pack(
        f"<{len(words)}H", *((w + 0x7FFF + (w >> 16 & 1)) >> 16 for w in words)
    )


def values(tensor, other):
    rounds = tensor.dtype == "F32" and other.dtype == "BF16"
    return to_bfloat16(tensor.data) if rounds else tensor.data


def differences(a, b):
    a, b = read_folder(a), read_folder(b)
    assert a.keys() == b.keys(), a.keys() ^ b.keys()
    assert a, "no tensors"
    return [n for n, (_, t) in a.items() if values(t, b[n][1]) != values(b[n][1], t)]


def main():
    command, arguments = sys.argv[1], [pathlib.Path(a) for a in sys.argv[2:]]
    if command == "shard":
        shard(*arguments)
    elif command == "names":
        for name, (file, tensor) in sorted(read_folder(*arguments).items()):
            print(name, file, tensor.dtype)
    elif command == "count":
        model, adapter = (
            sum(math.prod(tensor.shape) for _, tensor in read_folder(a).values())
            for a in arguments
        )
        print(f"trainable params: {adapter:,} || all params: {model + adapter:,}")
    elif command == "equal":
        a, b = (read_folder(f)[str(n)][1] for f, n in (arguments[:2], arguments[2:]))
        assert values(a, b) == values(b, a), "other values"
    else:
        found = differences(*arguments)
        print(f"{len(found)} tensors differ")
        sys.exit(bool(found) != (command == "differ"))


if __name__ == "__main__":
    main()
