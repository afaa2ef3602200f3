#!/usr/bin/env python3
"""Flips fields of tokenizer.json files beside the Hugging Face `tokenizers` library.

  flips.py ENCODE --count N [--seed N] [--keep FOLDER] [--write GOLDEN] FOLDER...     (needs `pip install tokenizers`)
  flips.py ENCODE --check GOLDEN FOLDER...                                            (standard library only)

ENCODE is the program built from Encode.cpp. Each of N files is tokenizer.json of one of the
folders with one to three of its fields changed, as another tool or a person might: truths,
words, numbers and texts, entries left out or there twice, stages of the other files, and
tokens that are added. If the library reads it, the product gives the same ids for a
hundred texts, with special tokens as text and as tokens, or refuses the file. --keep
writes those that are neither; any is a failure. --write keeps what was changed and a digest
of the library's ids of those that it reads, and --check compares the product with that.
"""
import argparse
import collections
import copy
import hashlib
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

from lines import PARTS, nasty

NOWHERE = os.open(os.devnull, os.O_WRONLY)
STRINGS = ["", " ", "\u2581", "  ", "\u2581\u2581", "\n", "\n\n", "a", "ab", "the", " the", "[INST]", "<x>", "<s>", "</s>", "\u00e9",
           "e\u0301", "\u212b", "x ", "st", "<0x0A>", "\u0120the", "!", "K"]
WORDS = {
    "behavior": ["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"],
    "prepend_scheme": ["always", "first", "never"],
    "type": ["NFC", "NFD", "NFKC", "Lowercase", "Strip", "Prepend", "Replace", "ByteLevel", "Metaspace", "Split", "Digits",
             "Whitespace", "Sequence", "BPE", "WordPiece", "TemplateProcessing", "BertPreTokenizer"],
}
NORMALIZERS = [
    None, {"type": "NFC"}, {"type": "Prepend", "prepend": "\u2581"}, {"type": "Lowercase"}, {"type": "NFKC"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
    {"type": "Strip", "strip_left": True, "strip_right": False},
    {"type": "Replace", "pattern": {"Regex": " "}, "content": "\u2581"},
    {"type": "Replace", "pattern": {"String": "a"}, "content": "b"}]
PRE_TOKENIZERS = [
    None, {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": False},
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": False},
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never", "split": False},
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
    {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False},
    {"type": "Digits", "individual_digits": True}, {"type": "Whitespace"},
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}]


def added_token(pick, document):
    largest = max([t["id"] for t in document.get("added_tokens") or [] if isinstance(t.get("id"), int)], default=-1)
    content = pick.choice(STRINGS[3:])
    vocab = document["model"]["vocab"]
    token = {key: pick.random() < 0.3 for key in ("lstrip", "rstrip", "normalized", "special")}
    token["normalized"] = pick.random() < 0.6
    token["single_word"] = pick.random() < 0.05
    next_id = max(largest + 1, len(vocab)) + (pick.random() < 0.05)
    return {"id": vocab.get(content, next_id) if isinstance(vocab, dict) else next_id, "content": content, **token}


def places(value, path=()):
    """All values but the vocabulary's and the merges'."""
    if path[:2] not in (("model", "vocab"), ("model", "merges")):
        yield path
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, item in items:
            yield from places(item, path + (key,))


def flipped(pick, value, key):
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return pick.choice(WORDS.get(key, STRINGS))
    if isinstance(value, (int, float)):
        return pick.choice([value + 1, max(value - 1, 0), 0])
    if isinstance(value, list) and value:
        at = pick.randrange(len(value))
        kind = pick.randrange(4)
        if kind == 0:
            return value[:at] + value[at + 1:]
        if kind == 1:
            return value[:at] + [copy.deepcopy(value[at])] + value[at:]
        return pick.sample(value, len(value))
    if isinstance(value, dict) and value:
        out = dict(value)
        del out[pick.choice(sorted(out))]
        return out
    return pick.choice([None, False, []])


def flip(pick, document):
    document = copy.deepcopy(document)
    for _ in range(pick.choice([1, 1, 1, 2, 3])):
        kind = pick.randrange(10)
        if kind < 2 and isinstance(document.get("added_tokens"), list) and "vocab" in document.get("model", ()):
            document["added_tokens"].append(added_token(pick, document))
        elif kind == 2:
            document["normalizer"] = pick.choice(NORMALIZERS)
        elif kind == 3:
            document["normalizer"] = {"type": "Sequence", "normalizers": [
                n for n in pick.sample(NORMALIZERS, 2) if n] }
        elif kind == 4:
            document["pre_tokenizer"] = pick.choice(PRE_TOKENIZERS)
        else:
            everywhere = list(places(document))[1:]
            path = pick.choice(everywhere)
            owner = document
            for key in path[:-1]:
                owner = owner[key]
            owner[path[-1]] = flipped(pick, owner[path[-1]], path[-1])
    return document


def texts_for(pick, document):
    names = [t["content"] for t in document.get("added_tokens") or [] if isinstance(t, dict) and isinstance(t.get("content"), str)]
    parts = STRINGS[1:] + PARTS + 6 * names[:40] + ["stone", " blade", "12"]
    out = ["", " ", "  ", "the blade", " the blade  ", "a\u0301"]
    out += ["".join(pick.choice(parts) for _ in range(pick.randrange(1, 12))) for _ in range(80)]
    return out + list(nasty(14, pick.randrange(1 << 30)))


def theirs(text, texts):
    """For each text its ids with special tokens as text and as tokens, or None."""
    errors = os.dup(2)
    os.dup2(NOWHERE, 2)  # where the library panics
    from tokenizers import Tokenizer
    try:
        tokenizer = Tokenizer.from_str(text)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        out = []
        for as_text in (True, False):
            tokenizer.encode_special_tokens = as_text
            out.append([tokenizer.encode(t).ids for t in texts])
        return out
    except BaseException as problem:  # the library panics, too
        if isinstance(problem, KeyboardInterrupt):
            raise
        return None
    finally:
        os.dup2(errors, 2)
        os.close(errors)


def ours(program, text, texts):
    """The same, or the text of the refusal."""
    packed = b"".join(struct.pack("<I", len(t)) + t for t in (x.encode() for x in texts))
    out = []
    for mode in ("text", "parse"):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "tokenizer.json"), "w") as file:
                file.write(text)
            run = subprocess.run([program, folder, mode, "template"], input=packed, capture_output=True)
        if run.returncode:
            return run.stderr.decode() if run.stderr.startswith(b"error[") else f"CRASH {run.returncode}"
        at, ids = 0, []
        while at < len(run.stdout):
            (count,) = struct.unpack_from("<I", run.stdout, at)
            ids.append(list(struct.unpack_from("<%di" % count, run.stdout, at + 4)))
            at += 4 + 4 * count
        out.append(ids)
    return out


