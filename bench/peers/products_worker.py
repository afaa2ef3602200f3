"""Products of a linear layer by PyTorch, or by zentorch if it is named.

Requests and numbers are those of ../kernels/ProductsBench.cpp. In float32
torch.mm is MKL's, in bfloat16 oneDNN's; zentorch's op is the one that its
backend of torch.compile puts in place of aten's. Results go where the last ones
went, and a library's own form of a weight is made before anything is timed.
"""

import json
import sys
import time
from importlib.metadata import version

import numpy
import torch

from protocol import serve_requests

WEIGHT_BYTES = 160 << 20  # more than a cache holds
SAMPLES = 8
FEW = 8  # rows


def numbers(count, dtype):
    """Multiples of 1/128 in [-1, 1), which bfloat16 has."""
    mixed = numpy.arange(count, dtype=numpy.uint32) * numpy.uint32(0x9E3779B1)
    mixed = (mixed ^ (mixed >> 15)) * numpy.uint32(0x85EBCA77)
    found = (mixed >> 24).astype(numpy.float32)
    found -= 128
    found /= 128
    return torch.from_numpy(found).to(dtype)


class Products:
    def __init__(self, options):
        torch.set_num_threads(options["threads"])
        if options["library"] == "zentorch":
            import zentorch  # its ops

            self.multiply = torch.ops.zentorch.zentorch_linear_unary.out
        else:
            self.multiply = lambda x, w, out: torch.mm(x, w.t(), out=out)
        self.weights, self.known = {}, set()

    def __call__(self, request):
        dtype = getattr(torch, request["dtype"])
        if dtype not in self.weights:
            self.weights[dtype] = numbers(WEIGHT_BYTES // dtype.itemsize, dtype)
        rows, out, narrow = request["rows"], request["out"], request["in"]
        each = self.weights[dtype][:self.weights[dtype].numel() //
                                   (out * narrow) * out * narrow]
        each = each.view(-1, out, narrow).unbind()
        if request["backward"]:
            each = [weight.t() for weight in each]
        depth = each[0].shape[1]
        x = self.weights[dtype][:rows * depth].view(rows, -1).clone()
        y = x.new_empty(rows, each[0].shape[0])
        known = dtype, out, narrow, request["backward"]
        with torch.no_grad():
            for weight in each if known not in self.known else []:
                self.multiply(x[:FEW], weight, out=y[:FEW])
            self.known.add(known)
            self.multiply(x, each[0], out=y)
            samples = [y.view(-1)[y.numel() // SAMPLES * i + i].item()
                       for i in range(SAMPLES)]
            calls = request["calls"]
            start = time.perf_counter()
            for call in range(1, calls + 1):
                self.multiply(x, each[call % len(each)], out=y)
            seconds = (time.perf_counter() - start) / calls
        return {"seconds": seconds, "samples": samples}


options = json.loads(sys.argv[1])
serve_requests(lambda: Products(options),
               {name: version(name)
                for name in dict.fromkeys(["torch", options["library"]])})
