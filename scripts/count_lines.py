#!/usr/bin/env python3
"""Count the lines of code of one commit, or of two and their difference.

  count_lines.py [COMMIT [COMMIT]]

Counts lines that are neither blank nor comment, after clang-format-22, in files
of the languages below outside test/ and docs/. Files that git does not track
are not counted; without a commit, HEAD is. Docstrings are comments.
"""

import ast
import os
import re
import subprocess
import sys
import tempfile

HASH, SLASHES = re.compile(r"#.*"), re.compile(r"//.*")
COMMENTS = {".cpp": SLASHES, ".h": SLASHES, ".td": SLASHES, ".mlir": SLASHES,
            ".js": SLASHES, ".py": HASH, ".cmake": HASH}
FORMATTED = {".cpp", ".h"}
OUTSIDE = {"test", "docs"}


def docstrings(text):
    """Numbers of the lines of Python's docstrings, from 1."""
    lines = set()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        if (isinstance(body, list) and body and isinstance(body[0], ast.Expr)
                and isinstance(body[0].value, ast.Constant)
                and isinstance(body[0].value.value, str)):
            lines.update(range(body[0].lineno, body[0].end_lineno + 1))
    return lines


def count(path, kind):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if COMMENTS[kind] is SLASHES:
        # Only where a line begins with it: within a line it may be in a string.
        text = re.sub(r"^\s*/\*.*?\*/", "", text, flags=re.M | re.S)
    skipped = docstrings(text) if kind == ".py" else ()
    return sum(1 for number, line in enumerate(text.splitlines(), 1)
               if line.strip() and number not in skipped
               and not COMMENTS[kind].fullmatch(line.strip()))


def counts(commit):
    """{(top folder, kind): lines} of a commit."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", commit], check=True,
                                 stdout=subprocess.PIPE).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        files = []
        for root, _, names in os.walk(folder):
            path = os.path.relpath(root, folder).split(os.sep)
            if path[0] not in OUTSIDE:
                files += [(path[0], os.path.splitext(name)[1],
                           os.path.join(root, name)) for name in names]
        files = [file for file in files if file[1] in COMMENTS]
        subprocess.run(["clang-format-22", "-i"] + [
            path for _, kind, path in files if kind in FORMATTED], check=True)
        for top, kind, path in files:
            found[top, kind] = found.get((top, kind), 0) + count(path, kind)
    return found


def table(columns, key):
    """Prints a line for each value of `key`, and one for all."""
    rows = sorted({key(k) for column in columns for k in column})
    for row in rows + [None]:
        numbers = [sum(n for k, n in column.items() if row in (None, key(k)))
                   for column in columns]
        if len(numbers) == 2:
            numbers.append(numbers[1] - numbers[0])
        print(f"{row or 'all':<12}" + "".join(f"{n:>10,}" for n in numbers[:2])
              + "".join(f"{n:>+10,}" for n in numbers[2:]))


def main():
    commits = sys.argv[1:3] or ["HEAD"]
    columns = [counts(commit) for commit in commits]
    print(" " * 12 + "".join(f"{commit[:9]:>10}" for commit in commits)
          + (f"{'change':>10}" if len(commits) == 2 else ""))
    table(columns, lambda k: k[1])
    print()
    table(columns, lambda k: k[0])


if __name__ == "__main__":
    main()
