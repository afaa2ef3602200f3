# untested-codes.py CATALOGUE TESTS
#
# Prints each code of the catalogue that no test expects. A test expects a code
# where it has it as text (a message of a program), or by its name in a unit
# test (a Status); what a test asks --explain for, or gives Status::error, it
# does not expect.
import pathlib
import re
import sys

catalogue, tests = map(pathlib.Path, sys.argv[1:])
parts = re.findall(r'^#include "base/(.+)"', catalogue.read_text(), re.MULTILINE)
names = dict(re.findall(r"^HONE_ERROR\((H\d{4}), (\w+),",
                        "".join((catalogue.parent / part).read_text()
                                for part in parts), re.MULTILINE))
if not names:
    sys.exit(f"{catalogue}: expected codes in the files that it includes but "
             "found none")
expected = set()
for path in tests.rglob("*"):
    if path.suffix in (".cpp", ".h", ".sh", ".test"):
        text = path.read_text()
        given = re.compile(r"--explain \w+|Status::error\(\s*(rt::)?ErrorCode::\w+")
        text = given.sub("", text)
        expected.update(re.findall(r"\bH\d{4}\b|\bErrorCode::(?:\w+)", text))

missing = [f"{code} {name}" for code, name in names.items()
           if code not in expected and f"ErrorCode::{name}" not in expected]
for line in missing:
    print(f"no test expects {line}")
print(f"{len(names) - len(missing)} of {len(names)} codes have a test")
sys.exit(bool(missing))
