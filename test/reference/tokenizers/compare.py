#!/usr/bin/env python3
"""Compares the tokenizer with the Hugging Face `tokenizers` library.

  python compare.py --encode ENCODE --data SHARED/data [--random 20000]

ENCODE is the program built from Encode.cpp. Needs `pip install tokenizers`.
Prints one line per tokenizer and text and exits with 1 on any difference.
"""
import argparse
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")
LLAMA3 = QWEN2.replace(r"|\p{N}|", r"|\p{N}{1,3}|")


def split_then_bytes(pattern):
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def byte_level(folder, pre_tokenizer, nfc=False, ignore_merges=False):
    model = models.BPE.from_file(os.path.join(folder, "vocab.json"), os.path.join(folder, "merges.txt"),
                                 ignore_merges=ignore_merges)
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizer
    if nfc:
        tokenizer.normalizer = normalizers.NFC()
    return tokenizer


def link(folder, into, config):
    for name in ("vocab.json", "merges.txt"):
        os.symlink(os.path.join(folder, name), os.path.join(into, name))
    with open(os.path.join(into, "tokenizer_config.json"), "w") as f:
        json.dump(config, f)


def cases(data, scratch):
    """(name, Hugging Face tokenizer, folder for ENCODE)."""
    gpt2, qwen2 = (os.path.join(data, "tokenizers", x) for x in ("gpt2", "qwen2"))
    level = pre_tokenizers.ByteLevel
    stories = os.path.join(data, "stories260k")
    bare = Tokenizer.from_file(os.path.join(stories, "tokenizer.json"))
    yield "stories260k", bare, stories
    for name, source, config, tokenizer in (
            ("gpt2", gpt2, {"tokenizer_class": "GPT2Tokenizer"}, byte_level(gpt2, level(add_prefix_space=False))),
            ("gpt2-prefix", gpt2, {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True},
             byte_level(gpt2, level(add_prefix_space=True))),
            ("qwen2", qwen2, {"tokenizer_class": "Qwen2Tokenizer"},
             byte_level(qwen2, split_then_bytes(QWEN2), nfc=True))):
        folder = os.path.join(scratch, name)
        os.mkdir(folder)
        link(source, folder, config)
        yield name, tokenizer, folder
    for name, source, tokenizer in (
            ("llama3-pattern", qwen2, byte_level(qwen2, split_then_bytes(LLAMA3), ignore_merges=True)),
            ("digits", gpt2, byte_level(gpt2, pre_tokenizers.Sequence(
                [pre_tokenizers.Digits(individual_digits=True), level(add_prefix_space=False)])))):
        folder = os.path.join(scratch, name)
        os.mkdir(folder)
        tokenizer.save(os.path.join(folder, "tokenizer.json"))
        yield name, tokenizer, folder


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


def encode(program, folder, texts):
    packed = b"".join(struct.pack("<I", len(t)) + t for t in (x.encode() for x in texts))
    raw = subprocess.run([program, folder], input=packed, stdout=subprocess.PIPE, check=True).stdout
    at, out = 0, []
    while at < len(raw):
        (count,) = struct.unpack_from("<I", raw, at)
        out.append(list(struct.unpack_from("<%di" % count, raw, at + 4)))
        at += 4 + 4 * count
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--encode", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--random", type=int, default=20000)
    args = parser.parse_args()
    files = {}
    for name in ("tinyshakespeare/input.txt", "wikitext2/valid.txt", "wikitext2/test.txt"):
        with open(os.path.join(args.data, name), encoding="utf-8", newline="") as f:
            files[name] = [f.read()]
    bare = "".join(files["wikitext2/test.txt"][0].split())
    files["without spaces"] = [bare[at:at + 20000] for at in range(0, len(bare), 20000)]
    files["nasty"] = list(nasty(args.random, 1))
    files["one text of all nasty"] = ["".join(files["nasty"])]
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        for name, tokenizer, folder in cases(args.data, scratch):
            for title, texts in files.items():
                # Added tokens inside text are text here but tokens there.
                texts = [t.replace("<unk>", "<u>").replace("<s>", "<t>").replace("</s>", "</t>") for t in texts]
                began = time.time()
                ours = encode(args.encode, folder, texts)
                took = time.time() - began
                began = time.time()
                theirs = [e.ids for e in tokenizer.encode_batch(texts, add_special_tokens=False)]
                bad = [i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b]
                failed |= bool(bad) or len(ours) != len(theirs)
                print("%-15s %-26s texts %6d  tokens %8d  different %d  (%.1f s, theirs %.1f s)" % (
                    name, title, len(texts), sum(map(len, theirs)), len(bad), took, time.time() - began), flush=True)
                for i in bad[:3]:
                    where = next((k for k, (a, b) in enumerate(zip(ours[i], theirs[i])) if a != b), "length")
                    at = where if where != "length" else 0
                    print("   %r: at %s ours %s theirs %s" % (texts[i][:80], where, ours[i][at:at + 5], theirs[i][at:at + 5]))
    sys.exit(failed)


if __name__ == "__main__":
    main()
