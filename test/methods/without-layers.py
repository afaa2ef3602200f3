"""without-layers.py MODEL LAYER...: writes MODEL, an .mlir file, with no layers
but these: each gets the result of the remaining one before it.
"""

import re
import sys

kept = set(map(int, sys.argv[2:]))
last, renamed = None, {}
for line in open(sys.argv[1]):
    call = re.match(r"\s*(%\w+) = hone.call @\w+ \"model.(layers\.(\d+)\.)?\"", line)
    for old, new in renamed.items():
        line = line.replace(f"({old})", f"({new})")
    if call and call[3] and int(call[3]) not in kept:
        renamed[call[1]] = last
        continue
    if call:
        last = call[1]
    print(line, end="")
