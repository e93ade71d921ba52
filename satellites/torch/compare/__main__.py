# satellites/torch/compare/__main__.py -- writes docs/torch_differences.md, without PyTorch, and the
# page
# for those who come from it (coming.py).
#
# PyTorch's signatures are in signatures.tsv (record.py); ours come from the op table where a
# function is of the table, else from the function itself; why something differs, or is absent, is
# in reasons.tsv. Start reading at page().
"""Usage: PYTHONPATH=build/release/python python -m satellites.torch.compare [--check | --open].

`--check` fails if the page is not current; `--open` prints what has no reason.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import inspect
import re
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codegen.generate import load_all
from codegen.python_function import PythonFunction, python_functions
from satellites.torch.compare import coming
from satellites.torch.compare.compare import differences
from satellites.torch.compare.record import TABLE, of_python

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "torch_differences.md"
REASONS = Path(__file__).with_name("reasons.tsv")
# Packages of ours with another name.
# What the reason opens with where ebb takes the call, though its signature does not show it.
SAME = "same: "
RENAMED = {"torch.utils.data": "ebb.data"}
KINDS = {"tensor": "T", "tensor_list": "T", "scalar": "N", "floating": "N"}
HEAD = """\
# Names and arguments of PyTorch that ebb lacks or has otherwise

Written by `python -m satellites.torch.compare` from the signatures of PyTorch {version}
(`signatures.tsv` in `satellites/torch/compare/`), the op table and the package; the reasons are in
`reasons.tsv` there. A name counts as agreeing if every call of PyTorch's that its
signature allows may be written for ebb: arguments, order, defaults, numbers for tensors. Where a
signature reads otherwise and yet allows the call, *What is said otherwise* says how.
What the values mean is no matter of this page but of [semantics.md](semantics.md).
"""


@dataclass
class Name:
    """A public name of PyTorch's."""

    namespace: str
    name: str
    theirs: list[str]
    state: str = "absent"  # or agrees, differs
    lacks: list[str] = field(default_factory=list)
    otherwise: dict[str, str] = field(default_factory=dict)  # what reads otherwise, and its reason

    @property
    def path(self) -> str:
        """torch.nn.Linear."""
        return f"{self.namespace}.{self.name}"


def recorded() -> tuple[str, list[Name]]:
    """Return PyTorch's version and its names."""
    head, *lines = TABLE.read_text(encoding="utf-8").splitlines()
    found: dict[tuple[str, str], Name] = {}
    for line in lines:
        namespace, name, text = line.split("\t")
        found.setdefault((namespace, name), Name(namespace, name, [])).theirs.append(text)
    return head.split()[-1], list(found.values())


def table_signatures() -> dict[str, list[str]]:
    """Return the overloads of the table's functions and methods, by path below ebb."""
    found: dict[str, list[str]] = {}
    for function in (one for family in load_all() for one in python_functions(family)):
        texts = [overload_text(function, index) for index in range(len(function.overloads))]
        if function.is_function:
            found.update({f"ebb.{name}": texts for name in function.names})
        found.update({f"ebb.{name}": texts for name in function.spaced_names})
        if function.is_method:
            as_method = [
                "self" + text[text.find(",") :] if "," in text else "self" for text in texts
            ]
            found.update({f"ebb.Tensor.{name}": as_method for name in function.names})
    return found


def overload_text(function: PythonFunction, index: int) -> str:
    """Return an overload of the table as signatures.tsv has them."""
    parts, is_keyword_only = [], False
    for one in function.overloads[index].shown:
        if one.keyword_only and not is_keyword_only:
            parts.append("*")
        is_keyword_only |= one.keyword_only or one.varargs
        takes = KINDS.get(one.kind, "")
        name = "|".join([one.name, *one.spellings])
        text = f"{'*' * one.varargs}{name}{':' * bool(takes)}{takes}"
        parts.append(text if one.default is None else f"{text}={one.default}")
    return ", ".join(parts)


def of_object(value: Any) -> list[str]:
    """Return the signature that a function or class shows."""
    try:
        return [with_spellings(of_python(value), getattr(value, "_spellings", {}))]
    except (TypeError, ValueError):
        return ["?"]


def with_spellings(text: str, others: dict[str, str]) -> str:
    """Return a signature with the further keywords that spelled() gives parameters."""
    for other, name in others.items():
        text = re.sub(rf"(?<![\w|]){name}(?![\w])", rf"{name}|{other}", text, count=1)
    return text


