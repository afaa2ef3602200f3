"""What each kernel of a step reaches of this machine.

The plan has the operations and bytes of an op, the profile the time of its
kernel. A kernel of two ops, "linear+add up", has those of both. Products with
weights and those of attention may have a rate of their own.
"""

import collections


def first_op(kernel):
    """"linear" of "linear+add up"."""
    return kernel.split(" ")[0].split("+")[0]


def kernel_seconds(kernels):
    """{(block, kernel): seconds} of a profile's kernels: several launches may
    have one name."""
    found = collections.Counter()
    for each in kernels:
        found[each["block"], each["kernel"]] += each["seconds"]
    return found


def kernel_of(op, names):
    """The profile's name for an op of the plan in the same block, or None."""
    kind, _, site = op.partition(" ")
    fused = [name for name in names if kind in name.split(" ")[0].split("+")]
    alike = [name for name in fused
             if first_op(name) == kind
             and name.partition(" ")[2] == site]
    return (alike or [name for name in fused if "+" in name] or [None])[0]


class Roofline:
    """`peak`: floating-point operations of a second; `products`: those of
    products, None: the same; `rate`: bytes of a second."""

    def __init__(self, counted, profile, peak, rate, products=None):
        self.peak, self.rate, self.products = peak, rate, products or peak
        self.asked = collections.defaultdict(lambda: [0, 0, 0])
        names = collections.defaultdict(list)
        for kernel in profile["kernels"]:
            if kernel["calls"] and kernel["kernel"] not in names[kernel["block"]]:
                names[kernel["block"]].append(kernel["kernel"])
        for op in counted:
            block = op["block"]
            kernel = kernel_of(op["kernel"], names[block])
            multiplied = (op["flops"] if op["kernel"].startswith("attention")
                          else op["product_flops"])
            for row in (block, f"{block}: {kernel}" if kernel else None):
                if row:
                    self.asked[row][0] += op["flops"]
                    self.asked[row][1] += op["bytes"]
                    self.asked[row][2] += multiplied

    def floor(self, row):
        """Seconds in which the machine could do the row's operations and move
        its bytes."""
        flops, moved, multiplied = self.asked.get(row, (0, 0, 0))
        return max((flops - multiplied) / self.peak
                   + multiplied / self.products, moved / self.rate)

    def cells(self, row, seconds):
        """GFLOP/s, GB/s and the share of the roofline; `seconds` of a step."""
        if row not in self.asked or seconds <= 0:
            return ["-", "-", "-"]
        flops, moved, _ = self.asked[row]
        return [f"{flops / seconds / 1e9:.1f}", f"{moved / seconds / 1e9:.1f}",
                f"{100 * self.floor(row) / seconds:.0f} %"]
