"""asked.py REPORT OUTPUT: compares what the PTX machine's driver was asked for
with what the program says that it planned."""
import re
import sys

report, output = (open(path).read() for path in sys.argv[1:3])
asked = int(re.search(r"^device bytes: (\d+)$", report, re.M).group(1))
pinned = int(re.search(r"^pinned bytes: (\d+)$", report, re.M).group(1))
measured, planned = map(
    int, re.search(r"^device .*\((\d+) of (\d+) bytes\)$", output, re.M).groups())
if not asked == measured == planned > 0:
    sys.exit(f"asked for {asked}, told {measured}, planned {planned}")
if pinned != 2 * 2 * 1024 * 1024 + 64 * 1024:
    sys.exit(f"{pinned} bytes are pinned")
# Kernels of ours have no stack.
if int(re.search(r"^reserved bytes: (\d+)$", report, re.M).group(1)):
    sys.exit("the driver keeps memory for stacks")
print("the driver was asked for the planned bytes")
