"""What steps of the methods cost, in forwards and beside their bounds.

  mezo, fgd  CPU seconds of a step over those of a forward of the same program
  lcsb       time of a step of backprop with residuals mesp over that of a step
             with half of the layers selected; what the share of the first one's
             backward predicts; and the ratio of their operations

Programs take turns, and figures are medians over the rounds. CPU seconds are
those of a long run less those of a short one, so that starting costs nothing.
"""

import json
import resource
import statistics

import settings
from build_tools import run_checked, run_main
from hone_program import HoneProgram
from workload import Workload, find_config

METHODS = {"mezo": ["train.method=mezo"],
           "fgd": ["train.method=fgd"],
           "mesp": ["train.residuals=mesp"],
           "lcsb": ["train.residuals=mesp", "train.method=lcsb",
                    "train.selection_ratio=0.5", "train.selection_warmup=0"]}


def parse_arguments():
    parser = settings.parser("--costs", __doc__)
    add = parser.add_argument
    add("--config", default="small", help="a file, 'small', or a name")
    add("--only", default="mezo,fgd,lcsb", help="which, separated by commas")
    add("--rounds", type=settings.count, default=5)
    add("--steps", type=settings.count, default=4, help="measured in each round")
    add("--sequence", type=settings.count, default=256)
    add("--threads", type=settings.count, default=1)
    add("--set", action="append", default=[], metavar="KEY=VALUE",
        help="a key of all specs")
    arguments = parser.parse_args()
    for name in arguments.only.split(","):
        if name not in METHODS:
            parser.error(f"--only: expected some of {', '.join(METHODS)}, "
                         f"found '{name}'")
    return arguments


class Program(HoneProgram):
    """A compiled program, and the seconds of its steps and forwards."""

    def __init__(self, name, arguments, workload, bin_dir, folder, model):
        super().__init__(workload, bin_dir, folder,
                         METHODS[name] + arguments.set)
        self.threads, self.steps = arguments.threads, arguments.steps
        self.compile(model)
        self.step_seconds, self.forward_seconds = [], []

    def _seconds(self, command):
        def used():
            usage = resource.getrusage(resource.RUSAGE_CHILDREN)
            return usage.ru_utime + usage.ru_stime
        before = used()
        run_checked(command + ["--no-verify", "--threads", self.threads])
        return used() - before

    def _train(self, data, steps):
        command = self.command(self.threads, data)
        command[command.index("--steps") + 1] = steps
        return command

    def measure_step(self, data):
        long, short = (self._seconds(self._train(data, steps))
                       for steps in (self.steps + 1, 1))
        self.step_seconds.append((long - short) / self.steps)

    def measure_median_step(self, data):
        log = self.folder / "log.jsonl"
        log.unlink(missing_ok=True)
        run_checked(self._train(data, self.steps + 1) +
                    ["--log", log, "--no-verify"])
        steps = [json.loads(line) for line in log.read_text().splitlines()]
        self.step_seconds.append(statistics.median(
            self.workload.tokens / step["tokens_per_second"]
            for step in steps[1:]))

    def measure_forward(self, data_of):
        """`data_of` makes a file of that many sequences."""
        long, short = (self._seconds([self.folder / "out" / "train",
                                      "--eval-only", "--eval-data",
                                      data_of(count)])
                       for count in (2 * self.steps + 1, 1))
        self.forward_seconds.append((long - short) / (2 * self.steps))

    def share_of_backward(self, data):
        """Of a step's time, by its profile: the backward of the layers."""
        profile = self.profile(self.threads, data)
        return sum(kernel["seconds"] for kernel in profile["kernels"]
                   if kernel["block"].startswith("decoder") and
                   "backward" in kernel["block"]) / profile["seconds"]


def in_forwards(program, forwards):
    ratios = [step / (forwards * forward) for step, forward in
              zip(program.step_seconds, program.forward_seconds)]
    return (f"{statistics.median(ratios):.3f} x "
            f"{'a forward' if forwards == 1 else f'{forwards} forwards'} "
            f"({min(ratios):.3f} to {max(ratios):.3f}), "
            f"{statistics.median(program.step_seconds):.3f} s")


def operations(config, workload, mesp, probe):
    """Operations of a step, and of its layers' backward. A probe is a forward
    twice; the head has one product more in a step than in a forward."""
    head = 2 * workload.tokens * config["vocab_size"] * config["hidden_size"]
    return mesp.plan["flops"], mesp.plan["flops"] - head - probe.plan["flops"] // 2


def compare_lcsb(programs, config, workload, shares):
    mesp, lcsb, probe = (programs[name] for name in ("mesp", "lcsb", "mezo"))
    layers = config["num_hidden_layers"]
    unselected = 1 - -(-layers // 2) / layers
    ratios = [a / b for a, b in zip(mesp.step_seconds, lcsb.step_seconds)]
    predicted = 1 / (1 - unselected * statistics.median(shares))
    total, of_layers = operations(config, workload, mesp, probe)
    bound = total / (total - unselected * of_layers)
    ratio = statistics.median(ratios)
    return (f"{ratio:.3f} x faster ({min(ratios):.3f} to {max(ratios):.3f}); "
            f"predicted by phases {predicted:.3f}, "
            f"{100 * (ratio / predicted - 1):+.1f} %; bound by operations "
            f"{bound:.3f}, of which {ratio / bound:.3f}")


def main():
    arguments = parse_arguments()
    wanted = arguments.only.split(",")
    bin_dir = arguments.build.resolve() / "bin"
    workload = Workload(find_config(arguments.config),
                        sequence=arguments.sequence, steps=arguments.steps)
    folder = arguments.build.resolve() / "bench" / workload.name
    folder.mkdir(parents=True, exist_ok=True)
    workload.make_model(bin_dir, folder / "model")
    data = folder / "data.jsonl"
    workload.make_data(data)

    def data_of(count):
        path = folder / f"data-{count}.jsonl"
        lines = data.read_text().splitlines()
        path.write_text("".join(lines[i % len(lines)] + "\n"
                                for i in range(count)))
        return path

    # The plan of mezo says what a forward takes.
    names = set(wanted) | ({"mesp", "mezo"} if "lcsb" in wanted else set())
    programs = {}
    for name in METHODS:
        if name in names:
            print(f"{name}: compiling", flush=True)
            programs[name] = Program(name, arguments, workload, bin_dir,
                                     folder, folder / "model")
    shares = []
    for round in range(arguments.rounds):
        for name in ("mezo", "fgd"):
            if name in wanted:
                programs[name].measure_step(data)
                programs[name].measure_forward(data_of)
        if "lcsb" in wanted:
            for name in ("mesp", "lcsb"):
                programs[name].measure_median_step(data)
            shares.append(programs["mesp"].share_of_backward(data))
        print(f"round {round + 1} of {arguments.rounds}", flush=True)
    print(f"{workload.name}, {workload.tokens} tokens, {arguments.threads} "
          f"threads, {arguments.rounds} rounds")
    if "mezo" in wanted:
        print(f"mezo  {in_forwards(programs['mezo'], 2)}")
    if "fgd" in wanted:
        print(f"fgd   {in_forwards(programs['fgd'], 1)}")
    if "lcsb" in wanted:
        config = json.loads(workload.config.read_text())
        print(f"lcsb  {compare_lcsb(programs, config, workload, shares)}")


if __name__ == "__main__":
    run_main(main)
