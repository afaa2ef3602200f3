"""Hone in the benchmark: compiles a training program and runs it."""

import hashlib
import json
import re
import shutil
import subprocess

from build_tools import FmaProbe, ReadProbe, run_checked
from children import end_with_parent
from contestant import Contestant, Repetition
from other_load import OtherLoad, children_seconds
from process_memory import MemoryWatch
from roofline import kernel_seconds


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
        self.weights = None  # a file for several programs; none: its own

    def compile(self, model):
        """Compiles from the model directory; keeps the plan's counts."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.plan = json.loads(run_checked(
            self._honec(model) + ["--print-plan=json", "-o", self.folder / "out"]))

    def compile_for_drawn(self, model, folder, keys=()):
        """Compiles from a config.json alone, unless that was done with this
        compiler and the same plan; `folder` has the drawn weights of all
        programs that store them alike. `keys` change nothing but the plan."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = self._honec(model)
        for key in keys:
            command += ["--set", key]
        text = run_checked(command + ["--print-plan=json"])
        self.plan = json.loads(text)
        made_from = self.folder / "made-from.json"
        compiler = (self.bin_dir / "honec").stat().st_mtime_ns
        stamp = json.dumps([str(compiler), str(command), text])
        if not made_from.exists() or made_from.read_text() != stamp:
            shutil.rmtree(self.folder / "out", ignore_errors=True)
            run_checked(command + ["--weights-manifest", "-o",
                                   self.folder / "out"])
            made_from.write_text(stamp)
        manifest = self.folder / "out" / "weights.manifest.json"
        digest = hashlib.sha256(manifest.read_bytes()).hexdigest()
        drawn = folder / f"weights-{digest[:16]}"
        self.weights = drawn / "weights.hone.safetensors"
        if not self.weights.exists():
            run_checked([self.bin_dir / "hone-make-model", "--packed", "--seed",
                         self.workload.seed, manifest, "-o", drawn])

    def _honec(self, model):
        """The compiler with the spec, which is written."""
        w = self.workload
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
        return command

    def contestant(self, threads):
        return Contestant(self.name, threads, is_hone=True,
                          flops=self.plan["flops"])

    def command(self, threads, data):
        """The command of a run that is started afresh."""
        output = self.folder / "run"
        shutil.rmtree(output, ignore_errors=True)
        steps = self.workload.steps + self.workload.warmup
        weights = (["--weights", self.weights, "--no-verify"]
                   if self.weights else [])
        return [self.folder / "out" / "train", "--data", data, "--output",
                output, "--steps", str(steps), "--threads", str(threads),
                *weights]

    def kernel_seconds(self, threads, data, steps):
        """{(block, kernel): seconds} and all seconds of a run of so many steps."""
        command = self.command(threads, data)
        command[command.index("--steps") + 1] = str(steps)
        path = self.folder / "profile.json"
        run_checked(command + ["--profile", path])
        profile = json.loads(path.read_text())
        return kernel_seconds(profile["kernels"]), profile["seconds"]

    def profile(self, threads, data):
        """The profile of one more run, as the program writes it, the plan's
        counts of its kernels, and the machine's rates beside it."""
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
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            preexec_fn=end_with_parent)
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
