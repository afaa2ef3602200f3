"""opened.py PROGRAM ARGUMENT...: runs it under strace; it opens no file but what
its arguments name, what is in or beside these, and /proc/self."""

import os
import re
import subprocess
import sys
import tempfile

with tempfile.NamedTemporaryFile("r") as trace:
    subprocess.run(["strace", "-f", "-qq", "-e", "trace=%file", "-o", trace.name,
                    *sys.argv[1:]], check=True, stdout=subprocess.DEVNULL)
    calls = trace.read()
given = [argument for argument in sys.argv[1:] if "/" in argument]
# A path is looked up folder by folder before it is made.
above = {os.sep.join(path.split(os.sep)[:i]) or "/" for path in given
         for i in range(1, path.count(os.sep) + 2)}
other = set()
for path in re.findall(r'"(/?[^"]*)"', "\n".join(
        line for line in calls.splitlines() if "execve(" not in line)):
    path = os.path.abspath(path)
    if path not in above and not path.startswith("/proc/self/") and not any(
            path.startswith(one) for one in given):
        other.add(path)
for path in sorted(other):
    print("also opens", path)
if not other:
    print(f"opens only what it was given and /proc/self: {len(calls.splitlines())} calls")
sys.exit(bool(other))
