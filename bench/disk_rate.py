"""What a file that activations rest in takes: bytes a second."""

import mmap
import os
import tempfile
import time

PIECE = 256 * 1024  # as Offloading::BounceBytes
BYTES = 64 * PIECE
TRIES = 5


def measure(folder):
    """Written and read past the system's cache, the slower of both; None where
    the file system has no such way."""
    buffer = mmap.mmap(-1, PIECE)
    buffer.write(os.urandom(PIECE))
    with tempfile.TemporaryDirectory(dir=folder) as inner:
        path = os.path.join(inner, "rate")
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
        except (AttributeError, OSError):
            return None
        try:
            os.posix_fallocate(file, 0, BYTES)
            # The first time the file system notes which blocks are written.
            rates = [min(_rate(file, os.pwritev, buffer),
                         _rate(file, os.preadv, buffer))
                     for _ in range(TRIES)][1:]
        except OSError:
            return None
        finally:
            os.close(file)
    return max(rates)


def _rate(file, transfer, buffer):
    begin = time.monotonic()
    for offset in range(0, BYTES, PIECE):
        if transfer(file, [buffer], offset) != PIECE:
            raise OSError("a piece was not transferred whole")
    return BYTES / (time.monotonic() - begin)
