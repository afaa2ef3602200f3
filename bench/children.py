"""Programs that end with the script that started them, however that ends."""

import ctypes
import signal
import sys

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def end_with_parent():
    """For preexec_fn: a script that is killed cannot end what it started, so
    Linux does."""
    if LIBC:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
