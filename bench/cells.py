"""Hone beside the fastest peer, in cells of model, tokens and optimizer.

For each cell: one repetition of every peer chooses the fastest; Hone is
compiled into half and a tenth of the anonymous memory of the fastest; then
all take turns until each peer has met Hone in enough quiet rounds. What is done
is on disk after each repetition and round: started again, it goes on there. A
cell whose Hone has been built anew keeps its peers and loses its rounds.
"""

import argparse
import dataclasses
import filecmp
import hashlib
import json
import os
import pathlib
import shutil
import signal
import statistics
import time

import machine
import report
import settings
from build_tools import FmaProbe, run_main
from contestant import Repetition
from hone_program import HoneProgram
from peer_program import PeerProgram
from peer_variants import choose, find_environments
from workload import Workload, find_config

MIB = 1024 * 1024
SHARES = (2, 10)  # of the fastest peer's memory, for Hone
GOALS = {2: 1.40, 10: 1.25}
# The same element types as `bfloat16` of a peer.
TWIN = ("weights.dtype=bfloat16,lora.dtype=bfloat16,"
        "train.compute_dtype=bfloat16,train.optimizer_in_backward=true")
# Those that were among the fastest of some cell; --peer names others.
CANDIDATES = ["torch bfloat16 compiled",
              "torch bfloat16 compiled preloaded",
              "torch bfloat16 compiled chunked-loss preloaded",
              "torch bfloat16 compiled budget-0.5 preloaded",
              "torch float32 compiled medium preloaded"]


