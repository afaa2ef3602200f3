"""PyTorch + PEFT: one variant, trained as their manuals show.

Choices that a user could make are made in PyTorch's favour: its own fused
attention, adapters in the element type of the weights unless a variant asks for
others, no clipping.
"""

import importlib
import itertools
import json
import sys
from importlib.metadata import version

import peft
import safetensors.torch
import torch
import torch.nn.functional as F
import transformers

from protocol import read_batches, serve


def load_model(options, dtype):
    """From a model directory, or with only its config.json from a weights file
    of Hone's that has its tensors by their names."""
    if not options.get("weights"):
        more = {}
        if options.get("nf4"):
            more = {"device_map": "cpu",
                    "quantization_config": transformers.BitsAndBytesConfig(
                        load_in_4bit=True, bnb_4bit_quant_type="nf4",
                        bnb_4bit_compute_dtype=dtype)}
        return transformers.AutoModelForCausalLM.from_pretrained(
            options["model"], dtype=dtype, attn_implementation="sdpa", **more)
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


def with_adapters(model, options):
    """PEFT's LoRA, to be trained."""
    return peft.get_peft_model(
        model, peft.LoraConfig(r=options["rank"], lora_alpha=options["alpha"],
                               target_modules=options["projections"],
                               task_type="CAUSAL_LM"),
        autocast_adapter_dtype=options.get("float32_adapters", False)).train()


def whole_sequences(model):
    """The arguments that make each row of a batch one sequence. transformers would
    look at the positions for packed ones: in each step a wait for the device,
    or, where it must not wait, a mask that keeps attention from its fastest
    kernel."""
    kinds = set(getattr(model.config, "layer_types", None) or ["sliding_attention"])
    if kinds != {"full_attention"}:
        raise RuntimeError(f"layers of {sorted(kinds)} need a mask")
    return {"attention_mask": {"full_attention": None}}


def loss_of(model, options):
    """The function of ids that is differentiated."""
    if not options.get("chunked_loss"):
        given = whole_sequences(model) if options.get("whole_sequences") else {}
        return lambda ids: model(input_ids=ids, labels=ids, **given).loss
    inner = model.get_base_model()
    chunks = torch.nn.LinearCrossEntropyOptions()

    def chunked(ids):
        hidden = inner.model(input_ids=ids).last_hidden_state
        return F.linear_cross_entropy(
            hidden[:, :-1].flatten(0, 1), inner.lm_head.weight,
            ids[:, 1:].flatten(), options=chunks)

    return chunked


def make_optimizer(options, parameters, captured):
    settings = {"lr": options["learning_rate"], "weight_decay": 0.0}
    if options.get("bytes") and options["optimizer"] == "adamw":
        import bitsandbytes

        return bitsandbytes.optim.AdamW8bit(parameters, **settings)
    kind = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}
    return kind[options["optimizer"]](
        parameters, fused=True, **settings,
        **({"capturable": True} if captured else {}))


def make_step(options):
    dtype = getattr(torch, options["dtype"])
    device = options.get("device", "cpu")
    torch.manual_seed(0)
    if options["threads"]:
        torch.set_num_threads(options["threads"])
    if "matmul_precision" in options:
        torch.set_float32_matmul_precision(options["matmul_precision"])
    if "activation_memory_budget" in options:
        torch._functorch.config.activation_memory_budget = \
            options["activation_memory_budget"]
    model = load_model(options, dtype)
    if not options.get("nf4"):  # which is where it was loaded to
        model = model.to(device)
    model.config.use_cache = False
    if options["checkpointing"]:
        model.gradient_checkpointing_enable(
            gradient_checkpointing_kwargs={"use_reentrant": False})
        model.enable_input_require_grads()
    model = with_adapters(model, options)
    parameters = [p for p in model.parameters() if p.requires_grad]
    captured = options.get("capture") and device == "cuda"
    optimizer = make_optimizer(options, parameters, captured)
    if options.get("compile_layers"):
        # One layer is compiled, and serves all that are like it.
        for layer in model.get_base_model().model.layers:
            layer.compile(fullgraph=True, backend=options.get("backend", "inductor"))
    loss_function = loss_of(model, options)
    if options["compile"]:
        loss_function = torch.compile(
            loss_function, mode=options.get("mode"),
            backend=options.get("backend", "inductor"))
    batches = itertools.cycle(
        [torch.tensor(batch, device=device) for batch in read_batches(options)])

    def train_on(ids):
        loss = loss_function(ids)
        loss.backward()
        optimizer.step()
        return loss

    def step():
        optimizer.zero_grad(set_to_none=True)
        return train_on(next(batches)).item()

    step.without_waiting = lambda: train_on(next(batches))
    return captured_step(train_on, optimizer, batches) if captured else step


def captured_step(train_on, optimizer, batches):
    """Whole steps as one CUDA graph, recorded after three that warm up, as
    PyTorch's manual shows ("Whole-network capture")."""
    ids, side = next(batches).clone(), torch.cuda.Stream()
    graph, loss, count = torch.cuda.CUDAGraph(), None, 0

    def step():
        nonlocal loss, count
        if count:
            ids.copy_(next(batches))
        count += 1
        if count <= 3:
            optimizer.zero_grad(set_to_none=True)
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                value = train_on(ids)
            torch.cuda.current_stream().wait_stream(side)
            return value.item()
        if loss is None:
            # Gradients are made anew, in the graph's own memory.
            optimizer.zero_grad(set_to_none=True)
            with torch.cuda.graph(graph):
                loss = train_on(ids)
        graph.replay()
        return loss.item()

    return step


if __name__ == "__main__":
    options = json.loads(sys.argv[1])
    plugin = options.get("plugin")
    if plugin:
        importlib.import_module(plugin)
    serve(lambda: make_step(options),
          {name: version(name) for name in
           ("torch", "peft", "transformers", *([plugin] if plugin else []))})
