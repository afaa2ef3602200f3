# ===- philox.py - Random words by their specification ---------------------===#
#
# Philox4x32-10 and the names of streams are written again from
# runtime/src/base/Philox.h. They share no code with the runtime.
#
# ===-----------------------------------------------------------------------===#

import numpy as np


def philox(counter, key):
    """Philox4x32-10 of uint32 words; each may be an array."""
    c = [np.asarray(word, dtype=np.uint64) for word in counter]
    k = [int(word) for word in key]
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [
            (p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k[0]),
            p1 & low,
            (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k[1]),
            p0 & low,
        ]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c


def halves(word):
    """A 64-bit word's low and high 32 bits."""
    return word % 2**32, word >> 32


def stream(purpose, name, seed, step=0):
    """The two words that name a stream of random numbers."""
    state = 0xCBF29CE484222325
    for byte in purpose.to_bytes(4, "little") + name.encode():
        state = ((state ^ byte) * 0x100000001B3) % 2**64
    flipped = [word ^ 0xFFFFFFFF for word in halves(seed)]
    return philox((*halves(step), *halves(state)), flipped)[:2]
