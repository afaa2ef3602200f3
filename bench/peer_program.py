"""A peer in the benchmark: one variant, and the worker that runs it."""

import ctypes.util
import json
import os
import pathlib
import queue
import subprocess
import threading

from children import end_with_parent
from contestant import Contestant, Repetition
from other_load import OtherLoad, process_seconds
from process_memory import MemoryWatch, reset_high_water
from workload import PROJECTIONS

READY_SECONDS = 900  # loading, and compiling in the first steps


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
        self.process = None

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
        w = self.workload
        options = {"model": str(model), "data": str(data), "compile": False,
                   "checkpointing": False, "batch": w.batch,
                   "threads": self.threads, "rank": w.rank, "alpha": w.alpha,
                   "optimizer": w.optimizer, "projections": PROJECTIONS,
                   "learning_rate": w.learning_rate}
        for word in self.words:
            options.update(word.options)
        self.log = log
        self.process = subprocess.Popen(
            [self.python, self.framework.worker, json.dumps(options)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=open(log, "w"), text=True,
            env=self._environment(log.parent / "compiled"),
            preexec_fn=end_with_parent)
        self.answers = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.versions = self._receive()["ready"]
        # Two steps: the second one of a compiler may compile again.
        answer = self._steps(2)
        self.first_loss = answer["losses"][0]
        self.planned = answer.get("planned", 0)

    def _read(self):
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put("")

    def _receive(self):
        try:
            line = self.answers.get(timeout=READY_SECONDS)
        except queue.Empty:
            raise RuntimeError(f"no answer in {READY_SECONDS} s") from None
        if not line:
            status = self.process.wait()
            text = pathlib.Path(self.log).read_text().strip().splitlines()
            raise RuntimeError(
                f"the worker was ended by signal {-status}" if status < 0
                else text[-1] if text else "the worker is gone")
        answer = json.loads(line)
        if "failed" in answer:
            raise RuntimeError(answer["failed"])
        return answer

    def _steps(self, count):
        self.process.stdin.write(json.dumps({"steps": count}) + "\n")
        self.process.stdin.flush()
        return self._receive()

    def run(self, contestant):
        """One repetition. The high-water mark begins anew before it: what the
        set-up needed does not count."""
        w = self.workload
        reset_high_water(self.process.pid)
        pid = self.process.pid
        with MemoryWatch(pid) as watch, \
                OtherLoad(lambda: process_seconds(pid)) as load:
            answer = self._steps(w.warmup + w.steps)
        contestant.planned = self.planned
        contestant.repetitions.append(Repetition(
            answer["seconds"][w.warmup:], watch.anonymous, watch.resident,
            self.first_loss, load.processors))
        return contestant.repetitions[-1]

    def stop(self):
        if self.process is None:
            return
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

