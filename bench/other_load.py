"""The machine's other load while a contestant ran, as its kernel counts it.

Time stolen by the hypervisor counts as somebody else's. A slower clock, or a
cache that is shared with other machines, is not in it: the kernel cannot see
these.
"""

import os
import pathlib
import resource

TICKS = os.sysconf("SC_CLK_TCK")
# user, nice, system, irq, softirq, steal: see proc(5).
BUSY = (0, 1, 2, 5, 6, 7)


def _busy_seconds():
    first = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    return sum(int(first[i]) for i in BUSY) / TICKS


def children_seconds():
    """Processor time of the children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def process_seconds(pid):
    """Processor time of a process that runs."""
    # After the name, which may hold anything.
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    return sum(int(ticks) for ticks in fields.split()[11:13]) / TICKS


class OtherLoad:
    """with OtherLoad(own) as load: ...; then load.processors is how many
    processors others kept busy, on average. `own` returns the processor time
    of the contestant so far."""

    def __init__(self, own):
        self.own, self.processors = own, 0.0

    def _sample(self):
        return os.times().elapsed, _busy_seconds(), self.own()

    def __enter__(self):
        self.begin = self._sample()
        return self

    def __exit__(self, *_):
        wall, busy, own = (end - begin for begin, end in
                           zip(self.begin, self._sample()))
        self.processors = max(0.0, (busy - own) / wall) if wall else 0.0
