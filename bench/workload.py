"""What every contestant trains: one model, one set of sequences, one LoRA.

All contestants read the same model directory and the same file of token ids,
in file order, so the loss of the first step must agree between them.
"""

import dataclasses
import json
import os
import pathlib
import random
import sys

from build_tools import run_checked

# The seven projections of a decoder layer: `all-linear` in Hone and in PEFT.
PROJECTIONS = ["q_proj", "k_proj", "v_proj", "o_proj",
               "gate_proj", "up_proj", "down_proj"]


def find_config(name):
    """The config.json that `name` means; ends the program if there is none."""
    own = pathlib.Path(__file__).parent / "configs" / f"{name}.json"
    shared = pathlib.Path(os.environ.get("HONE_SHARED", "../shared"))
    for path in (pathlib.Path(name), own,
                 shared / "data" / "configs" / name / "config.json"):
        if path.is_file():
            return path.resolve()
    sys.exit(f"bench: no config '{name}': give a file, 'small', or the name "
             f"of a folder in $HONE_SHARED/data/configs")


@dataclasses.dataclass(frozen=True)
class Workload:
    """Shapes and hyper-parameters; lengths are in tokens."""
    config: pathlib.Path
    sequence: int = 128
    batch: int = 1
    rank: int = 8
    alpha: int = 16
    optimizer: str = "sgd"  # or adamw
    learning_rate: float = 1e-4
    steps: int = 5   # measured in each repetition
    warmup: int = 1  # run before them and not measured
    seed: int = 1

    @property
    def tokens(self):
        """Tokens of one step."""
        return self.sequence * self.batch

    def describe(self):
        return (f"{self.batch} x {self.sequence} tokens, LoRA r={self.rank} on "
                f"all seven projections, {self.optimizer}, {self.steps} steps "
                f"after {self.warmup} of warm-up in each repetition")

    @property
    def name(self):
        """Of the model: its folder's, if the file's says nothing."""
        stem = self.config.stem
        return self.config.parent.name if stem == "config" else stem

    def as_dict(self):
        return {**dataclasses.asdict(self), "config": self.name}

    def make_config(self, folder):
        """Writes a model directory without weights."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(self.config.read_text())

    def make_model(self, bin_dir, folder):
        """Writes a model directory with random weights, unless it is there."""
        dtype = json.loads(self.config.read_text()).get("torch_dtype")
        stamp = folder / "made-from.json"
        made_from = json.dumps([self.config.read_text(), self.seed])
        if stamp.exists() and stamp.read_text() == made_from:
            return
        run_checked(
            [bin_dir / "hone-make-model", self.config, "-o", folder, "--seed",
             self.seed, "--dtype",
             "bfloat16" if dtype == "bfloat16" else "float32"])
        stamp.write_text(made_from)

    def make_data(self, path):
        """Writes random sequences, one JSON line each."""
        vocabulary = json.loads(self.config.read_text())["vocab_size"]
        generator = random.Random(self.seed)
        count = self.batch * min(self.steps + self.warmup, 16)
        with open(path, "w") as lines:
            for _ in range(count):
                ids = [generator.randrange(vocabulary)
                       for _ in range(self.sequence)]
                lines.write(json.dumps({"input_ids": ids}) + "\n")
