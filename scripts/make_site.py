#!/usr/bin/env python3
"""make_site.py BUILD FOLDER [--pages-only]: the manual as a site, in FOLDER/site.

Its pages are all pages of the repository, in the order of the tables of
docs/README.md, and what `mlir-doc` made of the dialects and passes in BUILD/docs.
A page may link to a source, which comes along as a text. A link that leads nowhere is
an error. Needs MkDocs (from PyPI), which `--pages-only` does without: it stops when
FOLDER/pages are what MkDocs reads, and prints their order.
"""

import argparse
import logging
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
FENCE = re.compile(r"^\s*```")
# Tables and names are broken where the window is narrow.
NARROW = """.wy-table-responsive table td, .wy-table-responsive table th { white-space: normal !important; }
h1, h2, h3, h4, td, code { overflow-wrap: anywhere; }
"""
ITEM = re.compile(r"^(\s*)([*+-]|\d+\.) ")


def as_markdown_has_it(text):
    """GitHub begins a list after any line and nests it by two spaces; Markdown wants
    an empty line before it, and four."""
    out, in_code, in_list, outermost, before = [], False, False, 0, ""
    for line in text.split("\n"):
        if FENCE.match(line):
            in_code = not in_code
        item = None if in_code else ITEM.match(line)
        if item:
            if not in_list:
                outermost = len(item[1])  # where the list's own items begin
                if before.strip():
                    out.append("")
            in_list = True
        elif not in_code and line and not line[0].isspace() and not before.strip():
            in_list = False
        depth = len(line) - len(line.lstrip(" "))
        if in_list and not in_code and not outermost and 2 <= depth < 4:
            line = "    " + line.lstrip(" ")
        out.append(line)
        before = line
    return "\n".join(out)


def stage(page, pages):
    """Copies a page, with its links changed to the site's."""
    text = (ROOT / page).read_text()

    def moved(match):
        target, anchor = match["target"], match["anchor"] or ""

        def link(to):
            return f"[{match['text']}]({to}{anchor})"

        if re.match(r"\w+:", target):
            return match[0]
        file = (ROOT / page).parent / target
        if file.is_dir():
            if (file / "README.md").exists():
                return link(target.rstrip("/") + "/README.md")
            return match["text"]  # a folder has no page
        if file.suffix in (".md", ".svg", ".html") or not file.exists():
            if file.suffix == ".svg":
                copy(file, file.resolve().relative_to(ROOT))
            return match[0]
        copy(file, pathlib.Path(f"{file.resolve().relative_to(ROOT)}.txt"))
        return link(target + ".txt")

    def copy(file, name):
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, pages / name)

    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    text = "".join(part if i % 2 else LINK.sub(moved, part) for i, part in enumerate(parts))
    (pages / page).parent.mkdir(parents=True, exist_ok=True)
    (pages / page).write_text(as_markdown_has_it(text))


def title(text):
    """Of the first heading, as a person reads it."""
    heading = re.search(r"^# (.*)$", text, re.M)
    return re.sub(r"[`*]", "", heading[1]) if heading else "?"


def order(pages):
    """The navigation: sections of docs/README.md, then the pages made from .td
    files."""
    seen, sections = {"docs/README.md", "README.md"}, []
    for line in (ROOT / "docs/README.md").read_text().split("\n"):
        name = re.match(r"\| \*\*(.+?)\*\* \|", line)
        if name:
            sections.append((name[1], []))
        elif line.startswith("Pages elsewhere"):
            sections.append(("How it is made", []))
        elif line.startswith("|") and sections:
            for _, target, _ in LINK.findall(line):
                path = ((ROOT / "docs" / target).resolve()).relative_to(ROOT)
                if path.suffix == ".md" and str(path) not in seen:
                    seen.add(str(path))
                    sections[-1][1].append(str(path))
                if path.name == "README.md" and path.parent.parent.name == "docs":
                    for beside in sorted((ROOT / path).parent.glob("*.md")):
                        each = str(beside.relative_to(ROOT))
                        if each not in seen:
                            seen.add(each)
                            sections[-1][1].append(each)
    made = sorted(str(p.relative_to(pages)) for p in (pages / "reference").rglob("*.md"))
    sections.append(("Dialects and passes", made))
    rest = sorted(str(p.relative_to(pages)) for p in pages.rglob("*.md"))
    sections.append(("Beside the sources", [p for p in rest if p not in seen and p not in made]))
    nav = [{"Hone": "README.md"}, {"The manual": "docs/README.md"}]
    for name, files in sections:
        nav.append({name: [{title((pages / file).read_text()): file} for file in files]})
    return nav


def slug(text, separator):
    """A heading's anchor, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", separator)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--pages-only", action="store_true")
    arguments = parser.parse_args()
    pages = arguments.folder.resolve() / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    if (ROOT / ".git").exists():
        names = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others",
                                "--exclude-standard", "*.md"], check=True,
                               capture_output=True, text=True).stdout.splitlines()
        names = [name for name in names if (ROOT / name).exists()]
    else:
        names = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*.md")
                 if not p.relative_to(ROOT).parts[0].startswith("build")]
    for page in names:
        stage(page, pages)
    for file in (arguments.build / "docs" / "reference").glob("*.md"):
        text = file.read_text().replace("{{% markdown %}}", "\n").replace("{{% /markdown %}}", "\n")
        if not re.search("^# ", text, re.M):
            text = f"# Passes of {file.stem.removesuffix('-passes')}\n\n" + text
        text = text.replace("[TOC]", "")
        target = pages / "reference" / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(as_markdown_has_it(text))
    nav = order(pages)
    if arguments.pages_only:
        for entry in nav:
            for name, files in entry.items():
                print(name if isinstance(files, list) else f"{name}: {files}")
                for file in files if isinstance(files, list) else []:
                    print("  " + ": ".join(*file.items()))
        return
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config
    (pages / "narrow.css").write_text(NARROW)
    config = arguments.folder / "mkdocs.yml"  # which MkDocs wants to have
    config.write_text("site_name: Hone\n")
    build(load_config(
        config_file=str(config), docs_dir=str(pages), nav=nav, strict=True,
        site_dir=str(arguments.folder.resolve() / "site"), use_directory_urls=False,
        # All that a page loads comes with it.
        theme={"name": "readthedocs", "highlightjs": False, "navigation_depth": 3},
        extra_css=["narrow.css"],
        markdown_extensions=["tables", "fenced_code", "md_in_html", {"toc": {"slugify": slug}}],
        validation={"nav": {"omitted_files": "warn"},
                    "links": {"not_found": "warn", "anchors": "warn",
                              "unrecognized_links": "warn"}}))


if __name__ == "__main__":
    sys.exit(main())
