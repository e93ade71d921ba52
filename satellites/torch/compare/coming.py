# satellites/torch/compare/coming.py -- writes docs/coming_from_pytorch.md: the same, different,
# absent.
#
# The head is written by hand (coming_head.md), and so is what to use instead of what is absent
# (instead.tsv); all else is the comparison that docs/torch_differences.md shows name by name, here
# by reason. `python -m satellites.torch.compare` writes both pages.
"""The page for those who come from PyTorch. Start reading at page()."""

from __future__ import annotations

import fnmatch
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[2] / "docs" / "coming_from_pytorch.md"
SHOWN = 12  # names of one reason


class ComparedName(Protocol):
    """What this page reads of a name of PyTorch's."""

    namespace: str
    name: str
    state: str
    lacks: list[str]

    @property
    def path(self) -> str:
        """torch.nn.Linear."""


def instead_rows() -> list[tuple[str, str]]:
    """Return patterns of absent names, and what to write instead."""
    lines = (FOLDER / "instead.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [(pattern, text) for pattern, text in rows]


def short(path: str) -> str:
    """Return a path as programs write it: nn.functional.pad for torch.nn.functional.pad."""
    return path.removeprefix("torch.")


def listed(paths: list[str]) -> str:
    """Return names, and how many more there are."""
    shown = ", ".join(f"`{short(path)}`" for path in paths[:SHOWN])
    more = len(paths) - SHOWN
    return shown + (f" and {more} more" if more > 0 else "")


def item(head: str, paths: list[str]) -> list[str]:
    """Return one item of a list, wrapped."""
    text = f"- {head}: {listed(paths)}."
    return textwrap.wrap(
        text, 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def same(names: list[ComparedName]) -> list[str]:
    """Return how much of each namespace is the same."""
    lines = ["## The same", ""]
    whole, parts = [], []
    for space in dict.fromkeys(one.namespace for one in names):
        own = [one for one in names if one.namespace == space]
        agree = sum(one.state == "agrees" for one in own)
        (whole if agree == len(own) else parts).append((space, agree, len(own)))
    text = ", ".join(f"`{space}` ({count})" for space, _, count in whole)
    lines += textwrap.wrap(
        f"All names, with all arguments: {text}. Of the others, those whose every call may be "
        "written for ebb unchanged:",
        100,
    )
    lines += ["", "| namespace | the same | of |", "| --- | ---: | ---: |"]
    lines += [f"| `{space}` | {agree} | {count} |" for space, agree, count in parts]
    return lines


def different(names: list[ComparedName], reason_of: Callable[[str], str]) -> list[str]:
    """Return the names whose arguments differ, by reason; the reasons of most names first."""
    groups: dict[str, list[str]] = {}
    for one in names:
        for lack in one.lacks if one.state == "differs" else []:
            reason = reason_of(f"{one.path}: {lack}")
            groups.setdefault(reason or f"ebb's: {lack}", []).append(one.path)
    lines = ["## Different, and why", ""]
    lines.append("Name by name in [torch_differences.md](torch_differences.md).")
    lines.append("")
    for reason, paths in sorted(groups.items(), key=lambda group: (-len(set(group[1])), group[0])):
        lines += item(reason, list(dict.fromkeys(paths)))
    return lines


def absent(names: list[ComparedName], reason_of: Callable[[str], str]) -> list[str]:
    """Return the names that are absent: what to write instead, else why."""
    rows = instead_rows()
    groups: dict[str, list[str]] = {}
    for one in (one for one in names if one.state == "absent"):
        instead = next((text for key, text in rows if fnmatch.fnmatchcase(one.path, key)), "")
        groups.setdefault(instead or reason_of(one.path) or "no counterpart", []).append(one.path)
    last = groups.pop("no counterpart", [])
    lines = ["## Absent, and what instead", ""]
    for text, paths in groups.items():
        lines += item(text, paths)
    return lines + (item("no counterpart", last) if last else [])


def page(names: list[ComparedName], reason_of: Callable[[str], str]) -> str:
    """Return the page for judged names and the reasons of their differences."""
    head = (FOLDER / "coming_head.md").read_text(encoding="utf-8").rstrip().splitlines()
    parts = (same(names), different(names, reason_of), absent(names, reason_of))
    return "\n".join([*head, *(line for part in parts for line in ["", *part])]) + "\n"
