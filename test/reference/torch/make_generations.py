# ===- make_generations.py - What Transformers generates greedily ----------===#
#
# For the project's own models the ids that `generate` appends to a prompt, with
# the base model and with the golden adapter; of stories260k only a digest. A text
# is taken only where no choice was close: then float32 has one answer, in
# any program. Writes golden/generations/.
#
# ===-----------------------------------------------------------------------===#

import hashlib
import pathlib

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

from hash_values import integers
from make_models import GOLDEN, MODELS
from stories import STORIES

TOKENS = 200
PROMPT = 9
# Random models soon repeat themselves: of so many prompts the one whose text has
# the most different ids.
ATTEMPTS = 24
# Of logits; float32 computes them to about 1e-6.
MARGIN = 2e-4


def generate(model, prompt, count):
    """The ids after `prompt`, and the least distance of a choice's logits."""
    with torch.no_grad():
        out = model.generate(
            torch.tensor([prompt]),
            attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
            max_new_tokens=count,
            do_sample=False,
            eos_token_id=None,
            pad_token_id=0,
            return_dict_in_generate=True,
            output_logits=True,
        )
    ids = out.sequences[0].tolist()[len(prompt):]
    best = torch.stack([l[0].topk(2).values for l in out.logits])
    return ids, (best[:, 0] - best[:, 1]).min().item()


def load(directory, adapter=None):
    model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    return PeftModel.from_pretrained(model, str(adapter)) if adapter else model


def write_model(name, config, folder):
    adapter = GOLDEN / "gradients" / name / "adapter"
    directory = GOLDEN / "models" / name
    models = {"": load(directory)}
    if adapter.exists():
        models[".adapter"] = load(directory, adapter)
    positions = config.get("max_position_embeddings", config.get("n_positions"))
    count = min(TOKENS, positions - PROMPT)
    best = None
    for attempt in range(ATTEMPTS):
        prompt = integers(f"{name}/prompt/{attempt}", PROMPT, config["vocab_size"]).tolist()
        texts = {kind: generate(m, prompt, count) for kind, m in models.items()}
        if min(margin for _, margin in texts.values()) < MARGIN:
            continue
        variety = min(len(set(ids)) for ids, _ in texts.values())
        if best is None or variety > best[0]:
            best = variety, prompt, texts
    if best is None:
        raise SystemExit(f"{name}: every text has a close choice")
    _, prompt, texts = best
    (folder / f"{name}.prompt").write_text(",".join(map(str, prompt)) + "\n")
    for kind, (ids, margin) in texts.items():
        (folder / f"{name}{kind}.ids").write_text("".join(f"{i}\n" for i in ids))
        print(f"{name}{kind}: {len(ids)} tokens, {len(set(ids))} different, margin {margin:.2e}")


if __name__ == "__main__":
    folder = GOLDEN / "generations"
    folder.mkdir(exist_ok=True)
    for name, config in MODELS.items():
        if config["model_type"] != "parallel":
            write_model(name, config, folder)
    ids, margin = generate(load(STORIES), [1], TOKENS)
    digest = hashlib.sha256("".join(f"{i}\n" for i in ids).encode()).hexdigest()
    (folder / "stories260k.sha256").write_text(digest + "\n")
    print(f"stories260k: margin {margin:.2e}, {digest}")
