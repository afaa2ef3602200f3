#!/usr/bin/env python3
"""Writes golden/optimizers.safetensors: 200 steps of each optimizer by its paper.

  python make_golden.py                     (needs NumPy alone)

Everything is in float64, from the published formulas and code tables; nothing here
is from the compiler. Parameters and gradients are hashes (test/reference/README.md),
which KernelsOptimizerTest.cpp computes too. Of tensors of all elements the file has
every seventh, which is enough to see each row, column and block of the three tensors.
"""

import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "torch"), str(HERE.parents[1] / "python")]
from hash_values import uniform  # noqa: E402
from philox import halves, philox, stream  # noqa: E402
from tensor_file import write  # noqa: E402

STEPS, STRIDE, BLOCK = 200, 7, 256
# Two matrices and a vector, none a whole number of blocks; and their names.
SHAPES = {"x.a": (40, 131), "x.b": (15, 40), "x.v": (1, 150)}
ENDS = np.cumsum([np.prod(shape) for shape in SHAPES.values()])
LENGTH = int(ENDS[-1])
SCALE, RATE, DECAY = 0.5, 1e-3, 0.1


def tensors(values):
    """Views of a vector of all elements."""
    parts = np.split(values, ENDS[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, SHAPES.values())]


def start():
    return uniform("optimizers/theta", LENGTH).astype(np.float32).astype(np.float64)


def gradient(step):
    """Of six decades, one in 37 zero."""
    index = np.arange(LENGTH)
    values = uniform(f"optimizers/gradient/{step}", LENGTH) * 2.0 ** (-3 * (index % 8))
    values[index % 37 == 0] = 0
    return values.astype(np.float32).astype(np.float64)


def lion():
    """Chen et al. 2023 (arXiv 2302.06675), program 1."""
    theta, m, beta1, beta2 = start(), np.zeros(LENGTH), 0.9, 0.99
    for step in range(STEPS):
        g = SCALE * gradient(step)
        update = np.sign(beta1 * m + (1 - beta1) * g)
        m = beta2 * m + (1 - beta2) * g
        theta = theta - RATE * (update + DECAY * theta)
    return {"theta": theta, "momentum": m}


def adafactor():
    """Shazeer and Stern 2018 (arXiv 1804.04235), algorithms 4 and 5, with a given rate."""
    theta, epsilon, threshold = start(), 1e-30, 0.9
    parts = tensors(theta)
    rows = [np.zeros(shape[0]) for shape in SHAPES.values()]
    columns = [np.zeros(shape[1]) for shape in SHAPES.values()]
    for step in range(STEPS):
        beta2 = 1 - (step + 1.0) ** -0.8
        for part, g, r, c in zip(parts, tensors(SCALE * gradient(step)), rows, columns):
            square = g**2 + epsilon
            r[:] = beta2 * r + (1 - beta2) * square.mean(axis=1)
            c[:] = beta2 * c + (1 - beta2) * square.mean(axis=0)
            update = g / np.sqrt(np.outer(r, c) / r.mean())
            update /= max(1.0, np.sqrt(np.mean(update**2)) / threshold)
            part[:] = part - RATE * DECAY * part - RATE * update
    return {"theta": theta, "rows": np.concatenate(rows), "columns": np.concatenate(columns)}


def sinkgd():
    """Scetbon et al. 2025 (arXiv 2502.06742), algorithms 3 and 4, with L = 5.

    docs/methods/optimizers.md says what a vector and a row of zeros are.
    """
    theta = start()
    parts = tensors(theta)
    for step in range(STEPS):
        g = gradient(step)
        a, b, v = tensors(g)
        a[7, :] = 0
        b[:, 9] = 0
        if step % 50 == 0:
            v[:] = 0
        for part, x in zip(parts, (a, b, v)):
            counted = np.count_nonzero(x.any(axis=1))
            for _ in range(5):
                length = np.linalg.norm(x, axis=1, keepdims=True)
                x = x * np.sqrt(x.shape[1]) / np.where(length > 0, length, 1)
                if x.shape[0] > 1:
                    length = np.linalg.norm(x, axis=0, keepdims=True)
                    x = x * np.sqrt(counted) / np.where(length > 0, length, 1)
            part[:] = part - RATE * DECAY * part - RATE * x
    return {"theta": theta}


def dynamic_map(signed):
    """Dettmers et al. 2022 (arXiv 2110.02861), section 2, as create_dynamic_map has it."""
    code = [0.0, 1.0]
    for i in range(7):
        edges = np.linspace(0.1, 1, 2 ** (i if signed else i + 1) + 1)
        means = 10.0 ** (i - 6) * (edges[:-1] + edges[1:]) / 2
        code += [*means, *(-means if signed else [])]
    return np.sort(np.array(code, dtype=np.float32)).astype(np.float64)


