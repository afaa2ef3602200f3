#!/usr/bin/env python3
"""Compares the tokenizer with the Hugging Face `tokenizers` library.

  python compare.py --encode ENCODE --data SHARED/data [--random 20000]

ENCODE is the program built from Encode.cpp. Needs `pip install tokenizers`.
Prints one line per tokenizer and text and exits with 1 on any difference.
"""
import argparse
import os
import sys
import tempfile
import time

from lines import encode, folder_of, hundred_thousand, nasty, plain
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


def cases(data, scratch):
    """(name, Hugging Face tokenizer, folder for ENCODE)."""
    gpt2, opt, qwen2 = (os.path.join(data, "tokenizers", x) for x in ("gpt2", "opt", "qwen2"))
    level = pre_tokenizers.ByteLevel
    for name, tokenizer in (
            ("stories260k", Tokenizer.from_file(os.path.join(data, "stories260k", "tokenizer.json"))),
            ("gpt2", byte_level(gpt2, level(add_prefix_space=False))),
            ("gpt2-prefix", byte_level(gpt2, level(add_prefix_space=True))),
            ("opt", byte_level(opt, level(add_prefix_space=False))),
            ("qwen2", byte_level(qwen2, split_then_bytes(QWEN2), nfc=True))):
        yield name, tokenizer, folder_of(name, data, scratch)
    for name, source, tokenizer in (
            ("llama3-pattern", qwen2, byte_level(qwen2, split_then_bytes(LLAMA3), ignore_merges=True)),
            ("digits", gpt2, byte_level(gpt2, pre_tokenizers.Sequence(
                [pre_tokenizers.Digits(individual_digits=True), level(add_prefix_space=False)])))):
        folder = os.path.join(scratch, name)
        os.mkdir(folder)
        tokenizer.save(os.path.join(folder, "tokenizer.json"))
        yield name, tokenizer, folder


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
    files["a hundred thousand lines"] = hundred_thousand(args.data)
    bare = "".join(files["wikitext2/test.txt"][0].split())
    files["without spaces"] = [bare[at:at + 20000] for at in range(0, len(bare), 20000)]
    files["nasty"] = list(nasty(args.random, 1))
    files["one text of all nasty"] = ["".join(files["nasty"])]
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        for name, tokenizer, folder in cases(args.data, scratch):
            for title, texts in files.items():
                texts = [plain(t) for t in texts]
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
