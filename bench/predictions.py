#!/usr/bin/env python3
"""predictions.py [options]: what hone-simulate predicts, beside what two processes take.

Compiles a small model for each schedule and measures in rounds: its launches, over a link
without a bound, and then, for each link, the median step of two processes with a core each beside
the prediction from these launches. Prints a Markdown table of the rounds' medians. Programs of parts meet over gRPC, through
a relay that has the link's rate and delay. Ranks meet over MPI: over a link as root alone, in two
network namespaces with a line between them (line.py).

    PATH=build/release/bin:$PATH bench/predictions.py
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import settings
from build_tools import run_checked, run_main
from children import end_with_parent

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Bits a second and milliseconds one way.
LINKS = {"loopback": None, "100 Mbit/s, 10 ms": (100e6, 10), "20 Mbit/s, 50 ms": (20e6, 50)}
PARTS = """parts:
  lower: {{layers: 0-{below}, {lower}, program: client}}
  upper: {{method: backprop, program: server}}
"""
SCHEDULES = {
    "HOSL": ("", PARTS, "method: mezo, directions: 4"),
    "FO-FO": ("", PARTS, "method: backprop"),
    "AsyncFGD": (", method: fgd, modules: 2, asynchronous: true", "", ""),
    "data-parallel": (", data_parallel: true, gradient_accumulation_steps: 2", "", ""),
}


def make_model(options, folder):
    config = json.loads((ROOT / "test/reliability/Inputs/small.json").read_text())
    config.update(hidden_size=options.hidden, num_hidden_layers=options.layers,
                  intermediate_size=4 * options.hidden, num_attention_heads=4,
                  num_key_value_heads=4)
    config.pop("head_dim", None)
    (folder / "config.json").write_text(json.dumps(config))
    run_checked(["hone-make-model", folder / "config.json", "-o", folder / "model", "--tokenizer=byte"])
    (folder / "data.jsonl").write_text("".join(
        json.dumps({"input_ids": [(7 * i + 3 * j) % 250 for j in range(options.length)]}) + "\n"
        for i in range(64)))


def compile_schedule(options, folder, name):
    train, parts, lower = SCHEDULES[name]
    spec = folder / f"{name}.yaml"
    spec.write_text(f"""model: {folder}/model
