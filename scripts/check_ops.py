#!/usr/bin/env python3
"""Check that nothing of an op was forgotten (dialects/Hone/ADDING.md).

  check_ops.py LLVM_TBLGEN MLIR_INCLUDES REPOSITORY

The ops are those of dialects/Hone/HoneOps.td, as tablegen has them. For each,
prints what is missing and exits with 1 if anything is. Kernels, costs and
derivatives are not looked for: without them the compiler does not build or link.
"""

import glob
import json
import os
import re
import subprocess
import sys

# The kinds of ops that compute: with derivatives, made by derivations, or of
# entries in which nothing trains.
KINDS = {"Hone_DifferentiableOp", "Hone_DerivedOp", "Hone_UntrainedOp"}
# Passes here ask interfaces, never which op of a model they have; those that
# derivations make they may know.
ASKING = "derive", "methods", "selection", "parts", "plan", "place", "module"
# How the rows of an op may depend on each other where text is generated; noise is
# left out there.
ROWS = {"Hone_RowWise", "Hone_PositionWise", "ContinuationOpInterface",
        "RegularizerOpInterface"}


def records(tblgen, includes, repository):
    text = subprocess.run(
        [tblgen, "-dump-json", "-I", repository, "-I", includes,
         os.path.join(repository, "dialects/Hone/HoneOps.td")],
        check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(text)


def text_of(repository, *patterns):
    paths = [path for pattern in patterns
             for path in glob.glob(os.path.join(repository, pattern),
                              recursive=True)]
    return "\n".join(open(path, encoding="utf-8").read() for path in paths)


def main():
    tblgen, includes, repository = sys.argv[1:]
    all_records = records(tblgen, includes, repository)
    ops = [all_records[name] for name in all_records["!instanceof"]["Op"]]
    invalid = text_of(repository, "test/dialect/*-invalid.mlir",
                      "test/passes/*-invalid.mlir")
    numerics = text_of(repository, "test/numerics/Kernels*Test.cpp")
    costs = text_of(repository, "test/unit/HoneCostsTest.cpp")
    examples = "\n".join(op["description"].partition("Example")[2]
                         for op in ops)
    passes = text_of(repository, *(f"passes/{folder}/**/*.{kind}"
                                   for folder in ASKING
                                   for kind in ("cpp", "h")))
    failures = 0
    for op in ops:
        name = op["opName"]
        traits = set()
        for trait in (all_records[each["def"]] for each in op["traits"]):
            traits |= {trait["!name"], trait.get("cppInterfaceName"),
                       *trait["!superclasses"]}
        missing = []

        def expect(holds, what):
            if not holds:
                missing.append(what)

        word = re.compile(rf"hone\.{name}\b")
        expect(word.search(examples), "an example in its description, or in "
               "that of an op that it belongs to")
        for number in re.findall(r"\(C(\d+)\)", op["description"]):
            expect(re.search(rf'[@"]{name}_c{number}(?!\d)', invalid),
                   f"a case {name}_c{number} that violates (C{number}), in "
                   "test/dialect/*-invalid.mlir")
        if "CostOpInterface" in traits and not op["regions"]["args"]:
            kinds = KINDS & set(op["!superclasses"])
            expect(len(kinds) == 1,
                   "one of the classes " + ", ".join(sorted(KINDS)))
            expect("Hone_DifferentiableOp" not in kinds or traits & ROWS,
                   "to be RowWise or PositionWise, or a rule for rows that "
                   "continue a sequence (ContinuationOpInterface)")
            expect(word.search(numerics), "a comparison with the reference in "
                   "test/numerics/Kernels*Test.cpp")
            expect(word.search(costs),
                   "its operations by hand in test/unit/HoneCostsTest.cpp")
        if (KINDS - {"Hone_DerivedOp"}) & set(op["!superclasses"]):
            kind = op["!name"].partition("_")[2]
            expect(not re.search(rf"\b(isa|(dyn_)?cast)\w*<[^;>]*\b{kind}\b",
                                 passes),
                   f"no isa or cast to {kind} in passes/{{{','.join(ASKING)}}}")
        for what in missing:
            print(f"hone.{name}: expects {what}")
        failures += len(missing)
    print(f"{len(ops)} ops, {failures} things missing")
    return 1 if failures or not ops else 0


if __name__ == "__main__":
    sys.exit(main())
