# tests/fuzz/recorded/record.py -- runs the peer fuzzers beside PyTorch, and records what it
# answers.
#
# Needs a Python that has both: an environment of its own with PyTorch and NumPy, and the build's
# package on PYTHONPATH.
#
#     python -m tests.fuzz.recorded.record index --beside 100000
#
# compares fresh cases and prints every difference; without --beside it writes recorded_index.json,
# which test_recorded.py holds ebb to without PyTorch.
"""Compares ebb with PyTorch on random cases; records PyTorch's answers."""

from __future__ import annotations

import argparse
import json
import pathlib
import random
import warnings
from types import ModuleType
from typing import Any

import ebb  # before PyTorch, which takes the room that the loader has for threads' own data
from tests.fuzz import drawing, seeds
from tests.fuzz.recorded import index_expressions, schedules

FUZZERS: dict[str, ModuleType] = {"index": index_expressions, "schedules": schedules}
COUNTS = {"index": 600, "schedules": 250}


def path_of(name: str) -> pathlib.Path:
    """Where the recorded answers of a fuzzer are."""
    return pathlib.Path(__file__).with_name(f"recorded_{name}.json")


def recorded_case(name: str, number: int) -> dict[str, Any]:
    """The case that the recorded answer number `number` belongs to."""
    return FUZZERS[name].draw(seeds.fixed(name, number))


def record(name: str, lib: Any) -> None:
    """Write PyTorch's answers to the cases of the fixed seed."""
    run = FUZZERS[name].run
    answers = [run(lib, recorded_case(name, number)) for number in range(COUNTS[name])]
    lines = ",\n".join(json.dumps(answer, separators=(",", ":")) for answer in answers)
    head = json.dumps({"peer": f"PyTorch {lib.__version__}"})[:-1]
    path_of(name).write_text(f'{head}, "answers": [\n{lines}\n]}}\n')
    print(f"{path_of(name)}: {len(answers)} answers, {path_of(name).stat().st_size} bytes")


def compare(name: str, ours: Any, theirs: Any, count: int, seed: int, shown: int) -> int:
    """Run `count` fresh cases with both; return how many differ without being named.

    Those that are shown are the smallest that hypothesis finds to differ.
    """
    fuzzer = FUZZERS[name]
    differences = named = refused = 0

    def answers(blob: bytes) -> tuple[Any, Any, Any]:
        case = fuzzer.draw(drawing.Draws(blob))
        return case, fuzzer.run(ours, case), fuzzer.run(theirs, case)

    def agree(blob: bytes) -> None:
        case, got, wanted = answers(blob)
        assert fuzzer.agree(got, wanted) or fuzzer.is_named_difference(got, wanted, case)

    for number in range(count):
        blob = drawing.blob_of(seeds.generator(seed, name, number))
        case, got, wanted = answers(blob)
        refused += wanted[0] == "refused"
        if fuzzer.agree(got, wanted):
            continue
        if fuzzer.is_named_difference(got, wanted, case):
            named += 1
            continue
        differences += 1
        if differences <= shown:
            case, got, wanted = answers(drawing.shrink(agree, blob))
            print(f"case {number}: {case}\n  ebb     {got}\n  PyTorch {wanted}")
    print(f"{name}: {count} cases of seed {seed}, {refused} refused by PyTorch, "
          f"{differences} differences, {named} named in docs/functions.md")  # fmt: skip
    return differences


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fuzzer", choices=FUZZERS)
    parser.add_argument("--beside", type=int, help="compare this many fresh cases")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    parser.add_argument("--shown", type=int, default=10)
    options = parser.parse_args()
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if options.beside is None:
        return record(options.fuzzer, torch)
    count = compare(options.fuzzer, ebb, torch, options.beside, options.seed, options.shown)
    raise SystemExit(count > 0)


if __name__ == "__main__":
    main()
