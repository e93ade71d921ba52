# tools/coverage/page.py -- the page docs/coverage.md: a table by room, and what no test takes.
"""In the rooms of ``WHOLE`` each missing branch is listed; ``reasons.tsv`` says why it may miss."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tools.coverage.counts import (
    GENERATED,
    Branch,
    FileCounts,
    Sums,
    by_room,
    room_of,
    total,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGE = Path("docs/coverage.md")
REASONS = Path("tools/coverage/reasons.tsv")
WHOLE = ("ebb/autograd/engine", "ebb/autograd/history", "ebb/core/tensor")
HEAD = """# Coverage: which lines and branches the tests run

Written by `make coverage`, which builds ebb with Clang's counters and runs the tests of `make test`
but those of the packages and of the tools. A simulated device and OpenCL on the CPU stand for
devices: what talks to a GPU alone counts as not run.

A branch is one outcome of one condition, so `a && b` has four. A condition of a header or a
template is counted once, however many objects compile it; one in a macro where the macro is
written; what `assert` checks, third parties' headers and edges of exceptions are not counted. What
the generator writes has rows of its own, below the others. Of Python, coverage.py counts the ways
on from each line. Processes that are killed, crash on purpose or leave by `_exit` are not heard.
"""


@dataclass(frozen=True)
class Reason:
    """Why no test takes a branch."""

    path: str
    text: str
    outcome: str
    why: str

    def fits(self, path: str, branch: Branch) -> bool:
        """Whether this is the branch."""
        return (path, branch.text, branch.outcome) == (self.path, self.text, self.outcome)


def load_reasons(path: Path = REASONS) -> list[Reason]:
    """The rows of the file, below its head."""
    with path.open() as file:
        return [Reason(*row) for row in list(csv.reader(file, delimiter="\t"))[1:]]


def is_whole(path: str) -> bool:
    """Whether every branch of a file must be taken or have a reason."""
    room = room_of(path)
    return any(room == one or room.startswith(one + "/") for one in WHOLE)


def missing(files: dict[str, FileCounts]) -> list[tuple[str, Branch]]:
    """The branches of the rooms of ``WHOLE`` that no test takes."""
    return [
        (path, branch)
        for path, counts in sorted(files.items())
        if is_whole(path)
        for branch in counts.missing()
    ]


def without_reason(
    missed: list[tuple[str, Branch]], reasons: list[Reason]
) -> list[tuple[str, Branch]]:
    """What a test has still to be written for, or a reason."""
    return [(path, one) for path, one in missed if not any(why.fits(path, one) for why in reasons)]


def outdated(missed: list[tuple[str, Branch]], reasons: list[Reason]) -> list[Reason]:
    """The reasons whose branch a test takes by now, or is gone."""
    return [why for why in reasons if not any(why.fits(path, one) for path, one in missed)]


def percent(part: int, whole: int) -> str:
    # Cut, not rounded: 100 means all.
    return f"{part * 1000 // whole / 10:g} %" if whole else "-"


def row(name: str, sums: Sums) -> str:
    lines, branches = percent(sums.lines_run, sums.lines), percent(sums.taken, sums.branches)
    return f"| {name} | {sums.lines} | {lines} | {sums.branches} | {branches} |"


def by_hand(files: dict[str, FileCounts]) -> dict[str, FileCounts]:
    """What the generator does not write."""
    return {name: counts for name, counts in files.items() if not name.startswith(GENERATED)}


def table(title: str, files: dict[str, FileCounts]) -> list[str]:
    """A row for each room, and all in one."""
    return [
        f"| {title} | lines | run | branches | taken |",
        "| --- | --- | --- | --- | --- |",
        row("**all**", total(files)),
        row("**written by hand**", total(by_hand(files))),
        *(row(f"`{name}`", sums) for name, sums in by_room(files).items()),
        "",
    ]


def listed(missed: Iterable[tuple[str, Branch]], reasons: list[Reason]) -> list[str]:
    """The missing branches of the rooms that shall have none."""
    rows = ["| where | condition | never | why |", "| --- | --- | --- | --- |"]
    for path, branch in missed:
        why = next((one.why for one in reasons if one.fits(path, branch)), "**no reason yet**")
        text = branch.text.replace("|", "\\|")
        rows.append(f"| `{path}:{branch.line}` | `{text}` | {branch.outcome} | {why} |")
    return rows


def page(cpp: dict[str, FileCounts], python: dict[str, FileCounts], reasons: list[Reason]) -> str:
    """The whole page."""
    missed = missing(cpp)
    rooms = ", ".join(f"`{one}`" for one in WHOLE)
    lines = [HEAD, *table("C++", cpp), *table("Python", python)]
    lines += [f"## What no test takes in {rooms}", "", *listed(missed, reasons)]
    return "\n".join(lines) + "\n"
