"""run-page.py PAGE FOLDER [FILE...]: runs the commands of a page.

They are the page's ```sh blocks, in their order, by one shell in FOLDER, which is made
anew with links to the FILEs. A command ends with code 0, or with the code that stands
after it as `# exit code N`. What ./dev builds and pip installs is left out."""

import pathlib
import re
import shlex
import shutil
import subprocess
import sys

page, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
for file in map(pathlib.Path, sys.argv[3:]):
    (folder / file.name).symlink_to(file.resolve())
script = ["set -uo pipefail", f"export HONE_CACHE={folder.resolve()}/cache"]
count = 0
for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.M | re.S):
    if "pip install" in block:  # parquet.test runs it, where there is the package
        continue
    for line in filter(None, map(str.strip, block.replace("\\\n", " ").split("\n"))):
        if line.startswith("./dev "):
            continue
        count += 1
        code = re.search(r"# exit code (\d+)", line)
        wanted = code.group(1) if code else "0"
        script.append(f"echo {shlex.quote('$ ' + line)}")
        script.append(f"code=0; {{ {line}\n}} || code=$?")
        script.append(f"[ $code = {wanted} ] || "
                      f'{{ echo "exit code $code, not {wanted}"; exit 1; }}')
done = subprocess.run(["bash", "-c", "\n".join(script)], cwd=folder,
                      stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
print(f"{count} commands of {page.name}:", "FAILED" if done.returncode else "done")
sys.exit(done.returncode or count == 0)
