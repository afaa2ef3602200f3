"""The memory of a process while it runs, as the kernel counts it.

Resident memory is the kernel's own high-water mark, which misses nothing.
There is none for anonymous memory: it is read every few milliseconds, so a
shorter peak can be missed - in favour of the process measured.
"""

import pathlib
import threading

INTERVAL_SECONDS = 0.01


def read_status(pid):
    """Bytes of anonymous memory now and of resident memory at its highest;
    None if the process is gone."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in text.splitlines()
                  if ":" in line)
    if "RssAnon" not in fields:
        return None
    return [int(fields[name].split()[0]) * 1024
            for name in ("RssAnon", "VmHWM")]


def reset_high_water(pid):
    """Lets VmHWM begin again at the memory that is resident now."""
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")


class MemoryWatch:
    """with MemoryWatch(pid) as watch: ...; then watch.anonymous and
    watch.resident are the peaks in bytes."""

    def __init__(self, pid):
        self.pid, self.anonymous, self.resident = pid, 0, 0
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def _sample(self):
        status = read_status(self.pid)
        if status:
            self.anonymous = max(self.anonymous, status[0])
            self.resident = max(self.resident, status[1])
        return status is not None

    def _watch(self):
        while self._sample() and not self.stop.wait(INTERVAL_SECONDS):
            pass

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self._sample()
        self.stop.set()
        self.thread.join()
