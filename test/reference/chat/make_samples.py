#!/usr/bin/env python3
"""Writes golden/chat/KIND/: tokenizers with chat tokens, and samples of the dialogues.

  python make_samples.py [SHARED]     (needs `pip install transformers`, and make_golden.py's files)

samples.json: template -> for each dialogue 12 digits of the SHA-256 of its samples as
JSON, [[ids, labels], ...]; "refused" where a rendering raises, "spelled" where
a turn spells a special token, which Transformers would take for one.

The labels are an independent reading of the rule: turn i of the assistant is what
rendering the turns up to i has after what rendering those before it with
add_generation_prompt begins with, as tokens. Where the rendered conversation
begins with each of these, but for end-of-text after them, it is one sample;
else each turn is one. A prompt that changes more than itself is refused. Of a template
that marks what an assistant says the labels are Transformers' own mask.
"""
import hashlib
import json
import os
import re
import sys

from make_golden import OUT, TOKENIZER, VARIABLES, render
from tokenizers import AddedToken, Tokenizer
from transformers import PreTrainedTokenizerFast

SPECIAL = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>",
           "<|user|>", "<|assistant|>", "<|end_of_turn|>", "<end_of_turn>", "[INST]", "[/INST]", "<｜User｜>",
           "<｜Assistant｜>", "<|end_of_text|>"]


def tokenizer(kind):
    made = Tokenizer.from_file(os.path.join(OUT, os.pardir, "tokenizers", kind, "tokenizer.json"))
    made.add_special_tokens([AddedToken(text, normalized=False) for text in SPECIAL])
    made.add_special_tokens([AddedToken("<|end|>", normalized=False, rstrip=True),
                             AddedToken("<mask>", normalized=False, lstrip=True)])
    made.add_tokens([AddedToken(text, normalized=False) for text in ("<think>", "</think>")])
    folder = os.path.join(OUT, kind)
    os.makedirs(folder, exist_ok=True)
    made.save(os.path.join(folder, "tokenizer.json"))
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as file:
        json.dump({**VARIABLES, "add_bos_token": True, "tokenizer_class": "PreTrainedTokenizerFast"}, file)
        file.write("\n")
    return PreTrainedTokenizerFast(tokenizer_object=made, **VARIABLES)


def common(a, b):
    count = 0
    while count < min(len(a), len(b)) and a[count] == b[count]:
        count += 1
    return count


def samples(model, encode, template, talk):
    """[[ids, labels], ...], or None where something refuses."""
    end = model.eos_token_id

    def text(count, prompt):
        return render(template, talk[:count], prompt)

    whole = text(len(talk), False)
    if whole is None or talk[0]["role"] == "assistant":
        return None
    if re.search(r"{%-? *generation", template):
        made = model.apply_chat_template(
            talk, chat_template=template, return_dict=True, return_assistant_tokens_mask=True)
        ids = made["input_ids"]
        return [[ids, [i if said else -100 for i, said in zip(ids, made["assistant_masks"])]]]
    answers = [i for i, turn in enumerate(talk) if turn["role"] == "assistant"]
    turns = [text(i + 1, False) for i in answers]
    if None in turns:
        return None
    ids = encode(whole)
    encoded = [encode(turn) for turn in turns]
    shared = all(set(turn[common(turn, ids):]) <= {end} for turn in encoded)

    def start(i, inside):
        prompt, before = text(i, True), text(i, False)
        if prompt is None:
            return None
        if not inside.startswith(prompt) and not inside.startswith(before.removesuffix(VARIABLES["eos_token"])):
            return None
        return common(encode(prompt), encode(inside))

    out = []
    labels = [-100] * len(ids)
    for i, turn, turn_ids in zip(answers, turns, encoded):
        first = start(i, whole if shared else turn)
        if first is None:
            return None
        if shared:
            last = common(turn_ids, ids)
            labels[first:last] = ids[first:last]
        else:
            out.append([turn_ids, [-100] * first + turn_ids[first:]])
    return [[ids, labels]] if shared else out


def main():
    talks = [json.loads(line)["messages"] for line in open(os.path.join(OUT, "dialogues.jsonl"))]
    sources = {}
    for folder, prefix in [(os.path.join(OUT, "templates"), "")] + [
            (os.path.join(each, "data", "chat-templates"), "shared/") for each in sys.argv[1:]]:
        for name in sorted(os.listdir(folder)):
            if name.endswith(".jinja"):
                sources[prefix + name] = open(os.path.join(folder, name)).read()
    for kind in ("qwen2", "byte-fallback"):
        model = tokenizer(kind)
        special = SPECIAL + ["<|end|>", "<mask>"]

        def encode(text):
            return model(text, add_special_tokens=False)["input_ids"]

        result = {}
        for name, source in sources.items():
            result[name] = []
            split = 0
            for talk in talks:
                if any(token in (turn["content"] + turn.get("reasoning_content", "")) for turn in talk
                       for token in special):
                    result[name].append("spelled")
                    continue
                made = samples(model, encode, source, talk)
                split += made is not None and len(made) > 1
                result[name].append("refused" if made is None else hashlib.sha256(
                    json.dumps(made, separators=(",", ":")).encode()).hexdigest()[:12])
            print(kind, name, "split", split, "refused", result[name].count("refused"))
        with open(os.path.join(OUT, kind, "samples.json"), "w") as file:
            json.dump(result, file, indent=0, sort_keys=True)
            file.write("\n")


if __name__ == "__main__":
    assert TOKENIZER.bos_token == VARIABLES["bos_token"]
    main()
