#!/usr/bin/env python3
"""Counts the single test cases in a log of ctest: GoogleTest, lit, pytest; any other test counts as one case.

    count_tests.py build/Testing/Temporary/LastTest.log

Prints a line for each suite and at last 'N passed, N failed'. Exit status 1 if a case failed or none ran.
"""

import re
import sys


def split(log):
    """(name, output, passed) of each test in the log."""
    for part in re.split(r"^\d+/\d+ Testing: ", log, flags=re.M)[1:]:
        name, _, rest = part.partition("\n")
        head, _, output = rest.partition("\n----------------------------------------------------------\n")
        output, _, end = output.rpartition("\n<end of output>")
        yield name, output, re.search(r"^Test Passed\.$|^Test Pass Reason:", end, flags=re.M) is not None


def number(pattern, text):
    """Sum of the first groups of all matches."""
    return sum(int(n) for n in re.findall(pattern, text, flags=re.M))


def count(output):
    """(passed, failed, skipped) of one suite, or None if its output is of no known kind."""
    if re.search(r"^\[==========\] Running", output, flags=re.M):
        skipped = number(r"^\[  SKIPPED \] (\d+) test", output)
        return number(r"^\[  PASSED  \] (\d+) test", output), number(r"^\[  FAILED  \] (\d+) test", output), skipped
    if re.search(r"^Testing Time: ", output, flags=re.M):
        passed = number(r"^ +(?:Passed|Expectedly Failed) *: *(\d+)", output)
        failed = number(r"^ +(?:Failed|Unexpectedly Passed|Unresolved|Timed Out) *: *(\d+)", output)
        return passed, failed, number(r"^ +(?:Unsupported|Skipped) *: *(\d+)", output)
    last = re.findall(r"^=* ?(\d+ [a-z]+(?:, \d+ [a-z]+)*) in [\d.]+s\b", output, flags=re.M)
    if last:
        return (
            number(r"(\d+) (?:passed|xfailed)", last[-1]),
            number(r"(\d+) (?:failed|errors?\b|xpassed)", last[-1]),
            number(r"(\d+) skipped", last[-1]),
        )
    return None


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
        tests = list(split(file.read()))
    total = [0, 0, 0]
    for name, output, passed in tests:
        counts = count(output) or (int(passed), int(not passed), 0)
        # A suite that died before its summary has failed, whatever it counted.
        if not passed and counts[1] == 0:
            counts = (counts[0], 1, counts[2])
        print(f"{name}: {counts[0]} passed, {counts[1]} failed, {counts[2]} skipped")
        total = [a + b for a, b in zip(total, counts)]
    if total[2]:
        print(f"skipped in all: {total[2]}")
    print(f"{total[0]} passed, {total[1]} failed")
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main())
