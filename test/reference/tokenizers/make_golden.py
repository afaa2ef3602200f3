#!/usr/bin/env python3
"""Writes golden/tokenizers/: tiny tokenizers and what Hugging Face makes of text.

  python make_golden.py [SHARED/data]       (needs `pip install tokenizers`)

The vocabularies are trained here on the sentences below; they come from no
published model. KIND/tokenizer.json is one tokenizer for each way of cutting
text; KIND/cases.jsonl holds {"text", "ids"}, where tokens were added with special ones as text, and then
"parsed" with them as tokens; data/ holds training files and the
samples {"ids", "targets"} that an independent reading of the rules gives. With
SHARED/data, published.json gets a digest of what each published tokenizer there
makes of a hundred thousand lines (lines.py): of those files nothing else is here.
"""
import json
import os
import random
import sys
import tempfile

from compare import LLAMA3, QWEN2, cases, split_then_bytes
from lines import PARTS, TOKENIZERS, digest, hundred_thousand, nasty
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "golden", "tokenizers")
SENTENCES = [
    "the whetstone turns and the blade gets thinner, the blade gets sharper",
    "it's the miller's stone; they'll say we've said it, but I'd rather they're told",
    "12 stones in 1999, 345 in 2024; 7 of 10 were grey",
    "    indented four\n        indented eight\n\n\nthree lines later\r\n",
    "der Schleifstein wird größer, die Klinge schärfer, naïve café",
    "石を研ぐ 石を研ぐ 石 刃", "точильный камень и лезвие", "!!! ... --> ((())) ::: ===",
] * 3


def train(pre_tokenizer):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.train_from_iterator(SENTENCES, trainers.BpeTrainer(
        vocab_size=256 + 100, show_progress=False, special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return tokenizer


def byte_fallback():
    """As Llama 2: characters, bytes for unknown ones, U+2581 for spaces."""
    base = Tokenizer(models.BPE())
    base.pre_tokenizer = pre_tokenizers.Metaspace()
    base.train_from_iterator(SENTENCES, trainers.BpeTrainer(vocab_size=150, show_progress=False))
    model = json.loads(base.to_str())["model"]
    names = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)]
    names += [n for n, _ in sorted(model["vocab"].items(), key=lambda x: x[1])]
    vocab = {name: i for i, name in enumerate(names)}
    tokenizer = Tokenizer(models.BPE(vocab, [tuple(m) for m in model["merges"]], unk_token="<unk>",
                                     fuse_unk=True, byte_fallback=True))
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(),
                                           decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return tokenizer


def gemma():
    """As Gemma: no space in front, runs of spaces and of line ends as tokens that are not special, and a
    pre-tokenizer that finds no space, since the normalizer has replaced them."""
    document = json.loads(byte_fallback().to_str())
    vocab = document["model"]["vocab"]
    document["added_tokens"] = [{
        "id": vocab.setdefault(content, len(vocab)), "content": content, "single_word": False, "lstrip": False,
        "rstrip": False, "normalized": False, "special": special} for content, special in
        [("<unk>", True), ("<s>", True), ("</s>", True)] +
        [(c * n, False) for c in "\n\u2581" for n in (2, 3, 4)] + [("<table>", False), ("<start_of_turn>", True)]]
    document["added_tokens"].sort(key=lambda token: token["id"])
    document["normalizer"] = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
    document["pre_tokenizer"] = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
    document["decoder"] = {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]}
    return Tokenizer.from_str(json.dumps(document))


def with_added(tokenizer):
    """As add_tokens leaves it: tokens that are normalized, of which some take white space."""
    tokenizer.add_tokens(["[INST]", "caf\u00e9", AddedToken("[L]", lstrip=True), AddedToken("[R]", rstrip=True),
                          AddedToken(" of ", normalized=True), AddedToken("the stone", normalized=False)])
    tokenizer.add_special_tokens([AddedToken("[S]", normalized=True, special=True), AddedToken("<mask>", lstrip=True, special=True)])
    return tokenizer


def metaspace():
    """As Llama 2 in newer files: no normalizer, a space in front of the whole text alone."""
    document = json.loads(byte_fallback().to_str())
    document["normalizer"] = None
    document["pre_tokenizer"] = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": False}
    return with_added(Tokenizer.from_str(json.dumps(document)))


def nfc():
    tokenizer = train(split_then_bytes(QWEN2))
    tokenizer.normalizer = normalizers.NFC()
    return with_added(tokenizer)


