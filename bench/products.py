"""Products with the weights of a layer, beside those of other libraries.

The seven linear layers of a decoder layer, those of one shape once, forward (Y =
X W^T) and backward (dX = dY W), with weights that no cache holds. All libraries
take turns, product by product, with the same numbers, and what each returns is
compared. GFLOP/s are medians; "Hone / best" is the median of Hone's rate over the
fastest other one's within a round.
"""

import argparse
import collections
import itertools
import json
import os
import pathlib
import statistics

import machine
import report
import settings
from build_tools import FmaProbe, run_main
from other_load import OtherLoad, children_seconds, process_seconds
from peer_variants import FRAMEWORKS, find_environments
from worker_process import WorkerProcess
from workload import find_config

WORKER = pathlib.Path(__file__).parent / "peers" / "products_worker.py"
LIBRARIES = ("torch", "zentorch")
DTYPES = ("bfloat16", "float32")
# Of a sum of as many as 4,864 products, in units of the largest sample.
TOLERANCE = {"bfloat16": 1e-2, "float32": 1e-4}
ENVIRONMENT = {
    # Else weights of the forward are rewritten, and the backward's are wrong.
    "ZENDNNL_MATMUL_WEIGHT_CACHE": "1",
    # Huge pages for PyTorch's tensors, as Hone's have them.
    "THP_MEM_ALLOC_ENABLE": "1"}


