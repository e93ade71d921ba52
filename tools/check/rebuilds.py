# tools/check/rebuilds.py -- a row, or a word, of the op table makes few objects stale.
"""Adds an op to each family of a copy of the table, and counts what would be compiled again.

The op has a kernel, a body and a gradient rule of its own, so the headers that are written by hand
for these count as changed too. A source is stale if it, or any header that it reaches, has changed;
sources of all targets count, tests included. `python -m tools.check.rebuilds` prints the counts.
"""

from __future__ import annotations

import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from codegen.cpp import written_header
from codegen.entry import load_family
from codegen.generate import (
    COMMON_EMITTERS,
    FAMILIES,
    FAMILY_EMITTERS,
    ROOT,
    load_all,
    module_files,
    table_path,
)
from codegen.model import Family, table_files
from tools.check.repo import Problem, Repo

if TYPE_CHECKING:
    from collections.abc import Iterable

HINT = "include the op's header (ebb/autograd/ops/<op>.h) or the family's, never one that gathers"
MAX_FOR_OP = 25
MAX_FOR_WORD = 5
# They gather what the whole table declares, for programs that use ebb and for plug-ins.
UMBRELLAS = (
    "ebb/autograd/methods.h",
    "ebb/autograd/op_options.h",
    "ebb/autograd/ops.h",
    "ebb/kernels/tables.h",
    "ebb/ebb.h",
)
# They include one of those as the plug-ins of others do.
PLUGINS = "ebb/devices/"
# What an op may add by hand besides its kernel.
BY_HAND = ("ebb/autograd/rules", "ebb/ops/impl")
# Built by a test, against what it has installed.
NOT_BUILT = ("tests/packaging/",)
_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
_ENTRY = re.compile(r"^- op: (\w*[^_\W])[.(](?:.*\n)(?:[ #].*\n|\n)*", re.M)


@dataclass(frozen=True)
class Counts:
    """Objects that are stale after a change to a family."""

    family: str
    new_op: int
    doc_word: int


def check(repo: Repo) -> list[Problem]:
    problems = [
        Problem(name, f"{included} is for programs that use ebb and for plug-ins")
        for name in repo.cpp_files
        if name.startswith("ebb/") and name not in UMBRELLAS and not name.startswith(PLUGINS)
        for included in _INCLUDE.findall(repo.text(name))
        if included in UMBRELLAS
    ]
    for one in count_all(repo):
        for what, count, most in (
            ("an op", one.new_op, MAX_FOR_OP),
            ("a word", one.doc_word, MAX_FOR_WORD),
        ):
            if count > most:
                text = f"{what} more makes {count} objects stale, needs at most {most}"
                problems.append(Problem(_shown(one.family), text))
    return problems


def count_all(repo: Repo) -> list[Counts]:
    """What each family's next op, and a word of its documentation, would cost."""
    families = load_all()
    before = generated(families)
    by_hand = {name: repo.text(name) for name in repo.cpp_files if not name.startswith(NOT_BUILT)}
    readers = includers({**by_hand, **module_files(), **before})
    counts = []
    for index, name in enumerate(FAMILIES):
        table = table_path(name).read_text(encoding="utf-8")
        written = [written_header(folder, name) for folder in BY_HAND]
        stale = []
        for text, extra in ((with_new_op(table), written), (with_new_word(table), [])):
            changed = [*families[:index], load_text(text, name), *families[index + 1 :]]
            after = generated(changed)
            differing = [path for path, code in after.items() if before.get(path) != code]
            stale.append(len(stale_sources([*differing, *extra], readers)))
        counts.append(Counts(name, *stale))
    return counts


def _shown(family: str) -> str:
    """The path of a family's file from the root."""
    known = table_files().get(family)
    return str(known.relative_to(ROOT)) if known else f"ops/{family}.yaml"


def generated(families: list[Family]) -> dict[str, str]:
    """Everything that the generator writes, by path."""
    files: dict[str, str] = {}
    for family in families:
        key = id(family)
        if key not in _emitted:
            _emitted[key] = {}
            for emit in FAMILY_EMITTERS:
                _emitted[key].update(emit(family))
        files.update(_emitted[key])
    for emit in COMMON_EMITTERS:
        files.update(emit(families))
    return files


_emitted: dict[int, dict[str, str]] = {}
_loaded: list[Family] = []  # keeps the keys above from being given out twice


def load_text(table: str, family: str) -> Family:
    """A family from the text of its file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{family}.yaml"
        path.write_text(table, encoding="utf-8")
        _loaded.append(load_family(path, _shown(family)))
    return _loaded[-1]


def with_new_op(table: str) -> str:
    """The text of a family with its first op, and the kernels of that, once more."""
    match = _ENTRY.search(table)
    assert match is not None
    name = match[1]
    entry = match[0].replace(f"- op: {name}", f"- op: {name}_again", 1)
    entry = re.sub(r"\b(\w+Kernel) (\w+)", r"\1 \2_again", entry)
    # An operator has an op already, and few ops are methods of C++'s Tensor.
    entry = re.sub(r"^  (operator|method): .*\n", "", entry, flags=re.M)
    return table.rstrip("\n") + "\n\n" + entry


def with_new_word(table: str) -> str:
    """The text of a family with another word in the documentation of its first op."""
    return re.sub(r"^  doc: (\"?)", r"  doc: \1Another ", table, count=1, flags=re.M)


def includers(texts: dict[str, str]) -> dict[str, set[str]]:
    """Which files include a file directly."""
    found: dict[str, set[str]] = {}
    for name, text in texts.items():
        for included in _INCLUDE.findall(text):
            found.setdefault(included, set()).add(name)
    return found


def stale_sources(changed: Iterable[str], readers: dict[str, set[str]]) -> set[str]:
    """The sources among the changed files and all that reach one of them."""
    seen = set(changed)
    waiting = list(seen)
    while waiting:
        new = readers.get(waiting.pop(), set()) - seen
        seen |= new
        waiting += new
    return {name for name in seen if name.endswith(".cpp")}


def main() -> int:
    repo = Repo.at(Path(__file__).resolve().parents[2])
    print(f"{'family':<16}{'new op':>8}{'doc word':>10}")
    for one in sorted(count_all(repo), key=lambda one: -one.new_op):
        print(f"{one.family:<16}{one.new_op:>8}{one.doc_word:>10}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
