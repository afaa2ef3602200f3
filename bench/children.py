"""Programs that end with the script that started them, however that ends."""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
SCRIPT = os.getpid()
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def end_with_parent():
    """For preexec_fn: a script that is killed cannot end its children, so Linux
    does. It does so, too, when the thread ends that started one: only main
    threads start programs."""
    if LIBC:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != SCRIPT:  # it was killed before
            os._exit(1)
