#!/usr/bin/env python3
"""Check that every `Example:` in TableGen descriptions parses and verifies.

  check_examples.py HONE_OPT FOLDER...

An example is a ```mlir block or a `one-liner` after the word `Example:`. What
it leaves out is supplied: ops stand in a block, or, if they are of the tile
dialect or below it, in a function whose arguments are the values that they do not define;
attributes stand on a module. A line of `...` stands for nothing. Prints each
failure as FILE:LINE and exits with 1 if there is one.
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
    return re.search(r"\b(tile|cpu)\.\w", text)


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


def run(tool, text):
    done = subprocess.run([tool, "-", "-o", os.devnull], input=text, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def types_that_fit(tool, text):
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
    return code, output


def check(tool, text):
    if top_level(text) or not stands_in_function(text):
        return run(tool, wrapped(text, ""))
    return types_that_fit(tool, text)


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
                # Every example must have been seen, whatever its form.
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
