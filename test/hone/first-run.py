"""first-run.py MODEL DATA WORK [OPTION OF finetune...]: what a new user does, in a
terminal (tmux): one command from a model and data to a conversation of three turns.

It is killed while it compiles, trains and answers, and given again each time. `hone` is
the one in PATH, and its cache is new. Prints what was seen, and fails where the command
does not go on."""

import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

model, data, work, *options = sys.argv[1:]
work = pathlib.Path(work).resolve()
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
(work / "model").symlink_to(pathlib.Path(model).resolve())
(work / "data.jsonl").symlink_to(pathlib.Path(data).resolve())
command = shlex.join(["hone", "finetune", "model", "data.jsonl", "--chat", *options])
SLOW = float(os.environ.get("SLOW", 1))  # of a busy machine
socket = str(work / "tmux")


def tmux(*words, check=True):
    return subprocess.run(["tmux", "-S", socket, "-f", "/dev/null", *words], check=check,
                          capture_output=True, text=True).stdout


class Terminal:
    """A shell in a terminal, and the text on its screen."""

    def __init__(self):
        tmux("new-session", "-d", "-x", "100", "-y", "50", "-s", "hone", "-c", str(work),
             "env", f"HONE_CACHE={work}/cache", "PS1=$ ", "bash", "--norc", "--noprofile")
        self.shell = int(tmux("display-message", "-p", "-t", "hone", "#{pane_pid}"))

    def text(self):
        return tmux("capture-pane", "-p", "-J", "-S", "-5000", "-t", "hone")

    def type(self, line):
        tmux("send-keys", "-t", "hone", "-l", line)
        tmux("send-keys", "-t", "hone", "Enter")

    def wait(self, pattern, seconds=300):
        end = time.monotonic() + seconds * SLOW
        while time.monotonic() < end:
            if found := re.search(pattern, self.text(), re.M):
                return found
            time.sleep(0.02)
        sys.exit(f"'{pattern}' did not come:\n{self.text()[-3000:]}")

    def kill(self):
        """All that the shell has started, at once."""
        started, kids = [], [self.shell]
        while kids:
            kids = [int(pid) for parent in kids for pid in subprocess.run(
                ["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True,
                text=True).stdout.split()]
            started += kids
        assert started, "nothing runs"
        for pid in started:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.wait(r"Killed")

    def clear(self):
        tmux("send-keys", "-t", "hone", "-R")
        tmux("clear-history", "-t", "hone")


terminal = Terminal()
try:
    print(f"$ {command}")
    terminal.type(command)
    terminal.wait(r"^spec ")
    time.sleep(0.3)
    terminal.kill()
    assert not re.search(r"compiled in", terminal.text()), "it had compiled already"
    print("killed while it compiled")

    terminal.clear()
    terminal.type(command)
    terminal.wait(r"compiled in")
    terminal.wait(r"^step +(\d+)/")
    saved = None
    while not saved:  # a checkpoint
        saved = next((work / "data-adapter").glob("checkpoint-*"), None)
        time.sleep(0.02)
    terminal.kill()
    print("killed while it trained, after", re.findall(r"^(step +\d+/\d+)", terminal.text(), re.M)[-1])

    terminal.clear()
    terminal.type(command)
    print(terminal.wait(r"compiled before")[0])
    print(terminal.wait(r"resuming after step \d+")[0])
    terminal.wait(r"^> $")
    print(*re.findall(r"^(?:step .*|report .*|best .*)", terminal.text(), re.M)[-2:], sep="\n")
    terminal.type("How was the weather?")
    terminal.wait(r"^prompt .*new")
    terminal.type("And the lamp?")
    time.sleep(0.05)
    terminal.kill()
    print("killed while it answered")

    terminal.clear()
    terminal.type(command)
    terminal.wait(r"^> $")
    for turn, question in enumerate(["How was the weather?", "And the lamp?", "Did a ship pass?"], 1):
        terminal.type(question)
        terminal.wait(rf"(?:(?:.|\n)*^prompt .*new){{{turn}}}")
        time.sleep(0.2)
    terminal.type("/quit")
    terminal.wait(r"^\$ $")
    terminal.type("echo exit code $?")
    print(terminal.wait(r"^exit code \d+")[0])
    talk = terminal.text()
    print(talk[talk.index("> How"):talk.index("$ echo")])
    assert "exit code 0" in talk
    print("a conversation of three turns: done")
finally:
    tmux("kill-server", check=False)
