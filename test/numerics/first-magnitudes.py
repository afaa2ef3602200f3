"""first-magnitudes.py ADAPTER MODEL: DoRA's magnitudes are the lengths of MODEL's
outputs, as they are before training. Of GPT-2's matrices an output is a column."""

import json
import math
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from tensor_file import read_numbers  # noqa: E402

adapter, model = (pathlib.Path(path) for path in sys.argv[1:])
turned = json.loads((model / "config.json").read_text())["model_type"] == "gpt2"
weights = read_numbers(model / "model.safetensors")
magnitudes = {
    name.removeprefix("base_model.model.").removesuffix(".lora_magnitude_vector"): values
    for name, values in read_numbers(adapter / "adapter_model.safetensors").items()
    if name.endswith("magnitude_vector")}
for module, values in magnitudes.items():
    weight, outputs = weights[module + ".weight"], len(values)
    inputs = len(weight) // outputs
    for output, found in enumerate(values):
        row = weight[output::outputs] if turned else weight[output * inputs:][:inputs]
        expected = math.sqrt(math.fsum(value * value for value in row))
        assert abs(found - expected) < 1e-6 * expected, (module, output, found, expected)
print(f"{len(magnitudes)} modules begin at the model")
