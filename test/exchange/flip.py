"""flip.py FOLDER PID...: one bit of the parameters that process PID has.

The parameters of the newest checkpoint in FOLDER are searched for in the memory of
the last PID, while all are stopped. They may be a step too old, and then nothing is
found: exit code 1, and another attempt may follow.
"""

import glob
import json
import os
import signal
import struct
import sys


def parameters(folder):
    newest = max(glob.glob(folder + "/checkpoint-" + 6 * "[0-9]"))
    with open(newest + "/state.safetensors", "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        first, end = json.loads(file.read(size))["theta"]["data_offsets"]
        file.seek(8 + size + first)
        return file.read(end - first)


def writable(pid):
    with open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            span, access = line.split()[:2]
            if access.startswith("rw"):
                yield tuple(int(end, 16) for end in span.split("-"))


def flip(pid, wanted):
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        for first, end in writable(pid):
            try:
                memory.seek(first)
                found = memory.read(end - first).find(wanted)
            except OSError:
                continue
            if found < 0:
                continue
            place = first + found + len(wanted) // 2
            memory.seek(place)
            byte = memory.read(1)[0]
            memory.seek(place)
            memory.write(bytes([byte ^ 1]))
            return True
    return False


folder, pids = sys.argv[1], [int(pid) for pid in sys.argv[2:]]
for pid in pids:
    os.kill(pid, signal.SIGSTOP)
try:
    sys.exit(0 if flip(pids[-1], parameters(folder)) else 1)
except FileNotFoundError:
    sys.exit(1)  # a checkpoint that went meanwhile
finally:
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
