#!/usr/bin/env python3
"""100,000 lines, and what the product's tokenizer makes of them.

  lines.py ENCODE SHARED/data GOLDEN.json

ENCODE is the program built from Encode.cpp. Compares the SHA-256 of all ids of each
published tokenizer with the one in GOLDEN.json, which make_golden.py took from the
`tokenizers` library. Standard library only: a test runs this.
"""
import hashlib
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

LINES = 100_000
TEXTS = ["tinyshakespeare/input.txt", "wikitext2/valid.txt", "wikitext2/test.txt"]
SAMPLES = {"sst2/train_sample4000.jsonl": ["sentence"], "sst2/dev.jsonl": ["sentence"],
           "rte/train.jsonl": ["premise", "hypothesis"], "rte/val.jsonl": ["premise", "hypothesis"],
           "cb/train.jsonl": ["premise", "hypothesis"], "cb/val.jsonl": ["premise", "hypothesis"]}
# name -> where it is, and the settings that it gets, as the class of Transformers has them.
TOKENIZERS = {
    "stories260k": ("stories260k", None),
    "gpt2": ("tokenizers/gpt2", {"tokenizer_class": "GPT2Tokenizer"}),
    "gpt2-prefix": ("tokenizers/gpt2", {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True}),
    "opt": ("tokenizers/opt", {"tokenizer_class": "GPT2Tokenizer"}),
    "qwen2": ("tokenizers/qwen2", {"tokenizer_class": "Qwen2Tokenizer"}),
}

PARTS = ["'s", "'S", "'\u017f", "'ll", "'LL", "'Re", "'vE", "'d", "'", " ", "  ", "   ", "\n", "\r", "\r\n", "\t",
         "\u00a0", "\u3000", "\u2028", "\u0085", "\u200b", "\ufeff", "a", "Z", "abc", "the", " the", "9", "12", "1234",
         "\u0663", "\u00bd", "\u2167", "\u4e2d\u6587", "\uac00", "\u1100", "\u1161", "\u11a8", "e\u0301", "\u0301",
         "\u0323", "\u0345", "\u212b", "\u0958", "\U0001f600", "\U0001f468\u200d\U0001f469", "!", "...", "-->", "\u2581",
         "\u0130", "\u1e9e", "\x00", "\x1b", "\x7f", "\U00010428", "\U0001d15e", "\ufb2a", "\u0f73\u0f71", "\U000e0001",
         "\ua82c", "\U00011938", "\U00011935\U00011930", "\U0001e030", "\u1c89"]


def nasty(count, seed):
    pick = random.Random(seed)
    for _ in range(count):
        out = []
        for _ in range(pick.randrange(1, 40)):
            kind = pick.randrange(10)
            if kind < 6:
                out.append(pick.choice(PARTS))
            elif kind < 8:
                out.append(chr(pick.randrange(1, 0x3000)))
            else:
                point = pick.randrange(0x110000)
                out.append(chr(point) if not 0xD800 <= point < 0xE000 else "x")
        yield "".join(out)


def plain(text):
    """Without the spelling of tokens that stories260k and OPT add: inside of text these
    are text here but tokens there."""
    for token, other in (("<unk>", "<u>"), ("<s>", "<t>"), ("</s>", "</t>"), ("<pad>", "<p>")):
        text = text.replace(token, other)
    return text


def hundred_thousand(data):
    """Lines of all texts and samples of SHARED/data, and nasty ones."""
    out = []
    for name in TEXTS:
        with open(os.path.join(data, name), encoding="utf-8", newline="") as file:
            out += file.read().splitlines(keepends=True)
    for name, keys in SAMPLES.items():
        with open(os.path.join(data, name), encoding="utf-8") as file:
            out += [json.loads(line)[key] for line in file.read().split("\n") if line for key in keys]
    return [plain(text) for text in out + list(nasty(LINES - len(out), 3))]


def folder_of(name, data, scratch):
    """The tokenizer as a model's folder."""
    source, settings = TOKENIZERS[name]
    source = os.path.join(data, source)
    if settings is None:
        return source
    folder = os.path.join(scratch, name)
    os.mkdir(folder)
    for file in ("vocab.json", "merges.txt"):
        os.symlink(os.path.join(os.path.abspath(source), file), os.path.join(folder, file))
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as file:
        json.dump(settings, file)
    return folder


def encode(program, folder, texts):
    packed = b"".join(struct.pack("<I", len(t)) + t for t in (x.encode() for x in texts))
    raw = subprocess.run([program, folder], input=packed, stdout=subprocess.PIPE, check=True).stdout
    at, out = 0, []
    while at < len(raw):
        (count,) = struct.unpack_from("<I", raw, at)
        out.append(list(struct.unpack_from("<%di" % count, raw, at + 4)))
        at += 4 + 4 * count
    return out


def digest(ids_of_lines):
    """SHA-256 of the ids as little-endian int32, each line's after their number."""
    whole = hashlib.sha256()
    for ids in ids_of_lines:
        whole.update(struct.pack("<%di" % (len(ids) + 1), len(ids), *ids))
    return whole.hexdigest()


def main():
    program, data, golden = sys.argv[1:]
    lines = hundred_thousand(data)
    assert len(lines) == LINES, len(lines)
    with open(golden) as file:
        expected = json.load(file)
    with tempfile.TemporaryDirectory() as scratch:
        for name in TOKENIZERS:
            found = digest(encode(program, folder_of(name, data, scratch), lines))
            print(f"{name}: {len(lines)} lines, {'same ids' if found == expected[name] else 'OTHER IDS'}")


if __name__ == "__main__":
    main()
