"""Says which of a kernel's innermost loops spill: reads assembly from standard
input and prints one line for each function whose name begins with argv[1].

A loop ends in a jump to a label above it; it is innermost if there is no other
such jump inside, and no return: a jump to a return above is no loop. Only loops
that multiply and add are looked at. A spill is an access at a constant offset
from the stack pointer; arrays on the stack are indexed.
"""

import re
import sys

MULTIPLY_ADD = re.compile(r"^\s*(vfmadd\w*|fmla|vdpbf16ps)\s")
JUMP = re.compile(r"^\s*(?:j[a-z]+|b(?:\.[a-z]+)?|cbn?z\s+\w+,|tbn?z\s+\w+, #\d+,)"
                  r"\s+(\.L\w+)\s*$")
RETURN = re.compile(r"^\s*retq?\s*$")
SPILL = re.compile(r"-?\w*\(%rsp\)|\[sp(?:, #-?\d+)?\]")


def functions(text):
    """Name and lines of each function."""
    name, lines = None, []
    for line in text.splitlines():
        start = re.match(r"^(\w[\w.]*):", line)
        if start:
            name, lines = start.group(1), []
        elif line.startswith(".Lfunc_end") and name:
            yield name, lines
            name = None
        elif name:
            lines.append(line.split("#")[0] if "%" in line else line)


def innermost_loops(lines):
    labels = {m.group(1): i for i, line in enumerate(lines)
              if (m := re.match(r"^(\.L\w+):", line))}
    loops = []
    for i, line in enumerate(lines):
        jump = JUMP.match(line.rstrip())
        if jump and labels.get(jump.group(1), i) < i:
            first = labels[jump.group(1)]
            if not any(RETURN.match(line) for line in lines[first:i]):
                loops.append((first, i))
    for first, last in loops:
        if not any(first <= f and l <= last and (f, l) != (first, last)
                   for f, l in loops):
            yield lines[first:last + 1]


for name, lines in functions(sys.stdin.read()):
    if not name.startswith(sys.argv[1]):
        continue
    loops = [loop for loop in innermost_loops(lines)
             if any(MULTIPLY_ADD.match(line) for line in loop)]
    spilling = [loop for loop in loops if any(SPILL.search(line)
                                              for line in loop)]
    print(f"{name}: {len(loops)} loops, {len(spilling)} spill")
    for loop in spilling:
        print("\n".join(line for line in loop if SPILL.search(line)))
