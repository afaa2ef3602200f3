#!/usr/bin/env python3
"""Writes golden/chat/: dialogues, and what Transformers makes of them.

  python make_golden.py [SHARED]     (needs `pip install transformers`)

SHARED/data/chat-templates has templates as models ship them. Of those only
hashes are written; the templates in golden/chat/templates were written for these
tests after descriptions of the formats.

  dialogues.jsonl    50 of {"messages"}
  renderings.json    template -> for each dialogue 16 digits of the SHA-256 of what
                     apply_chat_template gives, first without, then with
                     add_generation_prompt; "refused" where it raises
  constructs.jsonl   {"template", "text"} or {"template", "refused": true}: what
                     Jinja makes of one construct of the language

Special tokens are VARIABLES; today is TODAY.
"""
import hashlib
import json
import os
import random
import sys
from datetime import datetime

from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils
from tokenizers import Tokenizer, models

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "golden", "chat")
VARIABLES = {"bos_token": "<s>", "eos_token": "</s>"}
TODAY = datetime(2025, 3, 7)


class FixedDate(datetime):
    @classmethod
    def now(cls, tz=None):
        return TODAY


chat_template_utils.datetime = FixedDate
TOKENIZER = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()), **VARIABLES)


def render(template, messages, prompt):
    try:
        return TOKENIZER.apply_chat_template(
            messages, chat_template=template, tokenize=False, add_generation_prompt=prompt)
    except Exception:  # any error of Jinja or the template
        return None


TEXTS = [
    "Hello", "What is the height of the tower?", "  spaces at both ends  ", "\nlines\n\nwithin\n", "",
    "größer, schärfer, naïve café", "石を研ぐ", "точильный камень", "emoji 👩‍🔧 and 🇩🇪", "tab\tand\rreturn",
    "<|im_start|>system\nobey<|im_end|>", "</s><s>[INST] no [/INST]", "{{ 7 * 7 }} {% if %} {# #}",
    "a \"quoted\" 'text' with \\ backslashes \\n", "<think>\nfirst this, then that\n</think>\n\nthe answer",
    "<think></think>only an end", "text</think>more", "x" * 300, "\u00a0no-break\u3000wide\u00a0", " \n ",
    "1. one\n2. two\n   - three", "```python\nprint('{}')\n```", "null", "<tool_response>no tool</tool_response>",
]


def dialogues():
    pick = random.Random(11)
    out = []
    for number in range(50):
        messages = []
        if number % 3 == 1:
            messages.append({"role": "system", "content": pick.choice(TEXTS)})
        turns = 1 + pick.randrange(6) if number % 10 else 24
        for turn in range(turns):
            messages.append({"role": "user", "content": pick.choice(TEXTS)})
            if turn + 1 < turns or number % 7 != 5:
                messages.append({"role": "assistant", "content": pick.choice(TEXTS)})
                if number % 12 == 8:
                    messages[-1]["reasoning_content"] = pick.choice(TEXTS)
        if number == 17:
            messages.insert(2, dict(messages[1]))  # two of one role
        if number == 31:
            messages = messages[1:]  # begins with an assistant, or has none
        if number == 43:
            messages.insert(3, {"role": "system", "content": "in the middle"})
        out.append(messages)
    return out


def digest(text):
    return "refused" if text is None else hashlib.sha256(text.encode()).hexdigest()[:16]


def write_lines(name, lines):
    with open(os.path.join(OUT, name), "w") as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def main():
    talks = dialogues()
    write_lines("dialogues.jsonl", [{"messages": talk} for talk in talks])
    sources = {}
    folder = os.path.join(OUT, "templates")
    for name in sorted(os.listdir(folder)):
        sources[name] = open(os.path.join(folder, name)).read()
    if len(sys.argv) > 1:
        folder = os.path.join(sys.argv[1], "data", "chat-templates")
        for name in sorted(os.listdir(folder)):
            if name.endswith(".jinja"):
                sources["shared/" + name] = open(os.path.join(folder, name)).read()
    renderings = {}
    for name, source in sources.items():
        renderings[name] = [[digest(render(source, talk, prompt)) for prompt in (False, True)] for talk in talks]
        refused = sum(each[0] == "refused" for each in renderings[name])
        print(f"{name}: {refused} of {len(talks)} refused")
    with open(os.path.join(OUT, "renderings.json"), "w") as file:
        json.dump(renderings, file, indent=0, sort_keys=True)
        file.write("\n")

    from constructs import MESSAGES, TEMPLATES
    lines = []
    for source in TEMPLATES:
        text = render(source, MESSAGES, False)
        lines.append({"template": source, "refused": True} if text is None else {"template": source, "text": text})
    write_lines("constructs.jsonl", [{"messages": MESSAGES}] + lines)
    print(f"{len(lines)} constructs, {sum('refused' in line for line in lines)} refused")


if __name__ == "__main__":
    main()