def parse_arguments():
    parser = settings.parser("--cells", __doc__, argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--config", action="append", help="default: Qwen2.5-0.5B and -1.5B")
    add("--sequence", action="append", type=settings.count,
        help="tokens; default: 128, 256 and 1024")
    add("--optimizer", action="append", choices=["sgd", "adamw"],
        help="default: both")
    add("--peer", action="append", default=[], metavar="NAME",
        help="a variant that may be the fastest; repeatable; default:\n" +
             "\n".join(CANDIDATES))
    add("--python", action="append", default=[], metavar="[PEER=]PATH",
        help="an interpreter that has a peer's packages; repeatable")
    add("--preload", action="append", default=[], metavar="LIBRARY",
        help="a library that a variant loads before others; repeatable")
    add("--peers", action="store_true", help="install what is not there")
    add("--set", default=TWIN, metavar="KEY=VALUE,...",
        help=f"Hone's spec; default: {TWIN}")
    add("--threads", type=settings.count, default=len(os.sched_getaffinity(0)))
    add("--fastest", type=settings.count, default=2,
        help="as many peers take turns with Hone")
    add("--rounds", type=settings.count, default=3, help="quiet ones of each peer")
    add("--tries", type=settings.count, default=9, help="rounds at most of each peer")
    add("--steps", type=settings.count, default=3, help="of a repetition, after one more")
    add("--for", type=settings.positive, default=float("inf"), dest="seconds",
        help="begin nothing after as many seconds")
    add("--prepare", action="store_true",
        help="only choose the fastest and compile: a machine that is quiet for\n"
             "a short while measures after it")
    add("--report", action="store_true", help="only write the table")
    add("--folder", type=pathlib.Path, help="default: BUILD/bench")
    return parser.parse_args()


class OutOfTime(Exception):
    """--for has passed."""


class Cell:
    """The results of one cell so far, and its file."""

    def __init__(self, folder, workload):
        self.workload = workload
        self.name = f"{workload.name}-{workload.sequence}-{workload.optimizer}"
        self.path = folder / "cells" / f"{self.name}.json"
        self.known = {"machine": machine.describe(), "of": [],
                      "candidates": {}, "hone": {}, "rounds": []}
        if self.path.exists():
            try:
                self.known.update(json.loads(self.path.read_text()))
            except (TypeError, ValueError):
                raise RuntimeError(
                    f"{self.path}: expected what --cells has measured; remove "
                    "it to measure the cell again") from None

    def save(self):
        """Whole or not at all."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.known, indent=1) + "\n")
        new.replace(self.path)

    def use_hone(self, build, keys):
        """Rounds of another build or spec say nothing about this one."""
        if self.known["of"] != [build, keys]:
            self.known.update(of=[build, keys], hone={}, rounds=[])

    def ranked(self):
        """(name, figures) of the peers that ran, the fastest first."""
        return sorted(((name, one) for name, one
                       in self.known["candidates"].items()
                       if not one["failure"]), key=lambda x: x[1]["seconds"])

    def rounds_with(self, peer):
        return [r for r in self.known["rounds"] if r["peer"] == peer]

    def lacks(self, peer, arguments):
        """Whether another round with this peer is asked for."""
        rounds = self.rounds_with(peer)
        return (len(rounds) < arguments.tries and
                sum(r["quiet"] for r in rounds) < arguments.rounds)


def build_identity(build):
    """Of the programs that make a training program."""
    digest = hashlib.sha256()
    for path in [build / "bin" / "honec", *sorted(build.glob("lib/*.a"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def peer_programs(cell, names, arguments, folder):
    """A program of each name whose framework is there."""
    if not names:
        return {}
    chosen = choose(names, [])
    pythons = find_environments(
        list(dict.fromkeys(framework for framework, _ in chosen)), folder,
        arguments)
    return {name: PeerProgram(framework, pythons[framework.name],
                              cell.workload, arguments.threads, variant,
                              arguments.preload)
            for name, (framework, variant) in zip(names, chosen)
            if pythons[framework.name]}


class Runner:
    """The steps of a cell; each saves its results."""

    def __init__(self, arguments, folder, cell, end):
        self.arguments, self.folder, self.cell = arguments, folder, cell
        self.end, self.probe = end, FmaProbe(arguments.build / "bin")
        self.place = folder / cell.workload.name
        self.model = self.place / "model"
        self.data = self.place / f"data-{cell.workload.sequence}.jsonl"
        # Of one that was killed while it wrote, nothing may be left.
        self.programs_folder = self.place / f"programs-{cell.name}"

    def check_time(self):
        if time.monotonic() > self.end:
            raise OutOfTime

    def start(self, peer):
        self.check_time()
        print(f"{self.cell.name}: {peer.name}: loading", flush=True)
        peer.start(self.model, self.data,
                   self.place / f"{peer.name.replace(' ', '-')}.log")

    def choose_peers(self):
        """One repetition of each peer that has none yet."""
        known = self.cell.known["candidates"]
        names = [name for name in self.arguments.peer or CANDIDATES
                 if name not in known]
        for name, peer in peer_programs(self.cell, names, self.arguments,
                                        self.folder).items():
            one = {"failure": "", "words": {
                word: peer.framework.words[word].says
                for word in name.split()[1:]}}
            try:
                # Compilers keep memory from it: the second start finds their
                # results on disk.
                self.start(peer)
                peer.stop()
                self.start(peer)
                repetition = peer.run(peer.contestant())
                # The least: something else may have run meanwhile.
                one.update(seconds=min(repetition.step_seconds),
                           anonymous=repetition.anonymous,
                           planned=peer.planned,
                           first_loss=repetition.first_loss)
            except (RuntimeError, OSError) as error:
                one["failure"] = str(error)
            finally:
                peer.stop()
            one["versions"] = peer.versions
            known[name] = one
            self.cell.save()
            print(f"{self.cell.name}: {name}: " +
                  (one["failure"] or f"{one['seconds']:.3f} s, "
                   f"{one['anonymous'] / MIB:.0f} MiB"), flush=True)
        if not self.cell.ranked():
            raise RuntimeError(f"{self.cell.name}: no peer ran; see the cell's "
                               f"file {self.cell.path}")

    def programs(self):
        """Hone within each share of the fastest peer's memory, compiled."""
        hone, anonymous = self.cell.known["hone"], None
        programs = {}
        for share in SHARES:
            label = f"1/{share}"
            if label not in hone:
                anonymous = self.cell.ranked()[0][1]["anonymous"]
                hone[label] = {"settings": [
                    *settings.parse("--set", self.arguments.set),
                    "train.residuals=planned",
                    f"train.memory_budget={anonymous // share}"],
                    "plan": None, "failure": ""}
            one = hone[label]
            program = HoneProgram(self.cell.workload,
                                  self.arguments.build / "bin",
                                  self.programs_folder, one["settings"])
            programs[label] = program
            if one["plan"] and (program.folder / "out" / "train").exists():
                program.plan = one["plan"]
                continue
            if one["failure"]:
                del programs[label]
                continue
            self.check_time()
            print(f"{self.cell.name}: Hone within {label}: compiling",
                  flush=True)
            try:
                program.compile(self.model)
                one["plan"] = {key: program.plan[key] for key in
                               ("flops", "residuals", "peak_bytes")}
            except RuntimeError as error:
                one["failure"] = str(error).splitlines()[0]
                del programs[label]
            self.cell.save()
        share_weights([program.folder / "out" for program in programs.values()])
        return programs

    def measure(self, programs):
        """Rounds with the fastest peers, in which all take turns."""
        names = [name for name, _ in self.cell.ranked()
                 [:self.arguments.fastest]
                 if self.cell.lacks(name, self.arguments)]
        for name, peer in peer_programs(self.cell, names, self.arguments,
                                        self.folder).items():
            try:
                self.start(peer)
                while self.cell.lacks(name, self.arguments):
                    self.check_time()
                    self.round(peer, programs)
            finally:
                peer.stop()

    def round(self, peer, programs):
        threads = self.arguments.threads
        turns = [(label, lambda p=program: p.run(p.contestant(threads),
                                                 self.data, self.probe))
                 for label, program in programs.items()]
        turns.append(("peer", lambda: peer.run(peer.contestant())))
        if len(self.cell.rounds_with(peer.name)) % 2:
            turns.reverse()
        done = {label: run() for label, run in turns}
        quiet = all(repetition.is_quiet for repetition in done.values())
        self.cell.known["rounds"].append(
            {"peer": peer.name, "quiet": quiet,
             "repetitions": {label: dataclasses.asdict(repetition)
                             for label, repetition in done.items()}})
        self.cell.save()
        theirs = done.pop("peer").seconds
        print(f"{self.cell.name}: {peer.name} {theirs:.3f} s; Hone " +
              ", ".join(f"{label}: {one.seconds:.3f} s, {theirs / one.seconds:.2f} x"
                        for label, one in done.items()) +
              ("" if quiet else "; not quiet"), flush=True)

    def is_done(self):
        return all(not self.cell.lacks(name, self.arguments) for name, _
                   in self.cell.ranked()[:self.arguments.fastest])

    def run(self):
        build = self.arguments.build
        self.cell.use_hone(build_identity(build), self.arguments.set)
        self.place.mkdir(parents=True, exist_ok=True)
        self.cell.workload.make_model(build / "bin", self.model)
        self.cell.workload.make_data(self.data)
        self.choose_peers()
        if self.is_done():
            return
        programs = self.programs()
        if not self.arguments.prepare:
            self.measure(programs)
            shutil.rmtree(self.programs_folder, ignore_errors=True)


def share_weights(folders):
    """One file in place of equal ones: a model's weights are large."""
    files = [folder / "weights.hone.safetensors" for folder in folders]
    for other in files[1:]:
        if (not other.samefile(files[0]) and
                filecmp.cmp(files[0], other, shallow=False)):
            other.unlink()
            os.link(files[0], other)


def median_step(rounds, label):
    return statistics.median(
        statistics.median(r["repetitions"][label]["step_seconds"])
        for r in rounds)


def peak(rounds, label):
    return max(r["repetitions"][label]["anonymous"] for r in rounds) / MIB


def row_of(cell):
    """The cell beside the peer that was fastest in its rounds."""
    workload = cell.workload
    row = [workload.name, str(workload.sequence), workload.optimizer]
    measured = {}
    for peer in {r["peer"] for r in cell.known["rounds"]}:
        rounds = cell.rounds_with(peer)
        measured[peer] = [r for r in rounds if r["quiet"]] or rounds
    if not measured:
        return row + ["not measured"] + ["-"] * 9
    peer = min(measured, key=lambda name: median_step(measured[name], "peer"))
    rounds = measured[peer]
    row += [peer, f"{median_step(rounds, 'peer'):.3f}",
            f"{peak(rounds, 'peer'):.0f}"]
    for share in SHARES:
        label = f"1/{share}"
        if label not in rounds[0]["repetitions"]:
            failure = cell.known["hone"].get(label, {}).get("failure", "")
            row += ["-", "-", failure or "-"]
            continue
        ratio = statistics.median(
            statistics.median(r["repetitions"]["peer"]["step_seconds"]) /
            statistics.median(r["repetitions"][label]["step_seconds"])
            for r in rounds)
        below = "" if ratio >= GOALS[share] else f" (goal {GOALS[share]:.2f})"
        row += [f"{ratio:.2f} x{below}", f"{peak(rounds, label):.0f}",
                f"1/{peak(rounds, 'peer') / peak(rounds, label):.1f}"]
    quiet = sum(r["quiet"] for r in rounds)
    return row + [f"{quiet} of {len(rounds)}"]


def render(cells, arguments):
    """The table, its caption, and every peer that was tried."""
    rows = [["model", "tokens", "optimizer", "fastest peer", "step s", "MiB",
             "Hone in 1/2", "MiB", "memory", "Hone in 1/10", "MiB", "memory",
             "quiet rounds"]]
    rows += [row_of(cell) for cell in cells]
    cells = [cell for cell in cells if cell.known["candidates"]]
    if not cells:
        return report.markdown_table(rows) + "\n"
    machines = {report.describe_cpu(cell.known["machine"]) for cell in cells}
    frameworks, tried = {}, [["model", "tokens", "optimizer", "peer", "step s",
                              "MiB", "planned MiB", "first loss"]]
    for cell in cells:
        w = cell.workload
        for name, one in cell.known["candidates"].items():
            about = frameworks.setdefault(name.split()[0],
                                          {"versions": {}, "words": {}})
            about["versions"].update(one["versions"])
            about["words"].update(one["words"])
            head = [w.name, str(w.sequence), w.optimizer, name]
            tried.append(head + (
                [f"failed: {one['failure']}", "-", "-", "-"] if one["failure"]
                else [f"{one['seconds']:.3f}", f"{one['anonymous'] / MIB:.0f}",
                      f"{one['planned'] / MIB:.0f}" if one["planned"] else "-",
                      f"{one['first_loss']:.5f}"]))
    return "\n\n".join([
        f"{arguments.threads} threads of {'; '.join(sorted(machines))}. Hone: "
        f"{arguments.set}, planned within the share of the peer's anonymous "
        f"memory. LoRA r=8, one sequence. Medians of quiet rounds, and of "
        f"pairs within a round.",
        report.markdown_table(rows), report.peer_caption(frameworks, "- "),
        "Every peer that was tried, one repetition, not alone on the machine "
        "(the least of its steps):", report.markdown_table(tried)]) + "\n"


def main():
    arguments = parse_arguments()
    choose(arguments.peer, [])  # a mistake in a name is found first
    arguments.build = arguments.build.resolve()
    folder = (arguments.folder or arguments.build / "bench").resolve()
    end = time.monotonic() + arguments.seconds
    cells = [Cell(folder, Workload(find_config(config), sequence=tokens,
                                   optimizer=optimizer,
                                   steps=arguments.steps))
             for config in arguments.config or ["Qwen2.5-0.5B", "Qwen2.5-1.5B"]
             for tokens in arguments.sequence or [128, 256, 1024]
             for optimizer in arguments.optimizer or ["sgd", "adamw"]]
    try:
        for cell in [] if arguments.report else cells:
            Runner(arguments, folder, cell, end).run()
    except OutOfTime:
        print("out of time: start it again to go on", flush=True)
    except KeyboardInterrupt:
        print("interrupted: start it again to go on", flush=True)
    table = render(cells, arguments)
    (folder / "cells").mkdir(parents=True, exist_ok=True)
    (folder / "cells" / "cells.md").write_text(table)
    print(f"\n{table}written: {folder}/cells/cells.md")


if __name__ == "__main__":
    # A run in the background inherits an ignored SIGINT.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    run_main(main)
