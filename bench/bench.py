"""The benchmark: kernels, Hone's training steps, and peers beside them.

Contestants take turns, repetition by repetition, and the FMA peak is measured
again before each of Hone's: on a shared machine only figures that were taken
side by side can be compared.
"""

import argparse
import json
import os
import pathlib
import signal
import sys

import machine
import machine_profile
import plot
import report
import settings
from build_tools import FmaProbe, run_checked
from hone_program import HoneProgram
from peer_program import PeerProgram
from peer_variants import choose, find_environments
from workload import Workload, find_config


def parse_arguments():
    parser = settings.parser("", "Measures kernels and training steps.",
                             argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--only", choices=["kernels", "steps"], help="one of the two halves")
    add("--config", default="small",
        help="a config.json, or the name of a folder with one in\n"
             "$HONE_SHARED/data/configs; default: small, which is in bench/")
    add("--hone", action="append", metavar="KEY=VALUE[,KEY=VALUE]",
        help="measure Hone with these keys of the spec; repeatable; default:\n"
             "train.residuals=mesp and train.residuals=full")
    add("--threads", type=settings.counts, default=[1, 2],
        metavar="N[,N]", help="of Hone; peers run on the most")
    add("--sequence", type=settings.count, help="tokens of a sequence; default: 256, or\n"
                                     "128 for the small model")
    for name, value in (("batch", 1), ("rank", 8), ("alpha", 16),
                        ("steps", 5), ("warmup", 1), ("repetitions", 5)):
        add(f"--{name}", default=value,
            type=settings.whole(0) if name == "warmup" else settings.count)
    add("--optimizer", choices=["sgd", "adamw"], default="sgd")
    add("--peers", action="store_true",
        help="install the peers from the package index (10 GB), or those of --peer")
    add("--python", action="append", default=[], metavar="[PEER=]PATH",
        help="an interpreter that has a peer's packages; repeatable")
    add("--preload", action="append", default=[], metavar="LIBRARY",
        help="a library that a variant loads before others; repeatable")
    add("--peer", action="append", default=[], metavar="NAME",
        help="this variant, of any words of bench/peer_variants.py, as in\n"
             "'torch bfloat16 compiled budget-0'; repeatable")
    add("--peer-filter", default="",
        help="only peers whose name has all of these words")
    add("--profile", type=settings.new_file, metavar="FILE",
        help="only measure this machine's rates, for target.profile of a spec")
    add("--folder", type=pathlib.Path,
        help="for models, environments and results; default: BUILD/bench")
    return parser.parse_args()


def say(contestant, repetition):
    print(f"{contestant.name}, {contestant.threads} threads: "
          f"{repetition.seconds * 1e3:.2f} ms, others {repetition.others:.2f} processors",
          flush=True)


def measure_hone(programs, threads, repetitions, data, probe):
    """All of Hone's contestants, taking turns."""
    pairs = [(program, program.contestant(count))
             for program in programs for count in threads]
    for _ in range(repetitions):
        for program, contestant in pairs:
            say(contestant, program.run(contestant, data, probe))
    return pairs


def measure_peer(peer, rival, repetitions, model, data, probe, folder):
    """One peer, taking turns with Hone's fastest; peers are not alive
    together, or they would not fit into memory."""
    contestant = peer.contestant()
    try:
        print(f"{peer.name}: loading and warming up", flush=True)
        peer.start(model, data, folder / f"{peer.name.replace(' ', '-')}.log")
        for _ in range(repetitions):
            ours = rival[0].run(rival[1], data, probe)
            theirs = peer.run(contestant)
            contestant.time_ratios.append(theirs.seconds / ours.seconds)
            say(contestant, theirs)
    except (RuntimeError, OSError) as error:
        contestant.repetitions.clear()
        contestant.time_ratios.clear()
        contestant.failure = str(error)
        print(f"{peer.name}: failed: {error}", flush=True)
    finally:
        peer.stop()
    contestant.planned = peer.planned
    return contestant


def measure_peers(arguments, workload, rival, model, data, probe, folder,
                  environments, contestants, frameworks):
    """Adds contestants of every framework that is there, their versions and the
    meanings of their words, one by one: an interrupt keeps those that are
    done."""
    chosen = choose(arguments.peer, arguments.peer_filter.split())
    pythons = find_environments(
        list(dict.fromkeys(framework for framework, _ in chosen)),
        environments, arguments)
    for framework, variant in chosen:
        python = pythons[framework.name]
        if not python:
            continue
        peer = PeerProgram(framework, python, workload, rival[1].threads,
                           variant, arguments.preload)
        contestants.append(measure_peer(
            peer, rival, arguments.repetitions, model, data, probe, folder))
        about = frameworks.setdefault(framework.name,
                                      {"versions": {}, "words": {}})
        about["versions"].update(peer.versions)
        about["words"].update({word: framework.words[word].says
                               for word in variant.split()})


def measure_steps(arguments, workload, bin_dir, folder, results):
    probe = FmaProbe(bin_dir)
    threads = arguments.threads
    environments, folder = folder, folder / workload.name
    folder.mkdir(exist_ok=True)
    model, data = folder / "model", folder / "data.jsonl"
    workload.make_model(bin_dir, model)
    workload.make_data(data)
    programs = [HoneProgram(workload, bin_dir, folder,
                            settings.parse("--hone", keys))
                for keys in arguments.hone or ["train.residuals=mesp",
                                               "train.residuals=full"]]
    settings.check_names("--hone", [program.name for program in programs])
    for program in programs:
        print(f"{program.name}: compiling", flush=True)
        program.compile(model)
    pairs = measure_hone(programs, threads, arguments.repetitions, data, probe)
    rival = min((pair for pair in pairs if pair[1].threads == max(threads)),
                key=lambda pair: pair[1].seconds)
    results["contestants"] = [contestant for _, contestant in pairs]
    results["profile"] = rival[0].profile(rival[1].threads, data)
    try:
        measure_peers(arguments, workload, rival, model, data, probe, folder,
                      environments, results["contestants"],
                      results["frameworks"])
    except KeyboardInterrupt:
        print("interrupted: reporting what is done", flush=True)
    results["rival"] = rival[1].name
    results["notes"] = report.check_losses(results["contestants"])


def main():
    arguments = parse_arguments()
    choose(arguments.peer, [])  # a mistake in a name is found first
    bin_dir = arguments.build.resolve() / "bin"
    config = find_config(arguments.config)
    workload = Workload(
        config, arguments.sequence or (128 if config.stem == "small" else 256),
        arguments.batch, arguments.rank, arguments.alpha, arguments.optimizer,
        steps=arguments.steps, warmup=arguments.warmup)
    folder = (arguments.folder or arguments.build / "bench").resolve()
    if arguments.profile:
        learner = machine_profile.Learner(config, bin_dir, folder,
                                          max(arguments.threads), arguments.steps)
        learner.run(arguments.repetitions)
        machine_profile.write(learner.profile(), arguments.profile)
        return
    output = folder / "results"
    output.mkdir(parents=True, exist_ok=True)
    results = {"machine": machine.describe(), "workload": workload,
               "kernels": [], "contestants": [], "profile": None, "frameworks": {},
               "notes": []}
    if arguments.only != "steps":
        print("kernels: measuring", flush=True)
        text = run_checked([bin_dir / "hone-bench-contract"])
        results["kernels"] = [json.loads(line) for line in text.splitlines()]
    if arguments.only != "kernels":
        measure_steps(arguments, workload, bin_dir, folder, results)
    results["machine"]["load_after"] = os.getloadavg()[0]

    print("\n" + report.render(results))
    (output / "results.md").write_text(report.render(results, markdown=True))
    report.write_json(results, output / "results.json")
    if results["contestants"]:
        title = f"{workload.name}: {workload.describe()}"
        (output / "results.svg").write_text(
            plot.bars(results["contestants"], title))
    print(f"written: {output}/results.md, results.json, results.svg")


if __name__ == "__main__":
    # A run in the background inherits an ignored SIGINT.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        main()
    except (RuntimeError, OSError) as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted before there were results")
