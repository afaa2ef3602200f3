"""globals.py OBJDUMP ARCHIVE: the variables of the runtime's core that outlive
its objects.

Two programs may run in one process, so nothing of a run may be in a variable of the
process. Prints those that the list below lacks.
"""

import re
import subprocess
import sys

ALLOWED = {
    # A signal and the end of a process belong to the whole process.
    "hone::rt::slots", "hone::rt::unnamed",  # mapped files, for SIGBUS
    "hone::rt::entries",  # temporaries that go with the process
    "hone::rt::platform::lostPageHandler", "hone::rt::platform::endingHandler",
    # Constants that are made when the process starts, or first asked for.
    "hone::rt::aFile", "hone::rt::aFolder", "hone::rt::aText",
    "hone::rt::platform::pageBytes()::bytes",
    "hone::rt::Sha256::blocks(unsigned int*, unsigned char const*, unsigned long, "
    "hone::rt::Sha256::Code)::instructions",
}

table = subprocess.run([sys.argv[1], "--syms", "--demangle", sys.argv[2]],
                       check=True, capture_output=True, text=True).stdout
found = set()
for line in table.splitlines():
    symbol = re.match(r"[0-9a-f]+ .{7} (\.t?(?:data|bss)\S*)\s+[0-9a-f]+ +(.+)", line)
    # Constants with addresses in them are written by the loader alone.
    if not symbol or symbol[1].startswith(".data.rel.ro") or symbol[1] == symbol[2]:
        continue
    found.add(re.sub(r"^(\.hidden |guard variable for )+", "", symbol[2]))
unknown = sorted(found - ALLOWED)
print("\n".join(f"mutable: {name}" for name in unknown)
      or f"{len(found)} variables of the process, each with its reason")
sys.exit(bool(unknown))
