"""The peers: their environments, and the meaning of the words in a variant's name.

A variant is a framework and words, as in `torch bfloat16 compiled budget-0`.
Each word sets options of the framework's worker; a caption says what it does.
"""

import dataclasses
import itertools
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent / "peers"


@dataclasses.dataclass(frozen=True)
class Word:
    """A word's caption, the worker's options, and how it is started."""
    says: str
    options: dict
    preload: tuple = ()  # names of libraries, as a linker has them
    environment: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, eq=False)  # by identity: it has a dict
class Framework:
    """A library with a worker; an environment must be able to import `check`."""
    name: str
    check: str
    words: dict
    variants: tuple        # those that are measured unless others are named
    worker_name: str = ""  # if another framework's does
    is_locked: bool = True  # its file of requirements names every package
    finish: str = ""       # a script that completes an environment

    @property
    def worker(self):
        return HERE / f"{self.worker_name or self.name}_worker.py"

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
        commands = [[sys.executable, "-m", "venv", python.parent.parent],
                    [python, "-m", "pip", "install", "--quiet",
                     "--only-binary", ":all:", "-r", self.requirements,
                     *(["--no-deps"] if self.is_locked else [])]]
        if self.finish:
            commands.append([python, HERE / self.finish])
        for command in commands:
            done = subprocess.run(command, text=True, stderr=subprocess.PIPE)
            if done.returncode != 0:
                lines = done.stderr.strip().splitlines()
                return lines[-1] if lines else f"{command[0]} failed"
        return ""

    def find(self, folder, given):
        """An interpreter that can import the library, or None. Of `given`,
        NAME=PATH is for the framework of that name alone."""
        for python in [*given, self.environment(folder)]:
            name, separator, path = str(python).partition("=")
            if separator and name != self.name:
                continue
            python = pathlib.Path(path if separator else python)
            if python.exists() and subprocess.run(
                    [python, "-c", f"import {self.check}"],
                    capture_output=True).returncode == 0:
                return python
        return None


def product(*choices):
    """All names with one of each choice; a choice may be no word."""
    return tuple(" ".join(filter(None, words))
                 for words in itertools.product(*choices))


DTYPES = {name: Word(f"base and adapters in {name}", {"dtype": name})
          for name in ("float32", "bfloat16")}

TORCH_WORDS = {
    **DTYPES,
    "eager": Word("as it is", {}),
    "compiled": Word("torch.compile(model)", {"compile": True}),
    "max-autotune": Word('torch.compile(model, mode="max-autotune")',
                         {"compile": True, "mode": "max-autotune"}),
    "checkpointing": Word("gradient checkpointing of each layer",
                          {"checkpointing": True}),
    "chunked-loss": Word(
        "F.linear_cross_entropy(options=LinearCrossEntropyOptions())",
        {"chunked_loss": True}),
    **{f"budget-{budget}": Word(
        f"torch._functorch.config.activation_memory_budget = {budget}",
        {"activation_memory_budget": budget}) for budget in (0, 0.25, 0.5)},
    "medium": Word('torch.set_float32_matmul_precision("medium")',
                   {"matmul_precision": "medium"}),
    "float32-adapters": Word("adapters in float32 on the base's bfloat16",
                             {"float32_adapters": True}),
    "preloaded": Word(
        "LD_PRELOAD of tcmalloc and Intel's OpenMP, KMP_BLOCKTIME=1, "
        "KMP_AFFINITY=granularity=fine,compact,1,0", {},
        preload=("tcmalloc_minimal", "iomp5"),
        environment={"KMP_BLOCKTIME": "1",
                     "KMP_AFFINITY": "granularity=fine,compact,1,0"}),
}

TORCH_VARIANTS = (
    *product(DTYPES, ("eager", "compiled"), ("", "checkpointing")),
    *product(("bfloat16 compiled",),
             ("chunked-loss", "budget-0", "budget-0.25", "budget-0.5",
              "float32-adapters", "preloaded", "chunked-loss budget-0",
              "float32-adapters preloaded")),
    "bfloat16 max-autotune", "float32 compiled medium",
    "float32 compiled medium preloaded")

