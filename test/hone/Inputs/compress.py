"""compress.py FILE: FILE.0.gz to FILE.4.gz, the same in all ways to compress.

compress.py --large FILE...: large.jsonl, the lines of the files and what does not
compress, and large.jsonl.gz in parts: longer than the window that gzip looks back.
"""
import gzip
import json
import pathlib
import random
import sys
import zlib


def compressed(data, level, strategy=zlib.Z_DEFAULT_STRATEGY):
    packer = zlib.compressobj(level, zlib.DEFLATED, 31, 8, strategy)
    return packer.compress(data) + packer.flush()


def main():
    if sys.argv[1] != "--large":
        data = pathlib.Path(sys.argv[1]).read_bytes()
        half = len(data) // 2
        ways = [compressed(data, 0), compressed(data, 9), compressed(data, 6, zlib.Z_FIXED),
                compressed(data, 6, zlib.Z_HUFFMAN_ONLY), gzip.compress(data[:half], 1) + gzip.compress(data[half:], 9)]
        for i, way in enumerate(ways):
            pathlib.Path(f"{sys.argv[1]}.{i}.gz").write_bytes(way)
        return
    pick = random.Random(5)
    lines = []
    for path in sys.argv[2:]:
        for line in pathlib.Path(path).read_text().splitlines():
            lines.append(line + "".join(chr(pick.randrange(33, 127)) for _ in range(pick.choice([0, 0, 1, 40]))))
    lines = lines * 8
    data = "".join(json.dumps({"text": line or "-"}) + "\n" for line in lines).encode()
    pathlib.Path("large.jsonl").write_bytes(data)
    third = len(data) // 3
    pathlib.Path("large.jsonl.gz").write_bytes(
        compressed(data[:third], 9) + compressed(data[third:2 * third], 1) + compressed(data[2 * third:], 6, zlib.Z_RLE))


if __name__ == "__main__":
    main()