weights: {{dtype: float32}}
train: {{batch_size: {options.batch}, max_seq_length: {options.length}, learning_rate: 1e-4{train}}}
{parts.format(below=options.layers // 4, lower=lower)}""")
    run_checked(["honec", spec, "-o", folder / name])
    return spec


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def make_keys(folder):
    run_checked(["hone-keys", "init", folder / "keys"])
    run_checked(["hone-keys", "issue", folder / "keys", "server", "--dns", "localhost"])
    run_checked(["hone-keys", "issue", folder / "keys", "client"])


def far_apart(link, out):
    """Two namespaces with a line, as options of mpirun and of its programs, and the processes."""
    def begin(*command):
        """Returns once the command has said that it is there."""
        begun = subprocess.Popen([str(a) for a in command], text=True, stdout=subprocess.PIPE,
                                 preexec_fn=end_with_parent)
        if not begun.stdout.readline():
            sys.exit(f"predictions: {command[0]}: no link between two network namespaces; "
                     "choose --links loopback")
        return begun

    spaces = [begin("unshare", "-n", "-u", "sh", "-c", f"hostname host{i} && echo up && exec sleep 3600")
              for i in (1, 2)]
    line = begin(sys.executable, ROOT / "bench/line.py", *(each.pid for each in spaces),
                 link[0] / 8, link[1])
    enter = ["nsenter", "-n", "-u", "-t"]
    agent = out / "agent"
    agent.write_text(f'#!/bin/sh\nshift\nexec {" ".join(enter)} {spaces[1].pid} sh -c "$*"\n')
    agent.chmod(0o755)
    own = "line0"
    return ([*enter, spaces[0].pid, "mpirun", "--mca", "plm_rsh_agent", agent, "--mca", "btl", "tcp,self",
             "--mca", "btl_tcp_if_include", own, "--mca", "oob_tcp_if_include", own],
            [["-host", "10.9.0.1"], ["-host", "10.9.0.2"]], [*spaces, line])


def commands(options, folder, name, link, out):
    """Of a run in `out`, each with its cores; and the command that carries their
    messages."""
    program = folder / name
    data = ["--data", folder / "data.jsonl", "--steps", options.steps, "--save-every", 0]
    common = ["--timeout", 300, "--threads", 1]
    if name == "data-parallel":
        line, hosts, helpers = (far_apart(link, out) if link else
                                (["mpirun", "--mca", "btl", "self,vader"], [[], []], []))
        line += ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
        for core in (0, 1):
            line += ([":"] if core else []) + ["-np", 1, *hosts[core], "taskset", "-c", core, program / "train",
                                               "--exchange", "mpi", *data, *common, "--output",
                                               out / "first", "--profile", out / "first.json"]
        return [line], helpers, ["first"]
    names = ["module1", "module2"] if name == "AsyncFGD" else ["client", "server"]
    port = free_port()
    helpers = []
    dialled = port
    if link:
        relay = subprocess.Popen(
            [sys.executable, ROOT / "test/exchange/relay.py", f"localhost:{port}", "1", "--delay",
             str(link[1]), "--rate", str(int(link[0] / 8))], text=True, stdout=subprocess.PIPE,
            preexec_fn=end_with_parent)
        dialled = int(relay.stdout.readline())
        helpers = [relay]
    keys = folder / "keys"
    first = ["taskset", "-c", 0, program / names[0] / "train", "--connect", f"localhost:{dialled}",
             "--keys", keys / "client", *data]
    second = ["taskset", "-c", 1, program / names[1] / "train", "--serve", f"127.0.0.1:{port}",
              "--keys", keys / "server", "--admit", keys / "admitted"]
    return [[*command, *common, "--output", out / own, "--profile", out / f"{own}.json"]
            for command, own in ((second, names[1]), (first, names[0]))], helpers, names


def measure(options, folder, name, link):
    """The median step in seconds, and the profile of each program."""
    out = folder / f"run{time.monotonic_ns()}"
    out.mkdir()
    lines, helpers, names = commands(options, folder, name, link, out)
    running = []
    for i, line in enumerate(lines):
        log = open(out / f"log{i}", "w")
        running.append(subprocess.Popen([str(a) for a in line], stdout=log,
                                        stderr=subprocess.STDOUT,
                                        preexec_fn=end_with_parent))
    failed = [each.wait() for each in running]
    for each in helpers:
        each.send_signal(signal.SIGTERM)
        each.wait()
    if any(failed):
        sys.exit("\n".join(path.read_text() for path in sorted(out.glob("log*"))))
    tokens = options.batch * options.length * (2 if name == "data-parallel" else 1)
    logged = (out / names[0] / "steps.jsonl").read_text().splitlines()
    # Updates that asynchronous modules still make after the last step have no tokens.
    rates = [json.loads(line)["tokens_per_second"] for line in logged]
    seconds = [tokens / rate for rate in rates if rate > 0]
    return (statistics.median(seconds[options.warm:]),
            {own: out / f"{own}.json" for own in names})


def predict(spec, name, link, profiles, more):
    line = ["hone-simulate", spec, "--json"]
    if name == "data-parallel":
        line += ["--ranks", 2, "--profile", profiles["first"]]
    else:
        for own, path in profiles.items():
            line += ["--profile", f"{own}={path}"]
    if link:
        line += ["--rate", f"{link[0]:.0f}bit/s", "--latency", f"{link[1]}ms"]
    else:
        line += more
    return json.loads(run_checked(line))["prediction"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schedule", nargs="+", choices=list(SCHEDULES),
                        default=list(SCHEDULES))
    parser.add_argument("--links", nargs="+", choices=list(LINKS), default=list(LINKS))
    parser.add_argument("--hidden", type=settings.count, default=256)
    parser.add_argument("--layers", type=settings.count, default=8)
    parser.add_argument("--batch", type=settings.count, default=8)
    parser.add_argument("--length", type=settings.count, default=64)
    parser.add_argument("--steps", type=settings.count, default=9)
    parser.add_argument("--rounds", type=settings.count, default=3)
    parser.add_argument("--warm", type=settings.whole(0), default=2, help="steps that are not counted")
    parser.add_argument("--loopback", default="--rate 400MB/s --latency 200us",
                        help="options of hone-simulate for it")
    parser.add_argument("--folder", type=pathlib.Path,
                        help="compile there, and find what was compiled before")
    parser.add_argument("--prepare", action="store_true", help="compile only")
    options = parser.parse_args()
    folder = options.folder or pathlib.Path(tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    if not (folder / "model").exists():
        make_model(options, folder)
        make_keys(folder)
    specs = {}
    for name in options.schedule:
        specs[name] = folder / f"{name}.yaml"
        if not (folder / name).exists():
            compile_schedule(options, folder, name)
    if options.prepare:
        return
    print("| schedule | link | measured | predicted | error |\n|---|---|--:|--:|--:|")
    for name in options.schedule:
        labels = options.links
        if name == "data-parallel" and os.geteuid() != 0:
            labels = [label for label in labels if not LINKS[label]]
            print(f"predictions: {name}: needs root but over loopback; left out", file=sys.stderr)
        rounds = []
        for _ in range(options.rounds):
            _, profiles = measure(options, folder, name, None)
            rounds.append([(measure(options, folder, name, LINKS[label])[0],
                            predict(specs[name], name, LINKS[label], profiles,
                                    options.loopback.split())["step_seconds"]) for label in labels])
        for label, pairs in zip(labels, zip(*rounds)):
            measured, predicted = (statistics.median(each) for each in zip(*pairs))
            print(f"| {name} | {label} | {measured:.4f} s | {predicted:.4f} s |"
                  f" {100 * (predicted / measured - 1):+.1f} % |", flush=True)
    if not options.folder:
        shutil.rmtree(folder)


if __name__ == "__main__":
    run_main(main)
