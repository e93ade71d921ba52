# satellites/torch/ebb/torch_compat/__main__.py -- runs a script whose `import torch` is ebb, or
# reports.
"""``python -m ebb.torch_compat [--report PATH | -m MODULE | SCRIPT] [ARGUMENTS...]``."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections import Counter

from ebb.torch_compat import report
from ebb.torch_compat.refusal import way_out
from ebb.torch_compat.running import run_script


def main() -> int:
    """Run what the command line says; return the status of a report."""
    parser = argparse.ArgumentParser(
        prog="python -m ebb.torch_compat",
        description="Run a program written for PyTorch on ebb, or list what ebb lacks of it.",
    )
    parser.add_argument("--report", metavar="PATH", help="list missing names; run nothing")
    parser.add_argument(
        "-m", metavar="MODULE", dest="module", nargs=argparse.REMAINDER,
        help="run a module with the arguments behind it, as python -m does",
    )  # fmt: skip
    parser.add_argument("script", nargs="?", help="the script to run")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="of the script")
    given = parser.parse_args()
    if given.report is not None:
        return _print_report(given.report)
    if given.module:
        sys.argv = given.module
        sys.path.insert(0, os.getcwd())
        runpy.run_module(given.module[0], run_name="__main__", alter_sys=True)
        return 0
    if given.script is None:
        parser.error("needs a script, -m MODULE or --report PATH")
    if not os.path.isfile(given.script):
        parser.error(f"there is no file {given.script!r}")
    run_script(given.script, given.arguments)
    return 0


def _print_report(path: str) -> int:
    found = report(path)
    for name, count in Counter(one.name for one in found).most_common():
        places = [f"{one.file}:{one.line}" for one in found if one.name == name]
        print(f"{name}  {count}x  {', '.join(places)}")
        if way := way_out(name):
            print(f"    {way}")
    print(f"{len({one.name for one in found})} names of PyTorch are missing")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