def digest(ids):
    return hashlib.sha256(json.dumps(ids).encode()).hexdigest()[:16]


def changes(document, base):
    """The keys of `document` that differ from `base`, or None where the
    vocabulary's own file differs."""
    models = [dict(d["model"]) if isinstance(d.get("model"), dict) else {} for d in (document, base)]
    for key in ("vocab", "merges"):
        if models[0].pop(key, None) != models[1].pop(key):
            return None
    out = {key: document.get(key) for key in base if key != "model" and document.get(key) != base[key]}
    return {**out, "model": models[0]} if models[0] != models[1] else out


def changed(base, change):
    """The reverse; a key that is null is as one that is not there."""
    document = {**base, **change}
    if "model" in change:
        document["model"] = {**change["model"], **{key: base["model"][key] for key in ("vocab", "merges")}}
    return document


def check(args, documents):
    counts = collections.Counter()
    with open(args.check) as file:
        texts, *flips = map(json.loads, file)
    for number, (name, change, expected) in enumerate(flips):
        found = ours(args.encode, json.dumps(changed(documents[name], change)), texts)
        kind = "refused" if isinstance(found, str) and not found.startswith("CRASH") else \
            "same ids" if digest(found) == expected else "OTHER IDS"
        counts[kind] += 1
        if kind == "OTHER IDS":
            print(f"flip {number} of {name}: {change}")
    return counts


def compare(args, documents):
    counts = collections.Counter()
    golden = []
    shared = texts_for(random.Random(args.seed), {"added_tokens": [t for d in documents.values() for t in d["added_tokens"][-9:]]})
    for number in range(args.count):
        pick = random.Random(f"{args.seed} {number}")
        name = pick.choice(sorted(documents))
        document = flip(pick, documents[name])
        texts = shared if args.write else texts_for(pick, document)
        text = json.dumps(document)
        found = ours(args.encode, text, texts)
        is_refused = isinstance(found, str) and not found.startswith("CRASH")
        expected = None if is_refused and not args.write else theirs(text, texts)
        change = changes(document, documents[name]) if args.write and expected else None
        if change is not None:
            golden.append([name, change, digest(expected)])
        kind = "refused" if is_refused else "no tokenizer of the library" if expected is None and isinstance(found, list) else \
            "same ids" if found == expected else "OTHER IDS"
        counts[kind] += 1
        if kind != "OTHER IDS":
            continue
        print(f"{number}, of {name}: {found if isinstance(found, str) else ''}")
        for mode, a, b in zip(("text", "parse"), found, expected or ()):
            for text_, x, y in list(zip(texts, a, b)) if isinstance(found, list) else ():
                if x != y:
                    print(f"  {mode} {text_!r}\n    ours   {x}\n    theirs {y}")
                    break
        if args.keep:
            with open(os.path.join(args.keep, f"{number}.json"), "w") as file:
                file.write(text)
    if args.write:
        with open(args.write, "w") as file:
            for line in [shared] + golden:
                file.write(json.dumps(line) + "\n")
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("encode")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep")
    parser.add_argument("--write")
    parser.add_argument("--check")
    args = parser.parse_args()
    documents = {}
    for folder in args.folders:
        with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as file:
            documents[os.path.basename(os.path.normpath(folder))] = json.load(file)
    counts = check(args, documents) if args.check else compare(args, documents)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    sys.exit(counts["OTHER IDS"] != 0)


if __name__ == "__main__":
    main()
