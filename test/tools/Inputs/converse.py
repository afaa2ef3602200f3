"""converse.py GENERATE: a person at a terminal, and programs at pipes, talk to it.

Answers are long, and block where nobody reads them: so a signal comes while one is
being made, however fast the machine is.
"""

import fcntl
import json
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time

generate = sys.argv[1]
deadline = time.monotonic() + 120


def check(name, truth, *found):
    if not truth:
        sys.exit(f"not so: {name}: {found}")
    print(name)


def read_until(descriptor, text, seen=b""):
    while text not in seen:
        left = deadline - time.monotonic()
        if left < 0 or not select.select([descriptor], [], [], left)[0]:
            sys.exit(f"expected {text!r} but got {seen!r}")
        try:
            part = os.read(descriptor, 4096)
        except OSError:
            part = b""
        if not part:
            sys.exit(f"expected {text!r} before the end but got {seen!r}")
        seen += part
    return seen


class Terminal:
    def __init__(self, *options):
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.execv(generate, [generate, "--chat", *options])

    def send(self, text):
        os.write(self.end, text)

    def code(self):
        while True:  # or the program waits for its last words to be read
            try:
                if not os.read(self.end, 4096):
                    break
            except OSError:
                break
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class Pipes:
    """Its standard output is a small pipe that is read on demand."""

    def __init__(self, *options):
        self.program = subprocess.Popen(
            [generate, "--chat", "--show-ids", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.out = self.program.stdout.fileno()
        fcntl.fcntl(self.out, fcntl.F_SETPIPE_SZ, 4096)

    def send(self, text):
        self.program.stdin.write(text)
        self.program.stdin.flush()

    def wait_for_answer(self):
        select.select([self.out], [], [], 60)
        time.sleep(0.3)  # until it is blocked

    def end(self):
        out, said = self.program.communicate(timeout=60)
        return self.program.returncode, out, said


terminal = Terminal("--max-new-tokens", "3")
read_until(terminal.end, b"> ")
terminal.send(b"hello\n")
read_until(terminal.end, b"> ", read_until(terminal.end, b"of them new"))
check("the prompt is on the terminal", True)

with tempfile.TemporaryDirectory() as folder:
    saved = os.path.join(folder, "saved.jsonl")
    pipes = Pipes()
    pipes.send(b"hello\n")
    pipes.wait_for_answer()
    pipes.program.send_signal(signal.SIGINT)
    pipes.send(f"/save {saved}\nmore\n/save {saved}\n".encode())
    time.sleep(0.2)
    first = b""
    while b"\n\n" not in first:  # ids, and an empty line
        first += os.read(pipes.out, 4096)
    pipes.send(b"/quit\n")
    code, rest, said = pipes.end()
    with open(saved) as file:
        turns = json.load(file)["messages"]
    check(
        "an interrupted answer keeps the conversation",
        code == 0
        and 0 < first.split(b"\n\n")[0].count(b"\n") < 3900
        and said.count(b"of them new") == 2 - (b"left out" in said)
        and [turn["role"] for turn in turns][:2] == ["user", "assistant"],
        code,
        said,
        turns,
    )

terminal.send(b"\x03")
code = terminal.code()
check("an interrupt at the prompt ends it with 130", code == 130, code)

terminal = Terminal()
read_until(terminal.end, b"> ")
terminal.send(b"\x04")
code = terminal.code()
check("the end of input ends it with 0", code == 0, code)

# The program repeats names of commands and files.
terminal = Terminal()
read_until(terminal.end, b"> ")
terminal.send(b"/\x16\x1b[2J\n")
seen = read_until(terminal.end, b"there is no command /\\x1b[2J")
terminal.send(b"\x04")
check("what steers a terminal is printed", terminal.code() == 0)

pipes = Pipes("--temperature", "1")
time.sleep(0.5)
pipes.program.terminate()
code = pipes.program.wait(timeout=60)
check("SIGTERM at the prompt ends it with 143", code == 143, code)

pipes = Pipes()
pipes.send(b"hello\n")
pipes.wait_for_answer()
pipes.program.terminate()
code, _, said = pipes.end()
check("SIGTERM in an answer ends it with 143", code == 143, code, said)

pipes = Pipes()
pipes.send(b"hello\nmore\n")
pipes.wait_for_answer()
pipes.program.stdout.close()
code = pipes.program.wait(timeout=60)
said = pipes.program.stderr.read()
check("a pipe that nobody reads ends it with 0", code == 0 and b"error" not in said, code, said)
