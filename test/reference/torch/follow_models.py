# ===- follow_models.py - Every family's parameters, after 100 steps -------===#
#
# follow_models.py [MODEL...]: 100 AdamW steps of all parameters of the project's own
# models: golden/losses/MODEL.jsonl has the sequences, MODEL.json the losses and
# figures of the parameters at the end, in float64. A matrix is as the files hold it.
#
# ===-----------------------------------------------------------------------===#

import argparse
import json

import numpy as np
import torch

from follow_losses import WHOLE, train, write
from gpt_models import FAMILIES, name_in_file
from hash_values import integers, projections
from make_gradients import ratio
from make_models import GOLDEN, MODELS
from reference_model import load_whole_model

LENGTH, SEQUENCES = 24, 20
FOLLOWED = [n for n, c in MODELS.items() if c["model_type"] != "parallel" and "heads" not in n]


def follow(name, dtype, sequences):
    """The losses, and the parameters at the end."""
    config = MODELS[name]
    model = load_whole_model(GOLDEN / "models" / name, dtype)
    losses = train(model, sequences)
    gpt = config["model_type"] in FAMILIES
    found = {
        name_in_file(config, n) if gpt else n: p.detach().numpy().astype(np.float64)
        for n, p in model.named_parameters()
    }
    return losses, found


def follow_model(name):
    folder = GOLDEN / "losses"
    batches = [
        integers(f"{name}/follow/{i}", LENGTH, MODELS[name]["vocab_size"]).tolist()
        for i in range(SEQUENCES)
    ]
    lines = [json.dumps({"input_ids": ids, "labels": ids}) + "\n" for ids in batches]
    (folder / f"{name}.jsonl").write_text("".join(lines))
    sequences = batches * (WHOLE["steps"] // SEQUENCES)
    float32, ends32 = follow(name, torch.float32, sequences)
    float64, ends64 = follow(name, torch.float64, sequences)
    apart = max(abs(a - b) for a, b in zip(float32, float64))
    errors = {n: float(np.linalg.norm(ends32[n] - p)) for n, p in ends64.items()}
    norms = {n: float(np.linalg.norm(p)) for n, p in ends64.items()}
    whole = np.linalg.norm(list(errors.values())) / np.linalg.norm(list(norms.values()))
    worst = max(norms, key=lambda n: ratio(errors[n], norms[n]))
    print(
        f"{name}: {float64[0]:.6f} -> {float64[-1]:.6f}; torch's float32: losses within "
        f"{apart:.1e}, parameters {whole:.1e}, at most {ratio(errors[worst], norms[worst]):.1e} ({worst})"
    )
    figures = {
        "settings": {**WHOLE, "max_seq_length": LENGTH},
        "float32": float32,
        "float64": float64,
        "parameters": {
            "limit": 1e-3,
            "tensors": {
                n: {
                    "norm": norms[n],
                    "torch_float32_error": ratio(errors[n], norms[n]),
                    "projections": projections(n, p),
                }
                for n, p in sorted(ends64.items())
            },
        },
    }
    write(f"{name}.json", figures)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=FOLLOWED)
    torch.set_num_threads(1)
    for name in parser.parse_args().models:
        follow_model(name)
