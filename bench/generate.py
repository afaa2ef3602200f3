"""How fast text is generated, beside how fast its weights can be read.

A token is one row that is multiplied with all weights, so memory bounds it. Each
round reads the weights file with as many threads, generates, and reads again;
`of read` is what generating read over the mean of the two, and the median of the
rounds. Counted as read for a token: every weight once, of positions and of an
embedding that is not the head one row, adapters, and the keys and values before
it. Programs take turns.
"""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import statistics
import struct
import subprocess

import report
import settings
from build_tools import ReadProbe, run_checked, run_main
from children import end_with_parent
from contestant import Repetition
from other_load import OtherLoad, children_seconds
from workload import Workload, find_config

SPECS = ["weights.dtype=bfloat16",
         "weights.dtype=int4,weights.group_size=64"]


def parse_arguments():
    parser = settings.parser("--generate", __doc__)
    add = parser.add_argument
    add("--config", default="small", help="a file, 'small', or a name")
    add("--hone", action="append", metavar="KEY=VALUE[,KEY=VALUE]",
        help="a program with these keys of the spec; repeatable; default: "
             "weights in bfloat16 and in int4, without an adapter")
    add("--threads", type=settings.count, default=len(os.sched_getaffinity(0)))
    add("--tokens", type=settings.count, default=64, help="of one run")
    add("--rounds", type=settings.count, default=9)
    add("--folder", type=pathlib.Path, help="default: BUILD/bench")
    return parser.parse_args()


def weight_bytes(path):
    """Bytes that a token reads of the weights in a safetensors file."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
    header.pop("__metadata__", None)
    has_head = any("lm_head" in name for name in header)
    tables = r"embed_positions|\bwpe\b"
    if has_head:
        tables += r"|embed_tokens|\bwte\b"
    total = 0
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        rows = entry["shape"][0] if re.search(tables, name) else 1
        total += (end - begin) // rows
    return total


@dataclasses.dataclass
class Round:
    tokens_per_second: float
    bytes_per_second: float
    read_bytes_per_second: float
    others: float

    @property
    def share(self):
        return self.bytes_per_second / self.read_bytes_per_second

    @property
    def is_quiet(self):
        return self.others < Repetition.QUIET_PROCESSORS


class Program:
    """A compiled program that generates, and its rounds."""

    def __init__(self, keys, folder):
        self.settings = settings.parse("--hone", keys)
        self.name = " ".join(self.settings)
        self.folder = folder / re.sub(r"[^A-Za-z0-9.-]+", "-", self.name)
        self.rounds = []

    def compile(self, honec, model, tokens):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        spec = self.folder / "spec.yaml"
        with_adapter = any(s.startswith("lora.") for s in self.settings)
        spec.write_text(
            f"model: {json.dumps(str(model))}\n"
            f"lora: {'{target_modules: all-linear}' if with_adapter else 'none'}\n"
            f"generate: {{max_length: {tokens + 1}}}\n")
        plan = json.loads(run_checked(
            [honec, spec, "--emit=generate", "--print-plan=json", "-o",
             self.folder / "out"] + [word for setting in self.settings
                                     for word in ("--set", setting)]))
        planned = {row["name"]: row["bytes"] for row in plan["classes"]}
        self.weights = self.folder / "out" / "weights.hone.safetensors"
        self.bytes_of_all = (weight_bytes(self.weights)
                             + planned.get("adapter", 0))
        self.bytes_of_position = planned["cache"] / (tokens + 1)

    def bytes_per_token(self, positions):
        """Weights with adapters, and caches with `positions` positions."""
        return self.bytes_of_all, self.bytes_of_position * positions

    def run(self, probe, threads, tokens):
        before = probe.measure(self.weights, threads)
        command = [self.folder / "out" / "generate", "--prompt-ids", "1",
                   "--show-ids", "--max-new-tokens", str(tokens),
                   "--threads", str(threads)]
        with OtherLoad(children_seconds) as load:
            done = subprocess.run(command, text=True, capture_output=True,
                                  preexec_fn=end_with_parent)
        after = probe.measure(self.weights, threads)
        found = re.search(r"^text +(\d+) tokens, ([0-9.]+) tokens/s",
                          done.stderr, re.MULTILINE)
        if done.returncode != 0 or not found:
            raise RuntimeError(f"{self.name}: {done.stderr.strip()}")
        count, rate = found.groups()
        if int(count) != tokens:
            raise RuntimeError(f"{self.name}: {count} tokens of {tokens}")
        # The first token needed no row of its own.
        rate = float(rate) * (tokens - 1) / tokens
        self.rounds.append(Round(
            rate, rate * sum(self.bytes_per_token(tokens / 2)),
            (before + after) / 2 * 1e9, load.processors))
        return self.rounds[-1]


def endless(model, folder):
    """The model without tokens that end a text."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in model.iterdir():
        link = folder / file.name
        link.unlink(missing_ok=True)
        if file.name == "config.json":
            config = json.loads(file.read_text())
            config.pop("eos_token_id", None)
            link.write_text(json.dumps(config))
        elif file.name != "generation_config.json":
            link.symlink_to(file)
    return folder