ADDED_TEXTS = [
    "<s>the</s> stone", "[INST] the [/INST] blade[INST]", "a [INST]b\n[INST] c", "  [L]  [R]  x", "[L][R]\n\n[R] y", "[S] [S]x[S]",
    " of of  of the stone of ", "cafe\u0301 caf\u00e9\u0301", "a\n\n\n\n\nb  \u2581\u2581c", "<mask> x <mask><mask>", "\u2581the\u2581[INST]",
    "<table>\n\n<start_of_turn>user\n\n\nhi", "\u00a0[L]\u3000[R]\u2028x", "[R]", " [INST]", "e\u0301[INST]e\u0301 [INST]\u0301", "the stones"]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as f:
        f.write(text)


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def sample(ids, labels):
    return {"ids": ids, "targets": labels[1:] + [-100]}


def data_files(tokenizer, eos):
    """Training files and the samples they stand for."""
    encode = lambda text: tokenizer.encode(text, add_special_tokens=False).ids
    texts = ["the blade", "it's 12 stones", "石を研ぐ\ncafé"]
    write(os.path.join(OUT, "data", "text.jsonl"), lines({"text": t, "id": i} for i, t in enumerate(texts)))
    expected = []
    for text in texts:
        ids = [1] + encode(text) + [eos]
        expected.append(sample(ids, ids))
    write(os.path.join(OUT, "data", "text.expected.jsonl"), lines(expected))

    pairs = [("the stone is", " grey"), ("", "the blade gets"), ("7 of 10:", "\nwere told ")]
    write(os.path.join(OUT, "data", "pairs.jsonl"), lines({"prompt": p, "completion": c} for p, c in pairs))
    expected = []
    for prompt, completion in pairs:
        ids = [1] + encode(prompt + completion) + [eos]
        masked = 1 + len(encode(prompt))
        expected.append(sample(ids, [-100] * masked + ids[masked:]))
    write(os.path.join(OUT, "data", "pairs.expected.jsonl"), lines(expected))

    text = "\n".join(SENTENCES[:8])
    write(os.path.join(OUT, "data", "packed.txt"), text)
    ids = [1] + encode(text)
    chunks = [ids[i:i + 32] for i in range(0, len(ids), 32)]
    write(os.path.join(OUT, "data", "packed.expected.jsonl"), lines(sample(c, c) for c in chunks))


def main():
    level = pre_tokenizers.ByteLevel
    kinds = {
        "gpt2": train(level(add_prefix_space=False)),
        "gpt2-prefix": train(level(add_prefix_space=True)),
        "qwen2": train(split_then_bytes(QWEN2)),
        "llama3": train(split_then_bytes(LLAMA3)),
        "digits": train(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                 level(add_prefix_space=False)])),
        "byte-fallback": byte_fallback(),
        "gemma": gemma(),
        "prepend-added": with_added(byte_fallback()),
        "metaspace-added": metaspace(),
        "nfc-added": nfc(),
        "prefix-added": with_added(train(level(add_prefix_space=True))),
    }
    kinds["qwen2"].normalizer = normalizers.NFC()
    texts = PARTS + SENTENCES[:8] + list(nasty(60, 7))
    pick = random.Random(5)
    added = ADDED_TEXTS + ["".join(pick.choice(ADDED_TEXTS + PARTS) for _ in range(pick.randrange(2, 6))) for _ in range(40)]
    for kind, tokenizer in kinds.items():
        model = json.loads(tokenizer.to_str())
        if kind == "llama3":
            model["model"]["ignore_merges"] = True
        if kind == "gpt2":  # the spelling before tokenizers 0.20
            model["model"]["merges"] = [" ".join(m) for m in model["model"]["merges"]]
        tokenizer = Tokenizer.from_str(json.dumps(model))
        write(os.path.join(OUT, kind, "tokenizer.json"), json.dumps(model, separators=(",", ":")) + "\n")
        rows = [{"text": t, "ids": tokenizer.encode(t, add_special_tokens=False).ids} for t in texts]
        if "added" in kind or kind == "gemma":
            for text in added:
                row = {"text": text, "parsed": tokenizer.encode(text, add_special_tokens=False).ids}
                tokenizer.encode_special_tokens = True
                rows.append({**row, "ids": tokenizer.encode(text, add_special_tokens=False).ids})
                tokenizer.encode_special_tokens = False
        write(os.path.join(OUT, kind, "cases.jsonl"), lines(rows))
        if kind == "byte-fallback":
            write(os.path.join(OUT, kind, "tokenizer_config.json"),
                  json.dumps({"bos_token": "<s>", "eos_token": "</s>", "add_bos_token": True}) + "\n")
            data_files(tokenizer, eos=2)
    if len(sys.argv) > 1:
        published(sys.argv[1])


def published(data):
    texts = hundred_thousand(data)
    with tempfile.TemporaryDirectory() as scratch:
        digests = {
            name: digest(e.ids for e in tokenizer.encode_batch(texts, add_special_tokens=False))
            for name, tokenizer, _ in cases(data, scratch) if name in TOKENIZERS}
    write(os.path.join(OUT, "published.json"), json.dumps(digests, indent=1) + "\n")


if __name__ == "__main__":
    main()
