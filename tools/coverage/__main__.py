# tools/coverage/__main__.py -- runs the tests on counting code and writes docs/coverage.md.
"""Usage: python -m tools.coverage [--keep] [--missing ROOM] [--no-write].

The build is `tools/build.sh coverage`. --keep runs no tests and reads what the last run counted;
--missing prints each branch of a room (or file) that no test took. The exit status is 1 where a
test failed, or where tools/coverage/reasons.tsv lacks a branch or names one that is taken.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from tools.coverage import cpp, page, python

if TYPE_CHECKING:
    from tools.coverage.counts import FileCounts


def run_tests() -> int:
    """Run the tests anew; return the status of tools/run_tests.sh."""
    for folder in (cpp.PROFILES, python.DATA):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    # %m: one profile of each library, which processes add to, in one of four files.
    profile = {"LLVM_PROFILE_FILE": str(cpp.PROFILES.resolve() / "%4m.profraw")}
    variables = os.environ | profile | python.environment()
    return subprocess.run(["tools/run_tests.sh", "coverage"], env=variables, check=False).returncode


def print_missing(files: dict[str, FileCounts], wanted: str) -> None:
    for path, counts in sorted(files.items()):
        if path.startswith(wanted):
            for branch in counts.missing():
                print(f"{path}:{branch.line}:{branch.column}\t{branch.text}\t{branch.outcome}")


def report(files: dict[str, FileCounts]) -> bool:
    """Say which reasons are missing and which are not needed; whether there are any."""
    reasons, missed = page.load_reasons(), page.missing(files)
    for path, branch in page.without_reason(missed, reasons):
        print(f"{path}:{branch.line}: no test makes this {branch.outcome}: {branch.text}")
        print("hint: write the test, or a row of tools/coverage/reasons.tsv")
    for why in page.outdated(missed, reasons):
        print(f"tools/coverage/reasons.tsv: no longer missing: {why.path}, {why.text}")
    return bool(page.without_reason(missed, reasons) or page.outdated(missed, reasons))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--missing", metavar="ROOM")
    parser.add_argument("--no-write", action="store_true")
    options = parser.parse_args()
    status = 0 if options.keep else run_tests()
    if not options.keep or not cpp.MERGED.exists():
        cpp.merge()
    in_cpp, in_python = cpp.read(), python.read()
    if options.missing:
        print_missing(in_cpp | in_python, options.missing)
        return status
    if not options.no_write:
        page.PAGE.write_text(page.page(in_cpp, in_python, page.load_reasons()))
    print("\n".join(page.table("C++", in_cpp)[:3] + page.table("Python", in_python)[2:3]))
    return 1 if report(in_cpp) or status else 0


if __name__ == "__main__":
    sys.exit(main())
