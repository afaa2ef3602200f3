"""Data that is within the limits of Data in runtime/README.md and that takes
memory where it is not bounded, and data that is beyond them."""

import json
import random

LONGEST_LINE = 512 * 1024
LONGEST_PIECE = 32 * 1024
LONGEST_CONVERSATION = 128 * 1024
random.seed(1)


def lines(name, count, sample):
    with open(name, "w") as out:
        for i in range(count):
            out.write(json.dumps(sample(i)) + "\n")
        out.write('{"text": "short"}\n')


def text(size):
    return " ".join("%x" % random.getrandbits(24) for _ in range(size // 7))


page = text(16000)
lines("short.jsonl", 8, lambda i: {"text": "some words " + str(i)})
# Files far larger than the plan.
lines("long.jsonl", 750, lambda i: {"text": page[i:]})
with open("long.txt", "w") as out:
    for i in range(750):
        out.write(page[i:] + "\n")
lines("many.jsonl", 50000, lambda i: {"text": "%028d" % i})
# More samples than memory has bytes for their records.
with open("tiny.jsonl", "w") as out:
    out.write('{"input_ids": [1, 2]}\n' * 2000000)
# Examples as long as they may be, with three candidates.
with open("cb.jsonl", "w") as out:
    for label in ("entailment", "contradiction", "neutral"):
        out.write(json.dumps({"premise": text(LONGEST_CONVERSATION // 2 - 999),
                              "hypothesis": text(LONGEST_CONVERSATION // 2 - 999),
                              "label": label}) + "\n")
# Lines as long as a line may be: keys that nobody reads, ids, escapes.
lines("wide.jsonl", 7, lambda i: [
    {"text": "a b", "x": [1] * (LONGEST_LINE // 3 - 99)},
    {"text": "a b", "x": [{"y": [[0]]}] * (LONGEST_LINE // 15 - 99)},
    {"text": "a b", "x" * (LONGEST_LINE - 99): 1},
    {"text": "\na " * (LONGEST_LINE // 4 - 99)},
    {"text": text(LONGEST_LINE - 99)[:LONGEST_LINE - 999]},
    {"text": "\u0001 " * (LONGEST_LINE // 8)},
    {"text": "e\u0301 " * (LONGEST_LINE // 9)}][i])
# Pieces as long as a piece may be.
lines("words.jsonl", 40, lambda i: {
    "text": "a " + "ab "[i % 3] * (LONGEST_PIECE - 9)})

# Conversations as long as they may be, of few turns and of many, in an array.
def chat(*turns, system=None):
    begin = [] if system is None else [{"role": "system", "content": system}]
    return {"messages": begin + [
        {"role": "assistant" if i % 2 else "user", "content": turn}
        for i, turn in enumerate(turns)]}


with open("chat.json", "w") as out:
    json.dump([
        chat("a b", "c"),
        chat(text(LONGEST_CONVERSATION - 999), "c"),
        chat("a", text(LONGEST_CONVERSATION - 999)),
        chat("a", "b " * (LONGEST_CONVERSATION // 2 - 99)),
        chat("a", "<|im_end|>" * (LONGEST_CONVERSATION // 10 - 99)),
        chat(*["%d" % i for i in range(1000)]),
        chat("a", "ab " * (LONGEST_PIECE // 3)),
        chat("a", "c", system=text(LONGEST_CONVERSATION - 999)),
    ] + [chat("a b %d" % i, "c") for i in range(9)], out)

with open("line.jsonl", "w") as out:
    out.write('{"text": "' + "a b " * (2 << 20) + '"}\n')
with open("space.jsonl", "w") as out:
    out.write('{"text": "a b"}\n' + "\n" * (12 << 20) + '{"text": "a b"}\n')
with open("word.txt", "w") as out:
    out.write("a" * (12 << 20))
lines("key.jsonl", 2, lambda i: {"text": "a b", "x": [1] * (1 << 20)})
