"""The peers in the benchmark: their environments, variants and workers."""

import dataclasses
import itertools
import json
import os
import pathlib
import queue
import subprocess
import sys
import threading

from contestant import Contestant, Repetition
from other_load import OtherLoad, process_seconds
from process_memory import MemoryWatch, reset_high_water
from workload import PROJECTIONS

HERE = pathlib.Path(__file__).parent / "peers"
READY_SECONDS = 900  # loading, and compiling in the first steps


@dataclasses.dataclass(frozen=True)
class Framework:
    """A library with a worker; `check` is what an environment must import."""
    name: str
    check: str

    @property
    def worker(self):
        return HERE / f"{self.name}_worker.py"

    @property
    def requirements(self):
        return HERE / f"requirements-{self.name}.txt"

    def environment(self, folder):
        return folder / f"venv-{self.name}" / "bin" / "python"

    def install(self, folder):
        """Makes an environment from the package index; returns what went
        wrong, or nothing."""
        python = self.environment(folder)
        print(f"installing {self.name} into {python.parent.parent}",
              flush=True)
        for command in ([sys.executable, "-m", "venv", python.parent.parent],
                        [python, "-m", "pip", "install", "--quiet",
                         "--only-binary", ":all:", "-r", self.requirements]):
            done = subprocess.run(command, text=True, stderr=subprocess.PIPE)
            if done.returncode != 0:
                lines = done.stderr.strip().splitlines()
                return lines[-1] if lines else f"{command[0]} failed"
        return ""

    def find(self, folder, given):
        """An interpreter that can import the library, or None."""
        for python in [*given, self.environment(folder)]:
            probe = subprocess.run(
                [python, "-c", f"import {self.check}"],
                capture_output=True) if pathlib.Path(python).exists() else None
            if probe and probe.returncode == 0:
                return python
        return None


FRAMEWORKS = [Framework("torch", "torch, transformers, peft"),
              Framework("mlx", "mlx.core, mlx_lm")]


class PeerProgram:
    """One variant of one framework."""

    def __init__(self, framework, python, workload, threads, variant):
        self.framework, self.python = framework, python
        self.workload, self.threads = workload, threads
        self.dtype, self.compile, self.checkpointing = variant
        self.name = " ".join(
            [framework.name, self.dtype,
             "compiled" if self.compile else "eager"] +
            (["checkpointing"] if self.checkpointing else []))
        self.versions = {}
        self.process = None

    def contestant(self):
        return Contestant(self.name, self.threads)

    def start(self, model, data, log):
        """Starts the worker and runs the steps in which it compiles."""
        w = self.workload
        options = {"model": str(model), "data": str(data),
                   "dtype": self.dtype, "compile": self.compile,
                   "checkpointing": self.checkpointing, "batch": w.batch,
                   "threads": self.threads, "rank": w.rank, "alpha": w.alpha,
                   "optimizer": w.optimizer, "projections": PROJECTIONS,
                   "learning_rate": w.learning_rate}
        environment = {**os.environ, "OMP_NUM_THREADS": str(self.threads),
                       "HF_HUB_OFFLINE": "1"}
        self.log = log
        self.process = subprocess.Popen(
            [self.python, self.framework.worker, json.dumps(options)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=open(log, "w"), text=True, env=environment)
        self.answers = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.versions = self._receive()["ready"]
        # Two steps: the second one of a compiler may compile again.
        self.first_loss = self._steps(2)["losses"][0]

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
            text = pathlib.Path(self.log).read_text().strip().splitlines()
            raise RuntimeError(text[-1] if text else "the worker is gone")
        return json.loads(line)

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


def variants(framework, python, workload, threads):
    """float32 and bfloat16, eager and compiled, with and without
    checkpointing."""
    return [PeerProgram(framework, python, workload, threads, variant)
            for variant in itertools.product(("float32", "bfloat16"),
                                             (False, True), (False, True))]
