"""train.py LIBRARY WEIGHTS DATA STEPS: a model's shared library from Python, with
nothing but ctypes. DATA has a line of token ids for each sequence."""

import ctypes as c
import os
import re
import sys

library, weights, data, steps = sys.argv[1:5]
name = re.fullmatch(r"lib(\w+)\.so", os.path.basename(library))[1]
hone = c.CDLL(library)
LOG = c.CFUNCTYPE(None, c.c_void_p, c.c_int, c.c_char_p)


class Options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("threads", c.c_uint32),
                ("weights", c.c_char_p), ("checkpoints", c.c_char_p),
                ("adapter", c.c_char_p), ("data_digest", c.c_char_p),
                ("steps", c.c_uint64), ("settings", c.POINTER(c.c_char_p)),
                ("no_verify", c.c_uint32), ("log", LOG), ("log_user", c.c_void_p)]


class Rows(c.Structure):
    _fields_ = [("ids", c.POINTER(c.c_int32)), ("targets", c.POINTER(c.c_int32)),
                ("sequence_starts", c.POINTER(c.c_int32)), ("count", c.c_uint64)]


class StepResult(c.Structure):
    _fields_ = [("loss", c.c_double), ("gradient_norm", c.c_double),
                ("learning_rate", c.c_double), ("targets", c.c_uint64)]


def require(result):
    if result:
        sys.exit(result)


def rows_of(sequences):
    ids, targets, starts = [], [], []
    for sequence in sequences:
        starts += [len(ids)] * len(sequence)
        ids += sequence
        targets += sequence[1:] + [-100]
    array = c.c_int32 * len(ids)
    return Rows(array(*ids), array(*targets), array(*starts), len(ids))


sequences = [[int(id) for id in line.split()] for line in open(data)]
settings = (c.c_char_p * 2)(b"learning_rate=1e-2", None)
tell = LOG(lambda user, level, text: print(text.decode(), end="", file=sys.stderr))
options = Options(c.sizeof(Options), 2, weights.encode(), None, None, None,
                  int(steps), settings, 0, tell, None)
session = c.c_void_p()
require(hone.hone_open(c.byref(c.c_char.in_dll(hone, f"hone_{name}")),
                       c.byref(options), c.byref(session)))
for step in range(int(steps)):
    batch = rows_of([sequences[(2 * step + i) % len(sequences)] for i in range(2)])
    result = StepResult()
    require(hone.hone_step(session, c.byref(batch), c.byref(result)))
    print(f"step {step + 1} loss {result.loss!r}")
require(hone.hone_close(session))
