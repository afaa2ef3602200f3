"""A peer in the benchmark: one variant, and the worker that runs it."""

import ctypes.util
import json
import os
import pathlib

from contestant import Contestant, Repetition
from other_load import OtherLoad, process_seconds
from process_memory import MemoryWatch, reset_high_water
from worker_process import WorkerProcess
from workload import PROJECTIONS


def find_library(name, python, given):
    """The file of a library that is loaded before all others: one of `given`,
    the environment's or the system's."""
    for path in given:
        if f"lib{name}." in pathlib.Path(path).name:
            return path
    own = python.parent.parent / "lib" / f"lib{name}.so"
    found = own if own.exists() else ctypes.util.find_library(name)
    if not found:
        raise RuntimeError(f"lib{name} is not installed: name its file with "
                           f"--preload")
    return str(found)


class PeerProgram:
    """One variant of one framework, by the words of its name."""

    def __init__(self, framework, python, workload, threads, variant,
                 preload=()):
        self.framework, self.python = framework, python
        self.workload, self.threads = workload, threads
        self.words = [framework.words[word] for word in variant.split()]
        self.name = f"{framework.name} {variant}"
        self.preload = preload
        self.versions = {}
        self.planned = 0
        self.worker = None

    def contestant(self):
        return Contestant(self.name, self.threads)

    def _environment(self, cache):
        found = {**os.environ, "OMP_NUM_THREADS": str(self.threads),
                 "HF_HUB_OFFLINE": "1", "TORCHINDUCTOR_CACHE_DIR": str(cache),
                 "JAX_COMPILATION_CACHE_DIR": str(cache)}
        libraries = [find_library(name, self.python, self.preload)
                     for word in self.words for name in word.preload]
        if libraries:
            found["LD_PRELOAD"] = ":".join(libraries)
        for word in self.words:
            found.update(word.environment)
        return found

    def start(self, model, data, log):
        """Starts the worker and runs the steps in which it compiles."""
        w, cache = self.workload, log.parent / "compiled"
        options = {"model": str(model), "data": str(data), "compile": False,
                   "checkpointing": False, "batch": w.batch,
                   "threads": self.threads, "rank": w.rank, "alpha": w.alpha,
                   "optimizer": w.optimizer, "projections": PROJECTIONS,
                   "learning_rate": w.learning_rate, "cache": str(cache)}
        for word in self.words:
            options.update(word.options)
        self.worker = WorkerProcess(
            [self.python, self.framework.worker, json.dumps(options)],
            self._environment(cache), log)
        self.versions = self.worker.receive()["ready"]
        # Before any step: a plan stands for itself where no step ends.
        self.planned = self._steps(0)["planned"]
        # Two steps: the second one of a compiler may compile again.
        self.first_loss = self._steps(2)["losses"][0]

    def _steps(self, count):
        return self.worker.ask({"steps": count})

    def run(self, contestant):
        """One repetition. The high-water mark begins anew before it: memory of
        the set-up does not count."""
        w = self.workload
        pid = self.worker.pid
        reset_high_water(pid)
        with MemoryWatch(pid) as watch, \
                OtherLoad(lambda: process_seconds(pid)) as load:
            answer = self._steps(w.warmup + w.steps)
        contestant.repetitions.append(Repetition(
            answer["seconds"][w.warmup:], watch.anonymous, watch.resident,
            self.first_loss, load.processors))
        return contestant.repetitions[-1]

    def stop(self):
        if self.worker:
            self.worker.stop()
