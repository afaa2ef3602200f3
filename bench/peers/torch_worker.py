"""PyTorch + PEFT: one variant, trained as their manuals show.

Choices that a user could make are made in PyTorch's favour: its own fused
attention, adapters in the element type of the weights, no clipping.
"""

import itertools
import json
import sys

import peft
import safetensors.torch
import torch
import transformers

from protocol import read_batches, serve


def load_model(options, dtype):
    """From a model directory, or with only its config.json from a weights file
    of Hone's that has its tensors by their names."""
    if not options.get("weights"):
        return transformers.AutoModelForCausalLM.from_pretrained(
            options["model"], dtype=dtype, attn_implementation="sdpa")
    config = transformers.AutoConfig.from_pretrained(options["model"])
    device = options.get("device", "cpu")
    with torch.device(device):
        model = transformers.AutoModelForCausalLM.from_config(
            config, dtype=dtype, attn_implementation="sdpa")
    missing, _ = model.load_state_dict(
        safetensors.torch.load_file(options["weights"], device=device),
        strict=False)
    # A tied head is the embedding.
    missing = [name for name in missing if name != "lm_head.weight"]
    if missing:
        raise RuntimeError(f"{options['weights']} has no {missing[0]}")
    return model


def make_step(options):
    dtype = getattr(torch, options["dtype"])
    device = options.get("device", "cpu")
    torch.manual_seed(0)
    if options["threads"]:
        torch.set_num_threads(options["threads"])
    model = load_model(options, dtype).to(device)
    model.config.use_cache = False
    if options["checkpointing"]:
        model.gradient_checkpointing_enable(
            gradient_checkpointing_kwargs={"use_reentrant": False})
        model.enable_input_require_grads()
    model = peft.get_peft_model(
        model, peft.LoraConfig(r=options["rank"], lora_alpha=options["alpha"],
                               target_modules=options["projections"],
                               task_type="CAUSAL_LM"),
        autocast_adapter_dtype=False)
    model.train()
    parameters = [p for p in model.parameters() if p.requires_grad]
    kind = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}
    optimizer = kind[options["optimizer"]](
        parameters, lr=options["learning_rate"], weight_decay=0.0,
        **({"fused": True} if device != "cpu" else {}))
    mode = "reduce-overhead" if options.get("graphs") else None
    forward = torch.compile(model, mode=mode) if options["compile"] else model
    batches = itertools.cycle(
        [torch.tensor(batch, device=device) for batch in read_batches(options)])

    def step():
        ids = next(batches)
        optimizer.zero_grad(set_to_none=True)
        loss = forward(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


if __name__ == "__main__":
    serve(lambda: make_step(json.loads(sys.argv[1])),
          {"torch": torch.__version__, "peft": peft.__version__,
           "transformers": transformers.__version__})