def parse_arguments():
    parser = settings.parser("--products", __doc__, argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--config", default="Qwen2.5-0.5B", help="a file, or a name")
    add("--rows", type=settings.counts, default=[128, 256, 1024],
        help="separated by commas; default: 128,256,1024")
    add("--dtypes", type=settings.names(DTYPES), default=DTYPES)
    add("--rounds", type=settings.count, default=5)
    add("--gflop", type=settings.positive, default=10.0,
        help="of a turn, which has two products at least; default: 10")
    add("--threads", type=settings.count, default=len(os.sched_getaffinity(0)))
    add("--peers", action="store_true", help="install what is not there")
    add("--python", action="append", default=[], metavar="[PEER=]PATH",
        help="an interpreter that has a peer's packages; repeatable")
    add("--folder", type=pathlib.Path, help="default: BUILD/bench")
    return parser.parse_args()


def shapes_of(config):
    """{(out, in): names} of the linear layers of a config.json."""
    values = json.loads(config.read_text())
    hidden, wide = values["hidden_size"], values["intermediate_size"]
    heads = values["num_attention_heads"]
    head = values.get("head_dim") or hidden // heads
    keys = head * values.get("num_key_value_heads", heads)
    found = collections.defaultdict(list)
    for name, out, narrow in (
            ("q", head * heads, hidden), ("k", keys, hidden),
            ("v", keys, hidden), ("o", hidden, head * heads),
            ("gate", wide, hidden), ("up", wide, hidden),
            ("down", hidden, wide)):
        found[out, narrow].append(name)
    return {shape: ", ".join(names) for shape, names in found.items()}


class Case:
    """One product, and its rates: one of each library in each round."""

    def __init__(self, names, shape, rows, backward, dtype, flops):
        self.names, self.backward, self.dtype = names, backward, dtype
        self.flops = 2 * rows * shape[0] * shape[1]
        self.request = {"rows": rows, "out": shape[0], "in": shape[1],
                        "backward": backward, "dtype": dtype,
                        "calls": max(2, round(flops / self.flops))}
        self.rates = collections.defaultdict(list)
        self.samples = {}

    def run(self, library, worker):
        answer = worker.ask(self.request)
        self.rates[library].append(self.flops / answer["seconds"] / 1e9)
        self.samples[library] = answer["samples"]

    def differing(self):
        """Libraries that computed another product than Hone."""
        ours = self.samples["hone"]
        most = TOLERANCE[self.dtype] * max(map(abs, ours))
        return [name for name, theirs in self.samples.items()
                if any(not abs(a - b) <= most for a, b in zip(ours, theirs))]

    def row(self, libraries):
        r = self.request
        others = zip(*(self.rates[name] for name in libraries[1:]))
        ratios = [ours / max(theirs) for ours, theirs
                  in zip(self.rates["hone"], others)]
        return [self.dtype, f"{self.names}: {r['out']} x {r['in']}",
                str(r["rows"]), "backward" if self.backward else "forward",
                *(f"{statistics.median(self.rates[name]):.0f}"
                  for name in libraries),
                f"{statistics.median(ratios):.2f}" if ratios else "-"]

    def as_dict(self):
        return {**self.request, "layers": self.names, "gflops": self.rates}


def start_workers(arguments, folder):
    """{library: worker} of Hone and of those that are there, and versions."""
    workers = {"hone": WorkerProcess(
        [arguments.build.resolve() / "bin" / "hone-bench-products",
         arguments.threads], None, folder / "products-hone.log")}
    versions = {}
    frameworks = [f for f in FRAMEWORKS if f.name in LIBRARIES]
    for name, python in find_environments(frameworks, folder,
                                          arguments).items():
        if not python:
            continue
        worker = WorkerProcess(
            [python, WORKER, json.dumps({"library": name,
                                         "threads": arguments.threads})],
            {**os.environ, **ENVIRONMENT,
             "OMP_NUM_THREADS": str(arguments.threads)},
            folder / f"products-{name}.log")
        try:
            versions[name] = worker.receive()["ready"]
            workers[name] = worker
        except RuntimeError as error:
            print(f"{name}: failed: {error}", flush=True)
            worker.stop()
    return workers, versions


def measure(cases, workers, rounds):
    """All rounds of all cases; a case that fails once leaves."""
    for case in cases:
        for _ in range(rounds):
            for name in list(workers):
                try:
                    case.run(name, workers[name])
                except RuntimeError as error:
                    if name == "hone":
                        raise RuntimeError(
                            f"hone-bench-products: {error}") from None
                    print(f"{name}: failed: {error}", flush=True)
                    workers.pop(name).stop()
        for name in case.differing():
            raise RuntimeError(
                f"{name}: another product than Hone's of {case.request}: expected "
                f"about {case.samples['hone']}, found {case.samples[name]}")


def main():
    arguments = parse_arguments()
    shapes = shapes_of(find_config(arguments.config))
    folder = (arguments.folder or arguments.build / "bench").resolve()
    (folder / "results").mkdir(parents=True, exist_ok=True)
    cases = [Case(names, shape, rows, backward, dtype, arguments.gflop * 1e9)
             for dtype, (shape, names), rows, backward in itertools.product(
                 arguments.dtypes, shapes.items(), arguments.rows,
                 (False, True))]
    about = machine.describe()
    peak = FmaProbe(arguments.build.resolve() / "bin").rates(arguments.threads)
    workers, versions = start_workers(arguments, folder)

    def own_seconds():
        # One that fails leaves, and is then a child that has ended.
        return children_seconds() + sum(
            process_seconds(worker.pid) for worker in workers.values()
            if not worker.has_ended)

    try:
        with OtherLoad(own_seconds) as load:
            measure(cases, workers, arguments.rounds)
    finally:
        for worker in workers.values():
            worker.stop()
    libraries = list(workers)
    rows = [["numbers", "layers", "rows", "direction", *libraries,
             "Hone / best"]] + [case.row(libraries) for case in cases]
    found = "; ".join(f"{name}: " + ", ".join(f"{package} {version}"
                                              for package, version in of.items())
                      for name, of in versions.items())
    caption = (f"GFLOP/s on {arguments.threads} threads of "
               f"{report.describe_cpu(about)}; peak {peak['gflops']:.0f} in float32, "
               f"{peak['pairs_gflops']:.0f} of products of bfloat16; others kept "
               f"{load.processors:.2f} processors busy. {found or 'No other library'}")
    print(f"{caption}\n\n{report.text_table(rows)}")
    path = folder / "results" / "products"
    path.with_suffix(".md").write_text(
        f"{caption}\n\n{report.markdown_table(rows)}\n")
    path.with_suffix(".json").write_text(json.dumps(
        {"machine": about, "peak": peak, "versions": versions,
         "others": load.processors,
         "products": [case.as_dict() for case in cases]}, indent=1) + "\n")
    print(f"written: {path}.md, {path.name}.json")


if __name__ == "__main__":
    run_main(main)
