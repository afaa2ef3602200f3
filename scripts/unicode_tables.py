#!/usr/bin/env python3
"""Writes the Unicode tables of the tokenizer, runtime/src/text/Unicode*.inc.

They follow two Unicode versions on purpose, because the Hugging Face
`tokenizers` library does: its regular expressions know Unicode 16 (Oniguruma
6.9.10), its NFC knows Unicode 9 (unicode-normalization-alignments). A model
was trained on what that library produced, so we produce the same.

  python scripts/unicode_tables.py classes        > runtime/src/text/UnicodeClasses.inc
  python scripts/unicode_tables.py decompositions > runtime/src/text/UnicodeDecompositions.inc
  python scripts/unicode_tables.py compositions   > runtime/src/text/UnicodeCompositions.inc

The data is Python's: `classes` needs Unicode 16 (Python 3.14, or the PyPI
package unicodedata2==16.0.0), the other two Unicode 9 (Python 3.6).
"""
import sys

try:
    import unicodedata2 as unicodedata
except ImportError:
    import unicodedata

SURROGATES = range(0xD800, 0xE000)
POINTS = [c for c in range(0x110000) if c not in SURROGATES]
HANGUL = range(0xAC00, 0xAC00 + 11172)
# Jamo vowels and trailing consonants compose with what precedes them.
JAMO = list(range(0x1161, 0x1176)) + list(range(0x11A8, 0x11C3))


def ranges(keyed):
    """[(code point, value)] ascending -> [first, last, value] runs."""
    runs = []
    for point, value in keyed:
        if runs and runs[-1][1] == point - 1 and runs[-1][2] == value:
            runs[-1][1] = point
        else:
            runs.append([point, point, value])
    return runs


def emit(name, kind, rows):
    print("static const %s %s[] = {" % (kind, name))
    line = "   "
    for row in rows:
        item = " {" + ",".join("0x%X" % x for x in row) + "},"
        if len(line) + len(item) > 80:
            print(line)
            line = "   "
        line += item
    print(line)
    print("};\n")


def header(name, what):
    print("//===- %s - generated, do not edit " % name + "-" * (43 - len(name)) + "===//")
    print("//\n// %s\n// Written by scripts/unicode_tables.py from Unicode %s.\n//" % (what, unicodedata.unidata_version))
    print("//===" + "-" * 70 + "===//\n\n// clang-format off")


def classes():
    header("UnicodeClasses.inc", "Ranges {first, last} of the general categories L and N.")
    for name, category in (("letterRanges", "L"), ("numberRanges", "N")):
        points = [(c, 0) for c in POINTS if unicodedata.category(chr(c))[0] == category]
        emit(name, "CodeRange", [run[:2] for run in ranges(points)])


def decomposed(point):
    """The full canonical decomposition, or None; Hangul is arithmetic."""
    if point in HANGUL:
        return None
    nfd = [ord(x) for x in unicodedata.normalize("NFD", chr(point))]
    return None if nfd == [point] else nfd


def decompositions():
    header("UnicodeDecompositions.inc", "Full canonical decompositions, without Hangul.")
    rows = [[c] + decomposed(c) for c in POINTS if decomposed(c)]
    emit("singletons", "Singleton", [row for row in rows if len(row) == 2])
    emit("decompositions", "Decomposition", [row for row in rows if len(row) > 2])


def compositions():
    header("UnicodeCompositions.inc", "Combining classes, canonical compositions and what is not stable in NFC.")
    emit("combiningClasses", "ClassedRange",
         ranges([(c, unicodedata.combining(chr(c))) for c in POINTS if unicodedata.combining(chr(c))]))
    composites = [c for c in POINTS if decomposed(c) and unicodedata.normalize("NFC", chr(c)) == chr(c)]
    pairs = [[int(x, 16) for x in unicodedata.decomposition(chr(c)).split()] + [c] for c in composites]
    emit("compositionPairs", "Composition", sorted(pairs))
    unstable = set(pair[1] for pair in pairs) | set(JAMO)
    unstable |= set(c for c in POINTS if unicodedata.normalize("NFC", chr(c)) != chr(c))
    emit("unstableRanges", "CodeRange", [run[:2] for run in ranges([(c, 0) for c in sorted(unstable)])])


def main():
    tables = {"classes": (classes, "16.0.0"), "decompositions": (decompositions, "9.0.0"),
              "compositions": (compositions, "9.0.0")}
    if len(sys.argv) != 2 or sys.argv[1] not in tables:
        sys.exit(__doc__)
    write, version = tables[sys.argv[1]]
    if unicodedata.unidata_version != version:
        sys.exit("unicode_tables.py: expects Unicode %s but this Python has %s; see the top of this file"
                 % (version, unicodedata.unidata_version))
    write()


if __name__ == "__main__":
    main()
