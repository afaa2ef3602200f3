#!/usr/bin/env python3
"""Check that every `Example:` in TableGen descriptions parses and verifies, and
that its printed text, also in the generic form, is the same module.

  check_examples.py HONE_OPT FOLDER...

An example is a ```mlir block or a `one-liner` after the word `Example:`. Missing parts
are supplied: ops stand in a block, or, if they are of the tile dialect or below it, in a
function whose arguments are the values that they do not define; attributes stand on a
module. A line of `...` stands for nothing. Prints each failure as FILE:LINE and exits
with 1 if there is one.
"""

import os
import re
import subprocess
import sys

EXAMPLE = re.compile(
    r"^( *)Example:\s*(?:```mlir\n(?P<block>.*?)```|`(?P<line>[^`]*)`)",
    re.MULTILINE | re.DOTALL)


def top_level(text):
    return re.match(r"\s*(module\b|func\.func\b|hone\.(block|entry|region)\b)",
                    text)


def stands_in_function(text):
    return re.search(r"\b(tile|cpu|simt)\.\w", text)


def wrapped(text, signatures):
    """`text` as a module: as it is, as an attribute, or inside a function."""
    if top_level(text):
        return text
    if text.lstrip().startswith("#"):
        return f"module attributes {{test.example = {text}}} {{}}"
    if not stands_in_function(text):
        return f"hone.block @example() {{\n{text}\nhone.return\n}}"
    return (f"func.func @example({signatures}) attributes {{tile.entry}} "
            f"{{\n{text}\nreturn\n}}")


def free_values(text):
    """Values that `text` uses and does not define, in order of appearance."""
    text = re.sub(r"//.*", "", text)
    defined = set()
    for names in re.findall(r"^\s*((?:%\w+(?::\d+)?,?\s*)+)=", text, re.M):
        defined.update(re.findall(r"%\w+", names))
    for names in re.findall(r"(?:tile\.\w+|prologue|epilogue) \(([^)]*)\)", text):
        defined.update(re.findall(r"%\w+", names))
    for names in re.findall(r"private\(([^)]*)\)", text):
        defined.update(re.findall(r"%\w+", names))
    seen = dict.fromkeys(re.findall(r"%\w+", text))
    return [name for name in seen if name not in defined]


def run(tool, text, *options):
    done = subprocess.run([tool, "-", *options], input=text, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def round_trip(tool, text):
    """As run() of `text`, and an error where its prints are another module."""
    code, printed = run(tool, text)
    if code:
        return code, printed
    for options in [], ["--mlir-print-op-generic"]:
        code, form = run(tool, text, *options)
        again = run(tool, form)
        if again != (0, printed):
            return 1, f"it is printed as\n{form}\nwhich is read as\n{again[1]}"
    return 0, ""


def signature_of(tool, text):
    """Arguments for the free values of a tile example. The parser says which
    type each use expects: one value is settled with each run."""
    types = {}
    for name in free_values(text):
        types.setdefault(name, "index")
    for _ in range(2 * len(types) + 1):
        signature = ", ".join(f"{name}: {kind}" for name, kind in types.items())
        code, output = run(tool, wrapped(text, signature))
        wants = re.search(r"use of value '(%\w+)' expects different type than "
                          r"prior uses: '([^']*)'", output)
        if not wants or types.get(wants[1]) == wants[2]:
            break
        types[wants[1]] = wants[2]
    return signature


def check(tool, text):
    needs_values = not top_level(text) and stands_in_function(text)
    signature = signature_of(tool, text) if needs_values else ""
    return round_trip(tool, wrapped(text, signature))


def main():
    tool, *folders = sys.argv[1:]
    checked = failures = 0
    for folder in folders:
        for root, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                if not name.endswith(".td"):
                    continue
                path = os.path.join(root, name)
                with open(path, encoding="utf-8") as file:
                    source = file.read()
                for match in EXAMPLE.finditer(source):
                    text = match["block"] or match["line"]
                    text = re.sub(r"^\s*\.\.\.\s*$", "", text, flags=re.M)
                    code, output = check(tool, text)
                    checked += 1
                    if code == 0:
                        continue
                    failures += 1
                    line = source.count("\n", 0, match.start()) + 1
                    print(f"{path}:{line}: example is not valid\n{output}")
                # Every example must have been seen, in either form.
                written = len(re.findall(r"^ *Example:", source, re.M))
                found = len(EXAMPLE.findall(source))
                if written != found:
                    failures += 1
                    print(f"{path}: {written - found} examples are neither a "
                          "```mlir block nor one line in backquotes")
    print(f"{checked} examples, {failures} failed")
    return 1 if failures or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
