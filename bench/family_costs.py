"""What kernels of a family take: costs learned from profiles of programs.

The plan has the work of each op (operations, bytes, weights made panels of,
launches), the profile the time of its kernel. A family is an op with one kind of
operands, see passes/plan/StepCounts.h; its costs are those four factors, none
negative, with which the relative errors of its kernels have the smallest squares.
A kernel of two ops is its first one's: the second adds little, and is seldom a
kernel of its own.
"""

import collections
import itertools

from roofline import first_op, kernel_of

TERMS = ("flop", "byte", "fill", "launch")
ASKED = ("flops", "bytes", "fills", "launches")


def _solve(matrix, right):
    """Gauss's elimination with pivots; None if the matrix is singular."""
    size = len(right)
    rows = [list(row) + [value] for row, value in zip(matrix, right)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(rows[k][i]))
        if abs(rows[pivot][i]) < 1e-12:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(size):
            if k != i:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
    return [rows[i][size] / rows[i][i] for i in range(size)]


def least_squares(equations):
    """Factors, none negative, of [(asked, seconds)]: each equation counts by its
    relative error. All subsets of the terms are tried, which are few."""
    terms = len(equations[0][0])
    scales = [max(asked[i] / seconds for asked, seconds in equations)
              for i in range(terms)]
    rows = [[asked[i] / seconds / scales[i] if scales[i] else 0
             for i in range(terms)] for asked, seconds in equations]
    best, smallest = [0.0] * terms, float(len(rows))
    for count in range(1, terms + 1):
        for chosen in itertools.combinations(range(terms), count):
            normal = [[sum(row[i] * row[j] for row in rows) for j in chosen]
                      for i in chosen]
            right = [sum(row[i] for row in rows) for i in chosen]
            found = _solve(normal, right)
            if found is None or min(found) < 0:
                continue
            error = sum((sum(row[i] * x for i, x in zip(chosen, found)) - 1) ** 2
                        for row in rows)
            if error < smallest * (1 - 1e-9):
                best, smallest = [0.0] * terms, error
                for i, x in zip(chosen, found):
                    best[i] = x / scales[i]
    return best


def step_seconds(profile, counted):
    """Of the ops of a plan whose families a profile has, and of the step's time
    beside kernels; see MachineCosts::seconds in passes/plan."""
    known = [(profile["families"].get(op["family"]), op) for op in counted]
    return profile["step_seconds"] + sum(
        costs[term] * op[asked] for costs, op in known if costs
        for term, asked in zip(TERMS, ASKED))


class FamilyCosts:
    """Learns from programs, one after the other."""

    def __init__(self):
        self.equations = collections.defaultdict(list)
        self.beside = []  # seconds of a step outside of its counted kernels

    def add(self, counted, kernels, seconds):
        """`counted`: of the plan; `kernels`: {(block, name): seconds} and
        `seconds`, of one step."""
        names = collections.defaultdict(list)
        for block, name in kernels:
            names[block].append(name)
        asked, family = {}, {}
        for op in counted:
            self.equations[op["family"]]  # known, if without a kernel
            name = kernel_of(op["kernel"], names[op["block"]])
            if name is None or first_op(name) != first_op(op["kernel"]):
                continue
            key = op["block"], name
            family[key] = op["family"]
            sums = asked.setdefault(key, [0] * len(ASKED))
            for i, term in enumerate(ASKED):
                sums[i] += op[term]
        for key, sums in asked.items():
            if kernels[key] > 0:
                self.equations[family[key]].append((sums, kernels[key]))
        self.beside.append(seconds - sum(kernels[key] for key in asked))

    def learn(self):
        """{family: {term: seconds}}; a family without kernels takes no time."""
        return {family: dict(zip(TERMS, least_squares(equations)
                                 if equations else [0.0] * len(TERMS)))
                for family, equations in sorted(self.equations.items())}
