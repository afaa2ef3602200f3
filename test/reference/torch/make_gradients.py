# ===- make_gradients.py - Reference losses and LoRA gradients -------------===#
#
# For the project's own models it writes adapters, batches and every gradient
# in float64 to golden/gradients/; for those with wide heads batches and figures,
# because their adapters and gradients are large; for stories260k only figures,
# because nothing of that model may be committed. Every gradient is first checked
# against finite differences of numpy_forward.py, or nothing is written.
#
# ===-----------------------------------------------------------------------===#

import argparse
import json
import pathlib
import tempfile

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

from adapters import scales, write_adapter
from gpt_models import FAMILIES, NumpyGpt, is_conv1d
from hash_values import integers, projections, signs
from make_models import GOLDEN, MODELS
from numpy_forward import NumpyModel, SelectedNumpyModel
from reference_model import (
    detach_layers,
    gradients,
    load_model,
    load_whole_model,
    read_batch,
    read_config,
)
from regularization import Regularization, RegularizedNumpyModel, regularize
from stories import STORIES, sample_batch

R, ALPHA = 4, 8
LENGTHS = {"batch1": [27], "batch3": [11, 23, 17]}
# Layers with a backward, of the models that a selection is tested with.
SELECTED = {"llama-tiny": {0}, "qwen2-tiny": {0, 2}, "gemma3-tiny": {0, 2}}
# Adapters whose modules differ, DoRA, and copies of tables, in PEFT's settings; by the
# model's name and one of their own.
VARIANTS = {
    "llama-tiny-patterns": {
        "rank_pattern": {"layers\\.1\\..*_proj": 3, "^model.layers.0.self_attn.[qk]_proj": 1},
        "alpha_pattern": {"mlp.(up|gate)_proj": 5, "v_proj": 1.5},
        "use_rslora": True,
    },
    "qwen2-tiny-dora": {
        "use_dora": True,
        "layers_to_transform": [0, 2],
        "rank_pattern": {"o_proj": 2},
    },
    # Of a head that is the embedding's table, one trains as a copy, or both do.
    "qwen2-tiny-embedding": {"target_modules": ["q_proj"], "modules_to_save": ["embed_tokens"]},
    "qwen2-tiny-head": {"target_modules": ["q_proj"], "modules_to_save": ["lm_head"]},
    "qwen2-tiny-tables": {
        "target_modules": ["q_proj"],
        "modules_to_save": ["embed_tokens", "lm_head"],
    },
    # Of matrices that files hold [in, out].
    "gpt2-tiny-dora": {
        "use_dora": True,
        "rank_pattern": {"attn.c_proj": 2},
        "alpha_pattern": {"c_fc": 3},
    },
}
# Dropout, noise on embeddings and smoothed labels, of models that have them.
REGULARIZED = {"qwen2-tiny": Regularization(0.2, 5.0, 0.1)}
# Models of whose own parameters all gradients are written; of the others, which have
# one of each family, there are projections.
WHOLE = ["llama-tiny", "qwen2-tiny"]
# Of models with wide heads: r, lora_alpha, and batches.
WIDE = {
    "heads80": (1, 2, {"ragged": [2, 40, 17, 3, 65]}),
    "heads96": (13, 26, {"ragged": [33, 129, 2, 64]}),
    "heads112": (64, 32, {"long": [1201], "ragged": [3, 517, 2, 300]}),
}