ZENTORCH_WORDS = {
    **TORCH_WORDS,
    "compiled": Word(
        'torch.compile(model, backend="zentorch"); '
        "ZENDNNL_MATMUL_WEIGHT_CACHE=1: by default the forward rewrites weights "
        "that the backward reads", {"compile": True, "backend": "zentorch",
                                    "plugin": "zentorch"},
        environment={"ZENDNNL_MATMUL_WEIGHT_CACHE": "1"}),
    "uncached": Word("ZENDNNL_MATMUL_WEIGHT_CACHE=0: no copies of weights", {},
                     environment={"ZENDNNL_MATMUL_WEIGHT_CACHE": "0"})}

BITSANDBYTES_WORDS = {
    **{word: TORCH_WORDS[word] for word in
       (*DTYPES, "eager", "checkpointing", "float32-adapters")},
    "nf4": Word("QLoRA: the base's layers in NF4, products in its number type",
                {"nf4": True, "plugin": "bitsandbytes"}),
    "bytes": Word("moments of AdamW in bytes: bitsandbytes.optim.AdamW8bit",
                  {"bytes": True})}

MLX_WORDS = {**DTYPES, "eager": Word("as it is", {}),
             "compiled": Word("mx.compile of the step", {"compile": True}),
             "checkpointing": Word("grad_checkpoint of each layer",
                                   {"checkpointing": True})}

JAX_WORDS = {
    **DTYPES,
    "checkpointing": Word("jax.checkpoint of each layer",
                          {"checkpointing": True}),
    "chunked-loss": Word("logits of 64 rows at once, under jax.checkpoint",
                         {"chunked_loss": True}),
    "unrolled": Word("the scan over layers unrolled", {"unrolled": True}),
    "float32-adapters": TORCH_WORDS["float32-adapters"]}

IREE_WORDS = JAX_WORDS

EXECUTORCH_WORDS = DTYPES

FRAMEWORKS = [
    Framework("torch", "torch, transformers, peft", TORCH_WORDS,
              TORCH_VARIANTS, finish="cuda_stand_ins.py"),
    # Its own PyTorch: an engine is built for one version of it.
    Framework("zentorch", "zentorch, transformers, peft", ZENTORCH_WORDS,
              product(DTYPES, ("compiled",), ("", "uncached", "preloaded")),
              worker_name="torch", finish="cuda_stand_ins.py"),
    Framework("bitsandbytes", "bitsandbytes, transformers, peft",
              BITSANDBYTES_WORDS,
              product(("bfloat16 nf4 eager",), ("", "checkpointing"),
                      ("", "bytes")),
              worker_name="torch", finish="cuda_stand_ins.py"),
    Framework("jax", "jax", JAX_WORDS,
              product(DTYPES, ("", "checkpointing", "unrolled",
                               "checkpointing chunked-loss"))),
    Framework("iree", "iree.compiler, iree.runtime, jax", IREE_WORDS,
              product(DTYPES, ("", "checkpointing chunked-loss"))),
    Framework("executorch", "executorch.exir, transformers, peft",
              EXECUTORCH_WORDS, tuple(DTYPES), finish="cuda_stand_ins.py"),
    Framework("mlx", "mlx.core, mlx_lm", MLX_WORDS,
              product(DTYPES, ("eager", "compiled"), ("", "checkpointing")),
              is_locked=False)]


def choose(names, words):
    """(framework, variant) of each framework: those of `names`, or its own
    ones whose names have all of `words`."""
    chosen = []
    for name in names:
        first, _, variant = name.partition(" ")
        framework = next((f for f in FRAMEWORKS if f.name == first), None)
        if framework is None:
            raise RuntimeError(
                f"--peer: expected a variant of "
                f"{', '.join(f.name for f in FRAMEWORKS)} but found '{name}'")
        for word in variant.split():
            if word not in framework.words:
                raise RuntimeError(
                    f"--peer: expected words of {', '.join(framework.words)} "
                    f"but found '{word}' in '{name}'")
        chosen.append((framework, variant))
    if names:
        return chosen
    return [(framework, variant) for framework in FRAMEWORKS
            for variant in framework.variants
            if set(words) <= {framework.name, *variant.split()}]


def find_environments(frameworks, folder, arguments):
    """The interpreter of each framework by its name, or None; installs it if
    --peers asks for it."""
    found = {}
    for framework in frameworks:
        python = framework.find(folder, arguments.python)
        if not python and arguments.peers:
            problem = framework.install(folder)
            if problem:
                print(f"{framework.name}: {problem}", flush=True)
            python = framework.find(folder, arguments.python)
        if not python:
            print(f"{framework.name}: not installed", flush=True)
        found[framework.name] = python
    return found
