"""inner-loops.py ARCHITECTURE FOLDER < lowered.mlir: what ptxas makes of products.

Prints for each kernel the registers of a thread, and for each innermost loop with
multiply-adds in it how many of its instructions they are, in whole percent that
are reached.
"""

import collections
import os
import re
import subprocess
import sys

architecture, folder = sys.argv[1:]
text = re.search(r'tile\.device_code = "((?:[^"\\]|\\.)*)"', sys.stdin.read()).group(1)
text = re.sub(r"\\([0-9A-Fa-f]{2})", lambda code: chr(int(code.group(1), 16)), text)
ptx, code = os.path.join(folder, "text.ptx"), os.path.join(folder, "code")
with open(ptx, "w") as file:
    file.write(text)
log = subprocess.run(["ptxas", "-v", "-arch=" + architecture, ptx, "-o", code],
                     check=True, capture_output=True, text=True).stderr
for kernel, registers in re.findall(r"entry function '(\w+)'.*?Used (\d+) registers", log, re.S):
    print(f"{kernel}: {registers} registers")

sass = subprocess.run(["nvdisasm", "-c", code], check=True, capture_output=True, text=True).stdout
for section in sass.split(".text.")[1:]:
    kernel = re.match(r"\w+", section).group(0)
    labels, opcodes, loops = {}, [], []
    for line in section.splitlines():
        label = re.match(r"(\.L_x_\d+):", line.strip())
        if label:
            labels[label.group(1)] = len(opcodes)
            continue
        found = re.search(r"/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9_]+)", line)
        if not found:
            continue
        target = re.search(r"\.L_x_\d+", line)
        if found.group(1) == "BRA" and target and target.group(0) in labels:
            loops.append((labels[target.group(0)], len(opcodes)))
        opcodes.append(found.group(1))
    for begin, end in loops:
        counts = collections.Counter(opcodes[begin:end + 1])
        is_innermost = not any(begin <= b and e < end for b, e in loops)
        if is_innermost and counts["FFMA"]:
            share = 100 * counts["FFMA"] // (end + 1 - begin)
            print(f"{kernel}: {counts['FFMA']} of {end + 1 - begin}, {share} %")