def write_batch(path, model, vocab, lengths):
    """Random tokens; no loss on the first third of a sequence nor every 7th token.

    The first label of the last sequence is kept, and must not count; its last
    label differs from its input id, and must be the target.
    """
    lines = []
    for index, length in enumerate(lengths):
        ids = integers(f"{model}/{path.stem}/{index}", length, vocab).tolist()
        masked = [i < length // 3 or i % 7 == 6 for i in range(length)]
        labels = [-100 if m else t for m, t in zip(masked, ids)]
        if index == len(lengths) - 1:
            labels[0], labels[-1] = ids[0], (ids[-1] + 1) % vocab
        lines.append(json.dumps({"input_ids": ids, "labels": labels}) + "\n")
    path.write_text("".join(lines))


def finite_difference_error(
    model_dir, tensors, scaling, batch, found, selected, regularization
):
    """Largest | dL/dv - <gradient, v> | / |gradient| over one direction v a tensor.

    Fourth-order central differences; v is +-1/sqrt(n), so a right gradient
    leaves about 1e-10 / |gradient|.
    """
    weights = load_file(model_dir / "model.safetensors")
    adapter = {name: t.astype(np.float64) for name, t in tensors.items()}
    parts = read_config(model_dir), weights, adapter, scaling
    gpt = parts[0]["model_type"] in FAMILIES
    model = (NumpyGpt if gpt else NumpyModel)(*parts)
    if selected:
        model = SelectedNumpyModel(selected, *parts)
    if regularization:
        model = RegularizedNumpyModel(regularization, *parts)
    if selected or gpt:
        model.mean_nll(batch)
    return model.mean_nll(batch), worst_slope(model, model.adapter, batch, found)


def worst_slope(model, tensors, batch, found):
    """The same for `tensors`, which `model` reads where they are."""
    step, worst, scales = 1e-3, 0.0, scales_of(found)
    for name, tensor in list(tensors.items()):
        v = signs(name, 7, tensor.size).reshape(tensor.shape) / np.sqrt(tensor.size)

        def loss_at(distance):
            tensors[name] = tensor + distance * v
            return model.mean_nll(batch)

        near = loss_at(step) - loss_at(-step)
        far = loss_at(2 * step) - loss_at(-2 * step)
        tensors[name] = tensor
        slope = (8 * near - far) / (12 * step)
        error = abs(slope - (found[name] * v).sum())
        worst = max(worst, ratio(error, scales[name]))
    return worst


def scales_of(found):
    """The scale for errors of each gradient: its norm, or that of all where it
    is zero up to rounding, as are those of keys' biases without rotations."""
    norms = {name: float(np.linalg.norm(g)) for name, g in found.items()}
    whole = float(np.linalg.norm(list(norms.values())))
    return {name: n if n > 1e-12 * whole else whole for name, n in norms.items()}


def ratio(error, size):
    """error / size; 0 where both are none."""
    return float(error / size) if error or size else 0.0


def reference(
    model_dir,
    adapter_dir,
    tensors,
    batch,
    scaling=ALPHA / R,
    selected=None,
    regularization=None,
):
    """float64 gradients, and the figures of one batch."""

    def found_in(dtype):
        model = load_model(model_dir, adapter_dir, dtype)
        if selected:
            detach_layers(model, selected)
        if regularization:
            regularize(model, regularization)
        return gradients(model, batch, regularization)

    loss, found = found_in(torch.float64)
    loss32, found32 = found_in(torch.float32)
    numpy_loss, difference = finite_difference_error(
        model_dir, tensors, scaling, batch, found, selected, regularization
    )
    assert found.keys() == tensors.keys()
    assert difference < 1e-8, difference
    return found, describe(
        model_dir, batch, loss, found, loss32, found32, numpy_loss, difference
    )


def whole_reference(model_dir, batch):
    """float64 gradients of all parameters, and the figures of one batch."""
    loss, found = gradients(load_whole_model(model_dir, torch.float64), batch)
    loss32, found32 = gradients(load_whole_model(model_dir, torch.float32), batch)
    config, weights = read_config(model_dir), load_file(model_dir / "model.safetensors")
    model = (NumpyGpt if config["model_type"] in FAMILIES else NumpyModel)(config, weights)
    numpy_loss = model.mean_nll(batch)
    assert found.keys() == model.weights.keys()
    turned = {n: g.T if is_conv1d(config, n) else g for n, g in found.items()}
    difference = worst_slope(model, model.weights, batch, turned)
    assert difference < 1e-8, difference
    return found, describe(
        model_dir, batch, loss, found, loss32, found32, numpy_loss, difference
    )


def describe(model_dir, batch, loss, found, loss32, found32, numpy_loss, difference):
    """The figures of one batch."""
    assert abs(numpy_loss - loss) < 1e-12 * loss, (numpy_loss, loss)
    scales = scales_of(found)
    relative = {
        name: ratio(np.linalg.norm(found32[name] - g), scales[name])
        for name, g in found.items()
    }
    print(
        f"{model_dir.name}: loss {loss:.15g}, numpy differs {abs(numpy_loss - loss):.1e}, "
        f"finite differences {difference:.1e}, torch float32: loss "
        f"{abs(loss32 - loss) / loss:.1e}, gradients up to {max(relative.values()):.1e}"
    )
    figures = {
        "targets": sum(sum(t != -100 for t in labels[1:]) for _, labels in batch),
        "loss": loss,
        "torch_float32_loss_error": abs(loss32 - loss) / loss,
        "tensors": {
            name: {
                "norm": float(np.linalg.norm(g)),
                "torch_float32_error": relative[name],
                **({"scale": scales[name]} if scales[name] > 2 * np.linalg.norm(g) else {}),
            }
            for name, g in sorted(found.items())
        },
    }
    return figures


def make_own(name):
    model_dir, out = GOLDEN / "models" / name, GOLDEN / "gradients" / name
    config = read_config(model_dir)
    tensors = write_adapter(out / "adapter", name, config, R, ALPHA)
    figures = {}

    def write(key, batch, **variant):
        found, figures[key] = reference(
            model_dir, out / "adapter", tensors, batch, **variant
        )
        save_file(
            found,
            out / f"{key}.safetensors",
            metadata={"loss": repr(figures[key]["loss"])},
        )

    for key, lengths in LENGTHS.items():
        path = out / f"{key}.jsonl"
        write_batch(path, name, config["vocab_size"], lengths)
        write(key, read_batch(path))
        if name in SELECTED:
            write(f"{key}.lcsb", read_batch(path), selected=SELECTED[name])
        if name in REGULARIZED:
            write(
                f"{key}.regularized",
                read_batch(path),
                regularization=REGULARIZED[name],
            )
    if config["model_type"] != "parallel":
        make_whole(model_dir, out, figures)
    write_json(out / "figures.json", figures)


def make_variant(name):
    settings = VARIANTS[name]
    base = name.rsplit("-", 1)[0]
    model_dir, out = GOLDEN / "models" / base, GOLDEN / "gradients" / name
    config = read_config(model_dir)
    tensors = write_adapter(out / "adapter", base, config, R, ALPHA, more=settings)
    figures = {}
    for key, lengths in LENGTHS.items():
        path = out / f"{key}.jsonl"
        write_batch(path, base, config["vocab_size"], lengths)
        found, figures[key] = reference(
            model_dir,
            out / "adapter",
            tensors,
            read_batch(path),
            scales(config, R, ALPHA, settings),
        )
        metadata = {"loss": repr(figures[key]["loss"])}
        save_file(found, out / f"{key}.safetensors", metadata=metadata)
    write_json(out / "figures.json", figures)


def make_whole(model_dir, out, figures):
    """Gradients of all parameters, of the larger batch: full.safetensors, or
    projections of them."""
    batch = read_batch(out / "batch3.jsonl")
    found, figures["full"] = whole_reference(model_dir, batch)
    if model_dir.name in WHOLE:
        metadata = {"loss": repr(figures["full"]["loss"])}
        save_file(found, out / "full.safetensors", metadata=metadata)
    else:
        add_projections(figures["full"], found)


def projected_reference(model_dir, r, alpha, batch):
    """The figures of one batch, with projections in place of gradients."""
    with tempfile.TemporaryDirectory() as scratch:
        adapter = pathlib.Path(scratch)
        config = read_config(model_dir)
        tensors = write_adapter(adapter, model_dir.name, config, r, alpha)
        found, figures = reference(model_dir, adapter, tensors, batch, alpha / r)
    add_projections(figures, found)
    return figures


def add_projections(figures, found):
    for name, entry in figures["tensors"].items():
        entry["projections"] = projections(name, found[name])


def make_wide(name):
    model_dir, out = GOLDEN / "models" / name, GOLDEN / "gradients" / name
    out.mkdir(parents=True, exist_ok=True)
    r, alpha, batches = WIDE[name]
    figures = {}
    for batch, lengths in batches.items():
        path = out / f"{batch}.jsonl"
        write_batch(path, name, read_config(model_dir)["vocab_size"], lengths)
        figures[batch] = projected_reference(model_dir, r, alpha, read_batch(path))
    write_json(out / "figures.json", figures)


def make_stories():
    config = read_config(STORIES)
    weights = load_file(STORIES / "model.safetensors")
    figures = projected_reference(STORIES, R, ALPHA, sample_batch())
    figures["base_loss"] = NumpyModel(config, weights).mean_nll(sample_batch())
    print(f"stories260k without an adapter: {figures['base_loss']:.9f}")
    assert abs(figures["base_loss"] - 0.457346) < 1e-6
    write_json(GOLDEN / "gradients" / "stories260k.json", figures)


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1) + "\n")


def emit_stories(directory):
    """The adapter and the batch that stories260k.json was made with."""
    write_adapter(directory, "stories260k", read_config(STORIES), R, ALPHA)
    [(ids, labels)] = sample_batch()
    line = json.dumps({"input_ids": ids, "labels": labels})
    (directory / "batch.jsonl").write_text(line + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=[*MODELS, *VARIANTS, "stories260k"])
    parser.add_argument(
        "--emit-stories",
        type=pathlib.Path,
        metavar="DIR",
        help="only write stories260k's adapter and batch.jsonl to DIR",
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.emit_stories:
        emit_stories(options.emit_stories)
    else:
        for model in options.models:
            if model == "stories260k":
                make_stories()
            elif model in VARIANTS:
                make_variant(model)
            elif model in WIDE:
                make_wide(model)
            else:
                make_own(model)
