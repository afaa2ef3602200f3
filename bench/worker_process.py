"""A program that answers lines of JSON with lines of JSON: see peers/protocol.py."""

import json
import pathlib
import queue
import subprocess
import threading

from children import end_with_parent

READY_SECONDS = 900  # loading, and compiling in the first steps


class WorkerProcess:
    """Started at once; its stderr goes to the file `log`."""

    def __init__(self, command, environment, log):
        self.log = log
        with open(log, "w") as errors:
            self.process = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=errors, text=True,
                env=environment, preexec_fn=end_with_parent)
        self.pid = self.process.pid
        self.answers = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put("")

    def receive(self):
        """Its next answer; a RuntimeError has the message if it failed."""
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

    def ask(self, request):
        """The answer to a request."""
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # its last words are its answer
        return self.receive()

    @property
    def has_ended(self):
        """Whether it was waited for, so that /proc has it no more."""
        return self.process.returncode is not None

    def stop(self):
        try:
            self.process.stdin.close()
            self.process.wait(10)
        except BrokenPipeError:
            self.process.wait()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
