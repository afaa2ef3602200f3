#!/usr/bin/env python3
"""Compares what Hone and Transformers render, for every chat template in some folders.

  python compare_templates.py RENDER-CHAT FOLDER...   (needs `pip install transformers`)

RENDER-CHAT is bin/render-chat of a build. Templates are files *.jinja, *.jinja2, and
the strings chat_template of *.json, in the folders and below. Each renders all of
DIALOGUES with and without the generation prompt. Exits with 1 if a text differs, or
if Hone renders what Jinja refuses; what Hone alone refuses is listed with its reason.
"""
import collections
import hashlib
import json
import os
import re
import subprocess
import sys

from make_golden import TOKENIZER, dialogues

CITY = {"type": "function", "function": {
    "name": "get_weather", "description": "The weather of a city, e.g. \"Zürich\" or 東京.",
    "parameters": {"type": "object", "required": ["city"], "properties": {
        "city": {"type": "string", "description": "Its name"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "height": {"type": ["number", "null"], "default": 0.5, "exclusiveMinimum": -1e-07}}}}}
SUM = {"type": "function", "function": {
    "name": "sum", "description": "Adds numbers", "parameters": {
        "type": "object", "properties": {
            "numbers": {"type": "array", "items": {"type": "number"}},
            "options": {"type": "object", "properties": {"exact": {"type": "boolean", "default": False}}},
            "notes": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}},
        "required": ["numbers"]}, "return": {"type": "number", "description": "the sum"}}}
NONE = {"type": "function", "function": {"name": "now", "description": "The time.\nOf day.", "parameters": {
    "type": "object", "properties": {}}}}


