#!/usr/bin/env python3
"""Report a run of lit: where its time went, which tests were skipped and why.

  test_report.py REPORT.xml UNIT_FOLDER COUNTS

Reads what `lit --xunit-xml-output` wrote; UNIT_FOLDER has the GoogleTest
programs. Writes the numbers of tests that passed, failed and were skipped to
COUNTS.
"""

import collections
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree


class Test:
    def __init__(self, case):
        # Suite.folder/..., in which lit writes _ for the dot of `./program`.
        suite, _, path = case.get("classname").partition(".")
        self.folder = [part for part in path.split("/") if part != "_"]
        self.is_unit = suite.endswith("Unit")
        self.name = "/".join(self.folder + [case.get("name")])
        self.case = case.get("name")
        self.seconds = float(case.get("time"))
        self.failed = case.find("failure") is not None
        skip = case.find("skipped")
        self.reason = None if skip is None else skip.get("message")

    def group(self):
        return self.folder[0] if self.is_unit else "/".join(self.folder)

    def why_skipped(self, programs):
        """lit does not keep a GoogleTest's reason, so the test is asked again,
        which takes no time."""
        if not self.is_unit:
            return self.reason
        name = f"--gtest_filter={'/'.join(self.folder[1:])}.{self.case}"
        said = subprocess.run([os.path.join(programs, self.folder[0]), name],
                              stdout=subprocess.PIPE, text=True).stdout
        found = re.search(r": Skipped\n(.*)", said)
        return found[1] if found else "no reason given"


def seconds_by(tests, key):
    """[(group, seconds, tests)], the slowest first."""
    sums, counts = collections.Counter(), collections.Counter()
    for test in tests:
        sums[key(test)] += test.seconds
        counts[key(test)] += 1
    return [(group, time, counts[group]) for group, time in sums.most_common()]


def main():
    report, programs, counts = sys.argv[1:]
    tests = [Test(case)
             for case in ElementTree.parse(report).getroot().iter("testcase")]
    tests = [test for test in tests
             if not (test.reason or "").startswith("Test not selected")]
    print("seconds  tests  where")
    for group, time, count in seconds_by(tests, Test.group)[:20]:
        print(f"{time:7.1f}  {count:5}  {group}")
    print("seconds  slowest")
    for name, time, _ in seconds_by(tests, lambda test: test.name)[:30]:
        print(f"{time:7.1f}  {name}")
    skipped = [test for test in tests if test.reason]
    for test in skipped:
        print(f"skipped  {test.name}: {test.why_skipped(programs)}")
    failed = sum(test.failed for test in tests)
    with open(counts, "w", encoding="utf-8") as file:
        print(len(tests) - failed - len(skipped), failed, len(skipped),
              file=file)


if __name__ == "__main__":
    main()