def table(programs, tokens):
    rows = [["weights", "tokens/s", "MB a token", "of them caches", "GB/s",
             "read GB/s", "of read", "best quiet", "others"]]
    for program in programs:
        def middle(of):
            return statistics.median(map(of, program.rounds))
        weights, caches = program.bytes_per_token(tokens / 2)
        quiet = [r.share for r in program.rounds if r.is_quiet]
        others = [r.others for r in program.rounds]
        rows.append([
            program.name, f"{middle(lambda r: r.tokens_per_second):.1f}",
            f"{(weights + caches) / 1e6:.1f}", f"{caches / 1e6:.1f}",
            f"{middle(lambda r: r.bytes_per_second) / 1e9:.2f}",
            f"{middle(lambda r: r.read_bytes_per_second) / 1e9:.2f}",
            f"{middle(lambda r: r.share):.2f}",
            f"{max(quiet):.2f}" if quiet else "-",
            f"{min(others):.2f}-{max(others):.2f}"])
    return rows


def main():
    arguments = parse_arguments()
    bin_dir = arguments.build.resolve() / "bin"
    workload = Workload(find_config(arguments.config))
    folder = (arguments.folder or arguments.build / "bench").resolve()
    folder = folder / workload.name
    programs = [Program(keys, folder / "generate")
                for keys in arguments.hone or SPECS]
    settings.check_names("--hone", [program.name for program in programs])
    folder.mkdir(parents=True, exist_ok=True)
    workload.make_model(bin_dir, folder / "model")
    model = endless(folder / "model", folder / "endless")
    for program in programs:
        print(f"{program.name}: compiling", flush=True)
        program.compile(bin_dir / "honec", model, arguments.tokens)
    probe = ReadProbe(bin_dir)
    for _ in range(arguments.rounds):
        for program in programs:
            done = program.run(probe, arguments.threads, arguments.tokens)
            print(f"{program.name}: {done.tokens_per_second:.1f} tokens/s, "
                  f"{done.share:.2f} of read, others {done.others:.2f} "
                  f"processors", flush=True)
    print(f"\ngeneration with {workload.name}, one row at a time, "
          f"{arguments.threads} threads, {arguments.tokens} tokens, "
          f"{arguments.rounds} rounds")
    print(report.text_table(table(programs, arguments.tokens)))
    results = folder / "generate" / "results.json"
    results.write_text(json.dumps(
        {p.name: [dict(dataclasses.asdict(r), share=r.share) for r in p.rounds]
         for p in programs}, indent=1))
    print(f"written: {results}")


if __name__ == "__main__":
    run_main(main)
