"""windows.py TRAIN DATA FOLDER --for SECONDS [--steps N] [-- options of TRAIN]

Trains once without a break and once in windows of SECONDS, and prints what the
windows cost: how far each was over its time, and the time of all of them, less
what the program says that it wrote, as a part of the first run's. Both end with
the same adapter, or it says so and fails.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import time

from children import end_with_parent
import settings


def run(arguments, folder, more):
    """Seconds, exit code and output of one process."""
    before = time.monotonic()
    done = subprocess.run([arguments.train, "--data", arguments.data, "--output",
                           str(folder), "--steps", str(arguments.steps)]
                          + arguments.more + more, capture_output=True, text=True,
                          preexec_fn=end_with_parent)
    return time.monotonic() - before, done.returncode, done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train")
    parser.add_argument("data")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--for", dest="window", type=settings.positive, required=True)
    parser.add_argument("--steps", type=settings.count, default=1)
    given = sys.argv[1:]
    end = given.index("--") if "--" in given else len(given)
    arguments = parser.parse_args(given[:end])
    arguments.more = given[end + 1:]

    whole, code, text = run(arguments, arguments.folder / "whole", [])
    if code:
        sys.exit(text)
    print(f"without a break  {whole:.2f} s")
    total, written, over = 0.0, 0.0, []
    code = 124
    while code == 124:
        took, code, text = run(arguments, arguments.folder / "windows",
                               ["--for", f"{arguments.window}s"])
        total += took
        written += sum(map(float, re.findall(r"^written in ([0-9.]+) s", text, re.M)))
        if code == 124:
            over.append(took - arguments.window)
    if code:
        sys.exit(text)
    over.sort()
    print(f"{len(over) + 1} windows of {arguments.window:g} s: {total:.2f} s, "
          f"{written:.2f} s of it writing; without that "
          f"{(total - written) / whole:.4f} of the first")
    if over:
        print(f"over their time: p99 {over[int(0.99 * (len(over) - 1))]:.3f} s, "
              f"most {over[-1]:.3f} s")
    same = [(arguments.folder / name / "adapter_model.safetensors").read_bytes()
            for name in ("whole", "windows")]
    if same[0] != same[1]:
        sys.exit("the adapters differ")
    print("the same adapter")


main()
