"""One exact step of a shape that is larger than memory, on drawn int4 weights.

Compiles the shape within each budget for all resident memory, draws its weights
straight into Hone's file (refused where the disk lacks the room), and takes one step
of a random adapter with each program: the adapters are the same file, and every tensor
of them is finite and moved. Prints what was resident beside what was planned, and the
time of a step. The defaults are Llama-3.1-70B's shape within 1 GiB: 40 GB of weights.
"""

import hashlib
import json
import pathlib
import re
import shutil
import sys

import settings
from build_tools import run_checked, run_main
from workload import find_config

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "test/python"))
from tensor_file import read  # noqa: E402

SPEC = """model: {model}
weights: {{dtype: int4, group_size: 128, streaming: true}}
lora: {{r: {rank}, lora_alpha: {alpha}, target_modules: all-linear, dtype: bfloat16}}
train: {{residuals: planned, optimizer: sgd, optimizer_in_backward: true, batch_size: 1,
        max_seq_length: {tokens}, learning_rate: 100, lr_scheduler_type: constant}}
"""
ADAPTER = pathlib.Path(__file__).resolve().parents[1] / "test/numerics/large-adapter.py"


def parse_arguments():
    parser = settings.parser("--large", __doc__)
    add = parser.add_argument
    add("--config", default="llama-3.1-70b", help="a file, or a name in bench/configs")
    add("--tokens", type=settings.count, default=256)
    add("--threads", type=settings.count, default=2)
    add("--rank", type=settings.count, default=8)
    add("--budgets", default="1GiB,1280MiB", help="separated by commas")
    add("--folder", type=pathlib.Path, help="for the weights; default: in the build folder")
    add("--keep", action="store_true", help="leave weights and programs there")
    add("--set", action="append", default=[], metavar="KEY=VALUE", help="a key of the spec")
    return parser.parse_args()


def check_moved(before, after):
    """Every tensor of the adapter is finite and has moved."""
    old, new = read(before), read(after)
    assert old.keys() == new.keys()
    for name, tensor in new.items():
        assert tensor.dtype == "BF16"
        assert not {0x7F, 0xFF} & set(tensor.data[1::2]), f"{name} is not finite"
        assert tensor.data != old[name].data, f"{name} has a gradient of zero"
    return len(new)


def main():
    arguments = parse_arguments()
    bin_dir = arguments.build.resolve() / "bin"
    folder = (arguments.folder or arguments.build / "bench/large").resolve()
    shutil.rmtree(folder / "runs", ignore_errors=True)
    model = folder / "model"
    model.mkdir(parents=True, exist_ok=True)
    config = json.loads(find_config(arguments.config).read_text())
    (model / "config.json").write_text(json.dumps(config))
    run_checked([sys.executable, str(ADAPTER), str(model / "config.json"),
                 str(folder / "adapter"), str(arguments.rank)])
    spec = folder / "spec.yaml"
    spec.write_text(SPEC.format(model=json.dumps(str(model)), rank=arguments.rank,
                                alpha=2 * arguments.rank, tokens=arguments.tokens))
    ids = [(7919 * i + 13) % config["vocab_size"] for i in range(arguments.tokens)]
    (folder / "data.jsonl").write_text(json.dumps({"input_ids": ids}) + "\n")

    sets = [f"--set={each}" for each in
            [f"target.threads={arguments.threads}", *arguments.set]]
    weights, digests = folder / "weights.hone.safetensors", {}
    for budget in arguments.budgets.split(","):
        program = folder / budget
        run_checked([str(bin_dir / "honec"), str(spec), *sets, "--resident-budget", budget,
                     "--weights-manifest", "-o", str(program)])
        if not weights.exists():
            run_checked([str(bin_dir / "hone-make-model"), "--packed", "--seed", "11",
                         str(program / "weights.manifest.json"), "-o", str(folder)])
        output = folder / "runs" / budget
        log = run_checked([str(program / "train"), "--data", str(folder / "data.jsonl"),
                           "--weights", str(weights), "--adapter", str(folder / "adapter"),
                           "--output", str(output), "--steps", "1", "--show-samples", "0",
                           "--threads", str(arguments.threads)])
        print(f"{budget}:")
        for line in re.findall(r"^(?:peak|resident|step) .*$", log, re.M):
            print(f"  {line}", flush=True)
        adapter = output / "adapter_model.safetensors"
        digests[budget] = hashlib.sha256(adapter.read_bytes()).hexdigest()
    moved = check_moved(folder / "adapter/adapter_model.safetensors", adapter)
    print(f"{weights.stat().st_size / 1e9:.2f} GB of weights; {moved} tensors of the adapter "
          f"are finite and moved; digests {sorted(set(digests.values()))}")
    if not arguments.keep:
        shutil.rmtree(folder)
    if len(set(digests.values())) > 1:
        sys.exit("budgets leave different adapters")


if __name__ == "__main__":
    run_main(main)
