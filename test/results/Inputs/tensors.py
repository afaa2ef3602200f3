# tensors.py - safetensors files of a folder, with the standard library alone.
#
#   tensors.py shard FROM TO        copies a model into two shards and an index
#   tensors.py same A B             A and B have the same values by name; where
#                                   only the element types differ, after rounding
#                                   to bfloat16
#   tensors.py differ A B           at least one value differs
#   tensors.py names FOLDER         "name file dtype", sorted
#   tensors.py equal A NAME B NAME  one tensor of each has the same values

import json
import pathlib
import shutil
import struct
import sys


def read(path):
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    body = data[8 + size :]
    return {
        name: (t["dtype"], t["shape"], body[slice(*t["data_offsets"])])
        for name, t in header.items()
    }


def read_folder(folder):
    found = {}
    for path in sorted(pathlib.Path(folder).glob("*model*.safetensors")):
        for name, tensor in read(path).items():
            assert name not in found, name
            found[name] = (path.name, *tensor)
    return found


def write(path, tensors):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, (dtype, shape, data) in tensors.items():
        end = at + len(data)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    path.write_bytes(
        struct.pack("<Q", len(text)) + text + b"".join(t[2] for t in tensors.values())
    )


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
        write(target / file, part)
        weight_map.update({n: file for n in part})
        size += sum(len(t[2]) for t in part.values())
    index = {"metadata": {"total_size": size}, "weight_map": weight_map}
    (target / "model.safetensors.index.json").write_text(json.dumps(index))


def to_bfloat16(data):
    words = struct.unpack(f"<{len(data) // 4}I", data)
    return struct.pack(
        f"<{len(words)}H", *((w + 0x7FFF + (w >> 16 & 1)) >> 16 for w in words)
    )


def values(tensor, other):
    _, dtype, _, data = tensor
    return to_bfloat16(data) if dtype == "F32" and other[1] == "BF16" else data


def differences(a, b):
    a, b = read_folder(a), read_folder(b)
    assert a.keys() == b.keys(), a.keys() ^ b.keys()
    assert a, "no tensors"
    return [n for n in a if values(a[n], b[n]) != values(b[n], a[n])]


def main():
    command, arguments = sys.argv[1], [pathlib.Path(a) for a in sys.argv[2:]]
    if command == "shard":
        shard(*arguments)
    elif command == "names":
        for name, tensor in sorted(read_folder(*arguments).items()):
            print(name, tensor[0], tensor[1])
    elif command == "equal":
        a, b = (read_folder(f)[str(n)] for f, n in (arguments[:2], arguments[2:]))
        assert values(a, b) == values(b, a), "other values"
    else:
        found = differences(*arguments)
        print(f"{len(found)} tensors differ")
        sys.exit(bool(found) != (command == "differ"))


if __name__ == "__main__":
    main()
