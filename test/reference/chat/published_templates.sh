#!/usr/bin/env bash
# published_templates.sh WORK [BUILD]: gets the chat templates of packages of PyPI,
# each by its digest, and compares what Hone and Transformers render of them, and of
# those of $HONE_SHARED and of the tests. WORK is a new folder; BUILD has bin/render-chat.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
work=${1:?usage: published_templates.sh WORK [BUILD]}
build=${2:-$root/build/release}
mkdir "$work"
cat >"$work/packages.txt" <<'TEXT'
trl==1.16.0 --hash=sha256:c4726e139dd40e1a41661511c639c8a68416782b2e3e8c0befebd77bb7ba0396
axolotl==0.19.0 --hash=sha256:f28eb3ad3709975eec4adfe13307dd980c7e7917cc43cb03f2c6f26c007135cc
unsloth==2026.10.9 --hash=sha256:feb40b99bc4f8c543a36cbd0fe6e1410d6e4ac16bd4d0c731f607adce3d63bb0
xinference==4.1.0 --hash=sha256:40dd71d79e85a86f85c0d8b435fe51111fcf2c09227350d4a452229709528f2d
TEXT
cat >"$work/sources.txt" <<'TEXT'
llama_cpp_python==0.3.36 --hash=sha256:832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
TEXT
python3 -m venv "$work/venv"
pip=("$work/venv/bin/pip" --quiet --disable-pip-version-check)
"${pip[@]}" install 'transformers==5.23.*' jinja2==3.1.6 scikit-build-core
get=(download --no-deps --require-hashes -d "$work/packages")
"${pip[@]}" "${get[@]}" --only-binary :all: -r "$work/packages.txt"
"${pip[@]}" "${get[@]}" --no-binary :all: --no-build-isolation -r "$work/sources.txt"
"$work/venv/bin/python" - "$work" <<'PYTHON'
import pathlib, sys, tarfile, zipfile
work = pathlib.Path(sys.argv[1])
for package in sorted((work / "packages").iterdir()):
    if package.suffix == ".whl":
        archive = zipfile.ZipFile(package)
        files = [(n, archive.read(n)) for n in archive.namelist()]
    else:
        archive = tarfile.open(package)
        files = [(m.name, archive.extractfile(m).read()) for m in archive if m.isfile()]
    found = [(n, data) for n, data in files if n.endswith((".jinja", ".jinja2"))]
    for number, (name, data) in enumerate(found):  # no name of an archive is a path here
        target = work / "templates" / package.stem / f"{number:03}-{pathlib.PurePath(name).name}"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    print(f"{package.name}: {len(found)} templates")
PYTHON
folders=("$work/templates" "$root/test/reference/golden/chat/templates")
[ -z "${HONE_SHARED-}" ] || folders+=("$HONE_SHARED/data/chat-templates")
"$work/venv/bin/python" "$here/compare_templates.py" "$build/bin/render-chat" \
  "${folders[@]}" | tee "$work/compared.txt"
