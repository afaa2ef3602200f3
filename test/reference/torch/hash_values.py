# ===- hash_values.py - Numbers that any language can recompute ------------===#
#
# Random models, adapters and projections come from a hash of (name, stream,
# index), not from a library's generator, so files are the same bytes with any
# version and a C++ test can rebuild them. test/reference/README.md has the
# formulas; changing one here makes every committed figure wrong.
#
# ===-----------------------------------------------------------------------===#

import numpy as np

VALUES = 0  # stream of tensor values
INTEGERS = 5  # stream of token ids
PROJECTIONS = 4  # projection k uses stream 1 + k


def _fnv1a64(data):
    state = 0xCBF29CE484222325
    for byte in data:
        state = ((state ^ byte) * 0x100000001B3) % 2**64
    return state


def _splitmix64(x):
    """One output of splitmix64 from state x; x is an array of uint64."""
    with np.errstate(over="ignore"):
        z = x + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def words(name, stream, count):
    """uint64[count]: splitmix64(splitmix64(fnv1a64(name) + stream) + index)."""
    seed = np.array([(_fnv1a64(name.encode()) + stream) % 2**64], dtype=np.uint64)
    with np.errstate(over="ignore"):
        return _splitmix64(_splitmix64(seed) + np.arange(count, dtype=np.uint64))


def uniform(name, shape):
    """float64 in [-1, 1): (word >> 11) * 2^-52 - 1, exact; row-major index."""
    bits = words(name, VALUES, int(np.prod(shape))) >> np.uint64(11)
    return (bits.astype(np.float64) * 2.0**-52 - 1.0).reshape(shape)


def integers(name, count, bound):
    """int64[count] in [0, bound): word mod bound."""
    return (words(name, INTEGERS, count) % np.uint64(bound)).astype(np.int64)


def signs(name, k, count):
    """float64[count] of +1 and -1: -1 where the top bit of stream 1 + k is set."""
    return 1.0 - 2.0 * (words(name, 1 + k, count) >> np.uint64(63)).astype(np.float64)


def projections(name, tensor):
    """The PROJECTIONS dot products of a tensor with its own sign vectors."""
    flat = np.asarray(tensor, dtype=np.float64).ravel()
    return [float(signs(name, k, flat.size) @ flat) for k in range(PROJECTIONS)]


def hash_ids(ids):
    """fnv1a64 of token ids as little-endian int32, 16 hex digits."""
    return f"{_fnv1a64(np.asarray(ids, dtype='<i4').tobytes()):016x}"