def resolve(path: str) -> Any:
    """Return the object of a path below ebb, or None."""
    import ebb

    value: Any = ebb
    for part in path.split(".")[1:]:
        found = getattr(value, part, None)
        if found is None and inspect.ismodule(value):
            try:
                found = importlib.import_module(f"{value.__name__}.{part}")
            except ImportError:
                return None
        value = found
    return value


def judged(reasons: Reasons) -> tuple[str, list[Name]]:
    """Return all names with their states."""
    version, names = recorded()
    table = table_signatures()
    for one in names:
        place = RENAMED.get(one.namespace, one.namespace.replace("torch", "ebb", 1))
        value = resolve(f"{place}.{one.name}")
        if value is None:
            continue
        known = None if inspect.isfunction(value) else table.get(f"{place}.{one.name}")
        own = known or of_object(value)
        for lack in differences(one.theirs, own):
            why = reasons.of(f"{one.path}: {lack}")
            if why.startswith(SAME):
                one.otherwise[lack] = why.removeprefix(SAME)
            else:
                one.lacks.append(lack)
        one.state = "differs" if one.lacks else "agrees"
    return version, names


class Reasons:
    """Why a name is absent, or an argument differs: the first line whose pattern fits."""

    def __init__(self) -> None:
        lines = REASONS.read_text(encoding="utf-8").splitlines()
        rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
        self.rows = [(pattern, reason) for pattern, reason in rows]
        self.used: set[str] = set()

    def of(self, text: str) -> str:
        """Return the reason for `torch.name`, or for `torch.name: no `out``; empty if none."""
        for pattern, reason in self.rows:
            if fnmatch.fnmatchcase(text, pattern):
                self.used.add(pattern)
                return reason
        return ""


def counts(names: list[Name]) -> list[str]:
    """Return a table of how many names of each namespace there are."""
    lines = [
        "| namespace | names | agree | differ | absent |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    spaces = list(dict.fromkeys(one.namespace for one in names))
    for space in [*spaces, "all"]:
        states = [one.state for one in names if space in (one.namespace, "all")]
        cells = [len(states), *(states.count(state) for state in ("agrees", "differs", "absent"))]
        lines.append(f"| {space} | {' | '.join(map(str, cells))} |")
    return lines


def page() -> str:
    """Return the page."""
    reasons = Reasons()
    version, names = judged(reasons)
    lines = [HEAD.format(version=version), *counts(names), "", "## What differs", ""]
    lines += ["| name | ebb's has | why |", "| --- | --- | --- |"]
    for one in (one for one in names if one.state == "differs"):
        why = dict.fromkeys(reasons.of(f"{one.path}: {lack}") for lack in one.lacks)
        cell = "; ".join(reason for reason in why if reason)
        lines.append(f"| `{one.path}` | {'; '.join(one.lacks)} | {cell} |")
    lines += ["", "## What is said otherwise", ""]
    said: dict[tuple[str, str], list[str]] = {}
    for one in names:
        for lack, why in one.otherwise.items():
            said.setdefault((lack, why), []).append(one.path)
    for (lack, why), group in said.items():
        listed = ", ".join(f"`{path}`" for path in group)
        text = f"- {lack}: {why}: {listed}."
        lines += textwrap.wrap(text, 100, subsequent_indent="  ", break_on_hyphens=False)
    lines += ["", "## What is absent", ""]
    absent: dict[tuple[str, str], list[str]] = {}
    for one in (one for one in names if one.state == "absent"):
        absent.setdefault((one.namespace, reasons.of(one.path)), []).append(one.name)
    for (space, reason), group in absent.items():
        listed = ", ".join(f"`{name}`" for name in group)
        text = f"- {space}{': ' + reason if reason else ''}: {listed}."
        lines += textwrap.wrap(text, 100, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def coming_page() -> str:
    """Return the page for those who come from PyTorch."""
    reasons = Reasons()
    return coming.page(judged(reasons)[1], reasons.of)


def print_open() -> None:
    """Print what differs or is absent without a reason."""
    reasons = Reasons()
    for one in judged(reasons)[1]:
        texts = [one.path] if one.state == "absent" else [f"{one.path}: {it}" for it in one.lacks]
        for text in texts:
            if not reasons.of(text):
                print(text)


def main() -> int:
    parser = argparse.ArgumentParser(prog="compare", description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--open", action="store_true")
    options = parser.parse_args()
    if options.open:
        print_open()
        return 0
    texts = {PAGE: page(), coming.PAGE: coming_page()}
    for place, text in texts.items():
        if not options.check:
            place.write_text(text, encoding="utf-8")
        elif place.read_text(encoding="utf-8") != text:
            print(f"{place.name}: needs writing again\n  hint: python -m satellites.torch.compare")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