def encode(values, code, floored):
    """Codes and the largest magnitude of each block of a tensor."""
    codes, largest = np.zeros(LENGTH), []
    # As float32, like the codes: within its rounding half way may be either.
    middles = ((code[:-1] + code[1:]) / 2).astype(np.float32).astype(np.float64)
    for first, end in zip([0, *ENDS[:-1]], ENDS):
        for begin in range(first, end, BLOCK):
            block = slice(begin, min(begin + BLOCK, end))
            largest.append(np.abs(values[block]).max())
            ratio = values[block] / (largest[-1] or 1)
            nearest = np.searchsorted(middles, ratio)
            # No second moment becomes zero but zero itself.
            codes[block] = np.where(floored & (ratio > 0), np.maximum(nearest, 1), nearest)
    return codes, np.array(largest)


def decode(codes, largest, code):
    sizes = [min(BLOCK, end - begin) for first, end in zip([0, *ENDS[:-1]], ENDS)
             for begin in range(first, end, BLOCK)]
    return code[codes.astype(int)] * np.repeat(largest, sizes)


def adamw_8bit():
    """Loshchilov and Hutter 2019 (arXiv 1711.05101), algorithm 2, on decoded moments."""
    theta, beta1, beta2, epsilon = start(), 0.9, 0.999, 1e-8
    signed, positive = dynamic_map(True), dynamic_map(False)
    first = encode(np.zeros(LENGTH), signed, False)
    second = encode(np.zeros(LENGTH), positive, True)
    for step in range(STEPS):
        g = SCALE * gradient(step)
        m = beta1 * decode(*first, signed) + (1 - beta1) * g
        v = beta2 * decode(*second, positive) + (1 - beta2) * g**2
        m_hat, v_hat = m / (1 - beta1 ** (step + 1)), v / (1 - beta2 ** (step + 1))
        theta = theta - RATE * DECAY * theta - RATE * m_hat / (np.sqrt(v_hat) + epsilon)
        first, second = encode(m, signed, False), encode(v, positive, True)
    return {"theta": theta, "first.codes": first[0], "second.codes": second[0],
            "first.largest": first[1], "second.largest": second[1]}


def round_to_bfloat16(values, step):
    """Each to a neighbour, by 16 random bits of the tensor's stream (purpose 6)."""
    seed, rounded = 0x123456789ABCDEF0, []
    for name, part in zip(SHAPES, tensors(values)):
        own = stream(6, name, seed, step)
        index = np.arange(part.size, dtype=np.uint64)
        bits = philox((index, index * 0, *own), halves(seed))[0] & np.uint64(0xFFFF)
        flat = part.ravel()
        unit = 2.0 ** (np.frexp(flat)[1] - 8)
        near = np.trunc(flat / unit)
        rest = np.abs(flat / unit - near)
        away = (flat != 0) & (bits >= 65536 * (1 - rest))
        rounded.append((near + np.where(away, np.sign(flat), 0)) * unit)
    return np.concatenate(rounded)


def exact_gradient(step):
    """Multiples of 1/256: with rates that are powers of two, float32 has no rounding."""
    return ((np.arange(LENGTH) * 37 + step * 11) % 255 - 127) / 256


def in_bfloat16(is_lion):
    """torch.optim.SGD's momentum or Lion's, which is kept in bfloat16."""
    theta, m = np.zeros(LENGTH), np.zeros(LENGTH)
    for step in range(STEPS):
        g = exact_gradient(step)
        update = np.sign(0.5 * m + 0.5 * g) if is_lion else 0.5 * m + g
        theta = theta - update / 1024
        m = round_to_bfloat16(0.75 * m + 0.25 * g if is_lion else update, step)
    return {"theta": theta, "momentum": m}


def main():
    found = {"lion": lion(), "adafactor": adafactor(), "sinkgd": sinkgd(),
             "adamw-8bit": adamw_8bit(), "sgd-bfloat16": in_bfloat16(False),
             "lion-bfloat16": in_bfloat16(True)}
    golden = {"code.signed": dynamic_map(True), "code.positive": dynamic_map(False)}
    for optimizer, kept in found.items():
        for name, values in kept.items():
            golden[f"{optimizer}.{name}"] = (
                values[::STRIDE] if len(values) == LENGTH else values)
    write(HERE.parent / "golden" / "optimizers.safetensors",
          {name: ("F64", [len(values)], values.astype("<f8").tobytes())
           for name, values in golden.items()})


if __name__ == "__main__":
    main()
