"""first-magnitudes.py ADAPTER MODEL: DoRA's magnitudes are the lengths of MODEL's
outputs, as they are before training. Of GPT-2's matrices an output is a column."""

import array
import json
import math
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "methods"))
from tensors import read


def floats(data):
    return array.array("f", data)


adapter, model = (pathlib.Path(path) for path in sys.argv[1:])
turned = json.loads((model / "config.json").read_text())["model_type"] == "gpt2"
weights = read(model / "model.safetensors", floats)
magnitudes = {
    name.removeprefix("base_model.model.").removesuffix(".lora_magnitude_vector"): values
    for name, values in read(adapter / "adapter_model.safetensors", floats).items()
    if name.endswith("magnitude_vector")}
for module, values in magnitudes.items():
    weight, outputs = weights[module + ".weight"], len(values)
    inputs = len(weight) // outputs
    for output, found in enumerate(values):
        row = weight[output::outputs] if turned else weight[output * inputs:][:inputs]
        expected = math.sqrt(math.fsum(value * value for value in row))
        assert abs(found - expected) < 1e-6 * expected, (module, output, found, expected)
print(f"{len(magnitudes)} modules begin at the model")