def call(name, arguments, number=1):
    return {"id": f"call0000{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def tool_dialogues():
    user = {"role": "user", "content": "How warm is it in Zürich? 🌡️"}
    ask = {"role": "assistant", "content": "", "tool_calls": [call("get_weather", {"city": "Zürich", "days": 2, "height": 1.5})]}
    told = {"role": "tool", "tool_call_id": "call00001", "name": "get_weather", "content": "{\"celsius\": 21.5, \"note\": \"größer\"}"}
    end = {"role": "assistant", "content": "It is 21.5 °C."}
    system = {"role": "system", "content": "  Answer briefly.\n"}
    two = {"role": "assistant", "content": None, "tool_calls": [
        call("sum", {"numbers": [1, 2.0, 3e17], "options": {"exact": True}, "notes": None}), call("now", {}, 2)]}
    twice = [{"role": "tool", "tool_call_id": "call00001", "name": "sum", "content": "4"},
             {"role": "tool", "tool_call_id": "call00002", "name": "now", "content": "<|im_end|> 12:00"}]
    text = dict(ask, tool_calls=[call("get_weather", "{\"city\": \"Bern\"}")])
    thinks = dict(ask, content="I look it up.", reasoning_content="Which tool?\nThe weather's.")
    plain = dict(ask, tool_calls=[{"name": "get_weather", "arguments": {"city": "'Rom' \"x\""}}])
    listed = dict(ask, tool_calls=[call("sum", {"numbers": []}), call("sum", {"numbers": [[1], ["ä", True]]}, 2)])
    parts = [{"role": "user", "content": [{"type": "text", "text": "One "}, {"type": "text", "text": "two"}]}]
    return [
        {"messages": [user], "tools": [CITY]},
        {"messages": [system, user], "tools": [CITY, SUM, NONE]},
        {"messages": [user, ask, told], "tools": [CITY]},
        {"messages": [user, ask, told, end], "tools": [CITY, SUM]},
        {"messages": [user, ask, told, end]},
        {"messages": [system, user, thinks, told, end, user, ask, told, end], "tools": [CITY]},
        {"messages": [user, two, *twice, end, user], "tools": [SUM, NONE]},
        {"messages": [user, text, told, end], "tools": [CITY]},
        {"messages": [user, plain, told], "tools": [CITY]},
        {"messages": [user, listed, told, end, user], "tools": [SUM]},
        {"messages": [user, {k: v for k, v in ask.items() if k != "content"}, told, end], "tools": [CITY]},
        {"messages": [user, {"tool_calls": ask["tool_calls"], "content": "x", "role": "assistant"}, told], "tools": [CITY["function"]]},
        {"messages": parts},
        {"messages": parts + [{"role": "assistant", "content": [{"type": "text", "text": "three"}]}, user]},
        {"messages": [{"role": "system", "content": [{"type": "text", "text": "Be kind."}]}] + parts},
        {"messages": [user, end], "tools": []},
        {"messages": [dict(user, tool_calls=[]), dict(end, tool_calls=[], reasoning="hm")]},
        {"messages": [dict(user, name="Ann"), dict(end, name="Bob")]},
    ]


def reference(template, data, prompt):
    try:
        return TOKENIZER.apply_chat_template(
            data["messages"], tools=data.get("tools") or None, chat_template=template, tokenize=False,
            add_generation_prompt=prompt)
    except Exception as error:  # any error of Jinja or the template
        return error


def templates_in(folder):
    """Pairs of a name and a template; each text once."""
    for root, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            path = os.path.join(root, name)
            if name.endswith((".jinja", ".jinja2")):
                yield os.path.relpath(path, folder), open(path, encoding="utf-8").read()
            elif name.endswith(".json") and "chat_template" in (text := open(path, encoding="utf-8").read()):
                found = set(re.findall(r'"chat_template"\s*:\s*("(?:[^"\\]|\\.)*")', text))
                for each in sorted(found):
                    yield f"{os.path.relpath(path, folder)}#{hashlib.sha256(each.encode()).hexdigest()[:8]}", json.loads(each)


def main():
    render, folders = sys.argv[1], sys.argv[2:]
    data = [{"messages": talk} for talk in dialogues()] + tool_dialogues()
    cases, seen = [], set()
    count = collections.Counter()
    for folder in folders:
        for name, template in templates_in(folder):
            digest = hashlib.sha256(template.encode()).hexdigest()
            if digest in seen or len(template) > 65536:
                count["templates twice" if digest in seen else "templates too long"] += 1
                continue
            seen.add(digest)
            print(f"template {digest[:16]} {name}")
            cases += [(name, template, each, prompt) for each in data for prompt in (False, True)]
    lines = [json.dumps({"template": t, "data": json.dumps(d, ensure_ascii=False), "prompt": p}) for _, t, d, p in cases]
    out = subprocess.run([render], input="\n".join(lines) + "\n", stdout=subprocess.PIPE, check=True, text=True).stdout
    results = [json.loads(line) for line in out.splitlines()]
    assert len(results) == len(cases)
    reasons, wrong = collections.defaultdict(set), collections.Counter()
    for (name, template, each, prompt), own in zip(cases, results):
        other = reference(template, each, prompt)
        failed = isinstance(other, Exception)
        if "text" in own and failed:
            kind = "rendered, but Jinja refuses"
        elif "text" in own:
            kind = "equal" if own["text"] == other else "DIFFERENT"
        else:
            kind = "refused by both" if failed else "refused by Hone alone"
        count[kind] += 1
        if kind == "refused by Hone alone":
            reasons[own["refused"]].add(name)
        if kind.startswith(("DIFF", "rendered")):
            wrong[name, kind] += 1
            if wrong[name, kind] == 1:
                print(kind, name, json.dumps(each, ensure_ascii=False)[:300], "prompt" if prompt else "")
                print("   Hone:", repr(own["text"][-300:]), "\n   Jinja:", repr(other)[-300:])
    for reason in sorted(reasons):
        print(f"refused: {reason}\n    {', '.join(sorted(reasons[reason]))}")
    for kind in sorted(count):
        print(f"{count[kind]:7} {kind}")
    print(f"{len(seen):7} templates")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
