"""documented-specs.py MODEL FOLDER PAGE...: plans every spec of the pages with MODEL.

A spec is a block of yaml, fenced or indented by four spaces, that begins with a
section of specs; where it has no lora, all linear modules have adapters.
"""

import pathlib
import re
import subprocess
import sys
import textwrap

SECTION = r"(?:model|weights|lora|train|parts|generate|target):"
FENCED = re.compile(rf"^```yaml\n((?:#.*\n)?{SECTION}.*?)^```$", re.M | re.S)
INDENTED = re.compile(rf"(?<=\n\n)(    {SECTION}.*\n(?:    .*\n)*)")

model, folder, *pages = sys.argv[1:]
spec = pathlib.Path(folder) / "spec.yaml"
planned = failed = 0
for page in pages:
    text = pathlib.Path(page).read_text()
    for match in sorted([*FENCED.finditer(text), *INDENTED.finditer(text)],
                        key=lambda match: match.start()):
        example = textwrap.dedent(match[1])
        if not re.search("^lora:", example, re.M):
            example += "lora: {target_modules: all-linear}\n"
        spec.write_text(example)
        done = subprocess.run(["honec", spec, "--set", f"model={model}", "--print-plan"],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        planned += 1
        if done.returncode:
            failed += 1
            line = text.count("\n", 0, match.start(1)) + 1
            print(f"{page}:{line}: {done.stdout}")
print(f"{planned} specs, {failed} refused")
sys.exit(bool(failed))
