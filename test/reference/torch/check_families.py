# ===- check_families.py - What runs write, read by Transformers and PEFT ---===#
#
#   check_families.py WORK [NAME...]
#
# Of the project's own models: those that train as a whole, adapters, those with whole
# modules or biases beside them, with ranks and alphas by module in some layers, with
# DoRA, and what hone-adapter makes of adapters by merging. Where the head is the
# embedding's table, either of the two trains, and both.
# Each is read back, and the log-probabilities that PyTorch computes with it are
# those of the program that wrote it, within 1e-5. honec and hone-adapter are in PATH.
#
# ===-----------------------------------------------------------------------===#

import pathlib
import re
import shutil
import subprocess
import sys

from transformers import AutoConfig
from transformers.utils import logging

from check_exports import check_peft
from check_logits import check_logits
from check_model_loads import check_model
from check_peft_loads import check_adapter
from follow_models import FOLLOWED
from make_models import GOLDEN, MODELS

SPEC = pathlib.Path(__file__).parents[2] / "numerics" / "Inputs" / "lora.yaml"
# By model_type, the modules with adapters and those that train beside them; the
# last is for other types.
BESIDE = {
    "opt": ("[q_proj, v_proj]", "[fc2, final_layer_norm]"),
    "gpt2": ("[c_attn]", "[mlp.c_proj, ln_1]"),
    "gpt_neo": ("[q_proj, v_proj]", "[c_fc, ln_1]"),
    "": ("[q_proj, v_proj]", "[down_proj, input_layernorm]"),
}
# Every family has layers 0 and 1; opt's output is projected outside of them.
PATTERNS = (
    r"lora.rank_pattern={'.*\.0\..*(q_proj|c_attn)': 2, '.*\.1\..*': 3}",
    r"lora.alpha_pattern={'.*(v_proj|c_attn|fc1|c_fc)': 5}",
    "lora.use_rslora=true",
)
BIASED = ("qwen2", "opt", "gpt2", "gpt_neo")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def trained(name, folder, data, *settings):
    """The loss of the result of a program in `folder`, in folder/run."""
    shutil.rmtree(folder, ignore_errors=True)
    sets = [f"--set={s}" for s in (f"model={GOLDEN / 'models' / name}", "train.learning_rate=1e-2", *settings)]
    run("honec", SPEC, "-o", folder, *sets)
    run(folder / "train", "--data", data, "--output", folder / "run", "--epochs", "3")
    out = run(folder / "train", "--eval-only", "--eval-data", data, "--adapter", folder / "run")
    return float(re.search(r"^eval loss +([0-9.]+)", out, re.M)[1])


def check_trained_adapter(name, folder, *settings):
    model, data = GOLDEN / "models" / name, GOLDEN / "losses" / f"{name}.jsonl"
    print(f"{folder.name}:")
    loss = trained(name, folder, data, *settings)
    check_adapter(model, folder / "run", data, expected=loss)
    check_logits(folder / "train", folder / "run", model, folder / "run")
    run("hone-adapter", "merge", model, folder / "run", "-o", folder / "merged")
    check_peft(model, folder / "run", folder / "merged")
    check_logits(folder / "train", folder / "run", folder / "merged")


def check_adapted(name, work):
    """Adapters whose modules differ, and DoRA alone and with the same."""
    check_trained_adapter(name, work / "patterns", *PATTERNS)
    check_trained_adapter(name, work / "layers", *PATTERNS[1:], "lora.layers_to_transform=[1]")
    check_trained_adapter(name, work / "dora", "lora.use_dora=true")
    check_trained_adapter(name, work / "dora-patterns", "lora.use_dora=true", *PATTERNS)


def check_family(name, work):
    model, data = GOLDEN / "models" / name, GOLDEN / "losses" / f"{name}.jsonl"
    family = MODELS[name]["model_type"]
    whole = work / "whole"
    loss = trained(name, whole, data, "lora=none")
    check_model(model, whole / "run", data, loss)
    check_logits(whole / "train", whole / "run", whole / "run")
    check_trained_adapter(name, work / "adapter")
    check_adapted(name, work)
    some, saved = BESIDE.get(family, BESIDE[""])
    targets = f"lora.target_modules={some}"
    check_trained_adapter(name, work / "saved", targets, f"lora.modules_to_save={saved}")
    if AutoConfig.from_pretrained(model).tie_word_embeddings:
        table = "wte" if family.startswith("gpt") else "embed_tokens"
        for saved in (table, "lm_head", f"lm_head, {table}"):
            folder = work / f"tied-{saved.replace(', ', '-')}"
            check_trained_adapter(name, folder, targets, f"lora.modules_to_save=[{saved}]")
    if family in BIASED:
        for bias in ("lora_only", "all"):
            check_trained_adapter(name, work / bias, targets, f"lora.bias={bias}")


if __name__ == "__main__":
    logging.disable_progress_bar()
    for name in sys.argv[2:] or FOLLOWED:
        print(name, flush=True)
        check_family(name, pathlib.Path(sys.argv[1]) / name)
    print("every family agrees")
