"""documentation.py ROOT: checks the links, index and commands of all pages."""

import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1]).resolve()
skipped = ("build", "build-", ".git", "shared")
pages = [p for p in root.rglob("*.md")
         if not p.relative_to(root).parts[0].startswith(skipped)]
CODE = re.compile(r"^```.*?^```|^(?:    .*\n)+|`[^`\n]*`", re.M | re.S)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FILTER = re.compile(r"\./dev check (?:'([^']+)'|([\w-]+))")
wrong = []
links = filters = 0


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    for heading in re.findall(r"^#+ (.*)$", page.read_text(), re.M):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        yield re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


tests = [str(p.relative_to(root)) for p in (root / "test").rglob("*") if p.is_file()]
unit = re.findall(r"TEST(?:_F|_P)?\((\w+), (\w+)\)",
                  "\n".join(p.read_text() for p in (root / "test").rglob("*Test.cpp")))
tests += [f"{suite}.{name}" for suite, name in unit]
tests += re.findall(r"hone_unit_test\((\S+)", "\n".join(
    p.read_text() for p in (root / "test").rglob("CMakeLists.txt")))

for page in pages:
    text = page.read_text()
    for target in LINK.findall(CODE.sub("", text)):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        links += 1
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            wrong.append(f"{page}: no file {target}")
        elif anchor and anchor not in anchors(file):
            wrong.append(f"{page}: no heading {target}")
    for quoted, bare in FILTER.findall(text):
        for part in (quoted or bare).replace("\\|", "|").split("|"):
            filters += 1
            if not any(map(re.compile(part.replace("(", "").replace(")", "")).search,
                           tests)):
                wrong.append(f"{page}: no test matches {part}")

# A commit that a page follows is there, with the subject that the page gives. Sources
# without their history, or with a part of it, are not asked.
COMMIT = re.compile(r'^`([0-9a-f]{7})`,? "?(.+?)(?:",|"|$)|'
                    r'`([0-9a-f]{7})`,\s+"([^"]+?),?"', re.M)
commits = 0
shallow = subprocess.run(
    ["git", "-C", root, "rev-parse", "--is-shallow-repository"],
    capture_output=True, text=True).stdout.strip()
if (root / ".git").exists() and shallow == "false":
    for page in (root / "docs/contributing").glob("*.md"):
        for a, b, c, d in COMMIT.findall(page.read_text()):
            commits += 1
            subject = subprocess.run(
                ["git", "-C", root, "log", "-1", "--format=%s", a or c],
                capture_output=True, text=True).stdout.strip()
            if subject != " ".join((b or d).split()):
                wrong.append(f"{page}: commit {a or c} is '{subject}'")

# The page for contributors names each feature that a test may require.
features = set()
for page in (root / "test").rglob("*"):
    if page.suffix in (".test", ".mlir"):
        for names in re.findall(r"^\W*REQUIRES: (.*)$", page.read_text(), re.M):
            features.update(re.findall(r"[\w-]{3,}", names.replace("target=", "")))
named = (root / "docs/contributing/README.md").read_text()
wrong += [f"docs/contributing/README.md does not name {feature}"
          for feature in sorted(features) if f"`{feature}`" not in named]

# The commands of a page are run by a test, or by the script of an example, which has
# their words; or it is said why not.
NOT_RUN = {
    "docs/devices.md": "for other machines and in other programs: targets/ and library/ run the same",
    "docs/install.md": "packages and clean systems: packaging/try.sh runs the same",
    "README.md": "a real model's shape; the tests of honec and examples/ run the same",
    "test/reference/README.md": "PyTorch and Transformers make what the tests compare with",
}
run = "\n".join(p.read_text() for p in (root / "test").rglob("*.test"))
commands = 0
for page in pages:
    name = str(page.relative_to(root))
    blocks = re.findall(r"^```(?:sh|console)\n(.*?)^```", page.read_text(), re.M | re.S)
    if not blocks or name in NOT_RUN:
        continue
    lines = [line for block in blocks for line in block.replace("\\\n", " ").split("\n")
             if line.strip() and not line.startswith("#")]
    if any(line.startswith("$ ") for line in lines):  # others are output
        lines = [line for line in lines if line.startswith("$ ")]
    commands += len(lines)
    if f"run-page.py %S/../../{name} " in run or f"run-page.py %examples/{name[9:]} " in run:
        continue
    script = page.parent / "run.sh"
    words = script.read_text() if script.exists() else ""
    for line in lines:
        for word in line.partition("  #")[0].split():
            if word not in ("...", "'Friday,", "3", "November.", "'") and \
                    not word.isdigit() and word.removeprefix("./") not in words:
                wrong.append(f"{page}: no test runs '{line}' with {word}")

index = (root / "docs/README.md").read_text()
for page in (root / "docs").rglob("*.md"):
    name = str(page.relative_to(root / "docs"))
    folder = f"{page.parent.name}/"
    if name != "README.md" and f"({name})" not in index and \
            f"({page.name})" not in (page.parent / "README.md").read_text():
        wrong.append(f"docs/README.md does not name {name}")
readme = len((root / "README.md").read_text().splitlines())
if readme > 140:
    wrong.append(f"README.md has {readme} lines, of at most 140")

print("\n".join(wrong))
print(f"{links} links, {len(pages)} pages, {filters} filters, {commits} commits, "
      f"{commands} commands, {len(features)} features: {len(wrong)} wrong")
