#!/usr/bin/env python3
"""manual_page.py TOOL PAGE: a page of man, made from the output of TOOL --help.

A tool with commands has a section for each.
"""

import pathlib
import re
import subprocess
import sys

# Options of all tools, which nobody looks up here.
GENERIC = re.compile(r"^  --(?:help|version) .*\n", re.M)


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def roff(text):
    """`text` as it is: roff's own signs, and a line's first, mean themselves."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def block(text):
    return f".nf\n{roff(text.strip(chr(10)))}\n.fi\n"


def rows(text):
    """(name, text) of each row of two columns; continued lines are indented further."""
    joined = re.sub(r"\n {6,}(?=\S)", "  ", text)
    return [(row[1], re.sub(r" {2,}", " ", row[2]))
            for row in re.finditer(r"^ {2,4}(\S.*?) {2,}(\S.*)$", joined, re.M)]


def options(text):
    """Rows as paragraphs; `=value` below its option."""
    out = []
    for name, does in rows(text):
        entry = f".TP\n.B {roff(name)}\n{roff(does)}\n"
        out.append(f".RS\n{entry}.RE\n" if name.startswith("=") else entry)
    return "".join(out)


def sections(text):
    """The sections of the help: its beginning, as "about", the text after
    "usage:", and so on."""
    parts = re.split(r"^(usage|commands|options): *", text, flags=re.M)
    return dict(zip(["about"] + parts[1::2], [parts[0]] + parts[2::2]))


def main():
    tool, page = map(pathlib.Path, sys.argv[1:])
    version = re.search(r"[0-9]+\.[0-9.]+", run(tool, "--version"))[0]
    said = sections(GENERIC.sub("", run(tool, "--help")))
    name = tool.name
    about = said["about"].strip().rstrip(".")
    out = [f'.TH {name.upper()} 1 "" "Hone {version}" "Hone"\n',
           f".SH NAME\n{roff(name)} \\- {roff(about[0].lower() + about[1:])}\n",
           f".SH SYNOPSIS\n{block(said['usage'])}"]
    if "commands" in said:
        out.append(".SH COMMANDS\n")
        for command, does in rows(said["commands"]):
            own = sections(GENERIC.sub("", run(tool, command, "--help")))
            out.append(f".SS {roff(command)}\n{roff(does[0].upper() + does[1:])}.\n.PP\n"
                       f"{block(own['usage'])}")
            out.append(options(own["options"]))
    else:
        out.append(f".SH OPTIONS\n{options(said['options'])}")
    out.append(".SH EXIT STATUS\n0 after success, else a code of sysexits.h or 128 plus the "
               "number of a signal; each error has a code that\n.B honec \\-\\-explain\nexplains.\n"
               ".SH SEE ALSO\nThe manual: docs/README.md in share/doc/hone of the installation.\n")
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("".join(out))


if __name__ == "__main__":
    sys.exit(main())
