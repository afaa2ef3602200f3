"""Hone in the benchmark: compiles a training program and runs it."""

import json
import re
import shutil
import subprocess

from build_tools import FmaProbe, ReadProbe, run_checked
from contestant import Contestant, Repetition
from other_load import OtherLoad, children_seconds
from process_memory import MemoryWatch


class HoneProgram:
    """One compiled training program; `settings` are keys of the spec."""

    def __init__(self, workload, bin_dir, folder, settings):
        self.workload, self.settings = workload, settings
        self.name = " ".join(["hone"] + [setting.partition("=")[2]
                                         for setting in settings])
        # Whole keys: equal values may be of two.
        self.folder = folder / re.sub(r"[^A-Za-z0-9.-]+", "-",
                                      " ".join(["hone", *settings]))
        self.bin_dir = bin_dir

    def compile(self, model):
        """Compiles from the model directory; keeps the plan's counts."""
        w = self.workload
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        spec = self.folder / "spec.yaml"
        # Where a gradient is estimated there is no norm to clip by.
        estimates = {"train.method=mezo", "train.method=fgd"}
        clipping = ("" if estimates & set(self.settings)
                    else "max_grad_norm: 0, ")
        spec.write_text(
            f"model: {json.dumps(str(model))}\n"
            f"lora: {{r: {w.rank}, lora_alpha: {w.alpha}, "
            f"target_modules: all-linear}}\n"
            f"train: {{optimizer: {w.optimizer}, batch_size: {w.batch}, "
            f"max_seq_length: {w.sequence}, learning_rate: {w.learning_rate}, "
            f"lr_scheduler_type: constant, {clipping}"
            f"shuffle: false, save_every: 0}}\n")
        command = [self.bin_dir / "honec", spec]
        for setting in self.settings:
            command += ["--set", setting]
        self.plan = json.loads(run_checked(
            command + ["--print-plan=json", "-o", self.folder / "out"]))

    def contestant(self, threads):
        return Contestant(self.name, threads, is_hone=True,
                          flops=self.plan["flops"])

    def command(self, threads, data):
        """The command of a run that is started afresh."""
        output = self.folder / "run"
        shutil.rmtree(output, ignore_errors=True)
        steps = self.workload.steps + self.workload.warmup
        return [self.folder / "out" / "train", "--data", data, "--output",
                output, "--steps", str(steps), "--threads", str(threads)]

    def profile(self, threads, data):
        """Where the time of one more run goes, as the program writes it, what
        the plan says of its kernels, and what the machine can do beside it."""
        path = self.folder / "profile.json"
        gflops = FmaProbe(self.bin_dir).measure(threads)
        run_checked(self.command(threads, data) + ["--profile", path])
        weights = self.folder / "out" / "weights.hone.safetensors"
        read = ReadProbe(self.bin_dir).measure(weights, threads)
        return {"contestant": self.name, "threads": threads,
                "counted": self.plan["kernels"], "flops_per_second": gflops * 1e9,
                "bytes_per_second": read * 1e9, **json.loads(path.read_text())}

    def run(self, contestant, data, probe):
        """One repetition: a whole run of the program, started afresh."""
        w = self.workload
        fma_gflops = probe.measure(contestant.threads)
        log = self.folder / "log.jsonl"
        log.unlink(missing_ok=True)
        process = subprocess.Popen(
            self.command(contestant.threads, data) + ["--log", log],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            with MemoryWatch(process.pid) as watch, \
                    OtherLoad(children_seconds) as load:
                text, _ = process.communicate()
        finally:
            process.kill()
        if process.returncode != 0:
            raise RuntimeError(f"{self.name}: {text.strip()}")
        contestant.planned = int(
            re.search(r"planned \(\d+ of (\d+) bytes\)", text).group(1))
        steps = [json.loads(line) for line in log.read_text().splitlines()]
        contestant.repetitions.append(Repetition(
            [w.tokens / s["tokens_per_second"] for s in steps[w.warmup:]],
            watch.anonymous, watch.resident, steps[0]["loss"],
            load.processors, fma_gflops))
        return contestant.repetitions[-1]
