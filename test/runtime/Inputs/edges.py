"""edges.py RUNTIME/SRC [TABLE]: the table has exactly the includes of each
folder of the runtime.

Archives are one above another, so none of a lower one includes a higher one, and
folders of one archive have no cycle.
"""

import pathlib
import re
import sys

# A folder, and those that it may include. Only folders above it.
ARCHIVES = {
    "core": {
        "platform": "",
        "base": "platform",
        "threads": "base platform",
        "device": "base platform threads",
        "formats": "base platform",
        "module": "base device formats platform threads",
        "step": "base device formats module platform",
        "generate": "base device module step",
        "api": "base device formats generate module platform step threads",
    },
    "text": {
        "text": "base",
        "chat": "base text",
        "data": "base chat platform step text",
        "textapi": "api text",
    },
    "tasks": {
        "tasks": "base data step text",
    },
    "exchange": {
        "exchange": "base platform step",
    },
    "program": {
        "program": "base chat data device exchange formats generate module platform step text threads",
    },
    "main": {
        "main": "program tasks",
    },
}


def included(source):
    """Pairs of a folder and one that it includes, with a file that does."""
    found = {}
    for path in sorted(source.rglob("*")):
        if path.suffix not in (".h", ".cpp", ".inc", ".def"):
            continue
        own = path.relative_to(source).parts[0]
        for name in re.findall(r'^#\s*include "([^"/]+)/', path.read_text(), re.M):
            # Of passes there are the settings of methods: see rules.test.
            if name not in (own, "hone", "passes"):
                found.setdefault((own, name), path)
    return found


def main():
    allowed, above = {}, set()
    for archive, folders in ARCHIVES.items():
        for folder, names in folders.items():
            wrong = set(names.split()) - above
            assert not wrong, f"{archive}: {folder} stands above {wrong}"
            allowed[folder] = set(names.split())
            above.add(folder)
    found = included(pathlib.Path(sys.argv[1]))
    problems = [f"{path}: {own} may not include {name}"
                for (own, name), path in found.items()
                if name not in allowed.get(own, ())]
    problems += [f"the table lets {own} include {name}, which it does not"
                 for own, names in allowed.items() for name in sorted(names)
                 if (own, name) not in found]
    print("\n".join(problems) or f"{len(found)} edges, all in the table")
    sys.exit(bool(problems))


main()
