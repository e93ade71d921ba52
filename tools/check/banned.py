# tools/check/banned.py -- constructs that break a compiler, a rule or a reader.
"""A table of patterns; each says which files it concerns and what to do instead."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tools.check.cpp_text import blank
from tools.check.repo import Problem

if TYPE_CHECKING:
    from tools.check.repo import Repo

HINT = "each finding names the replacement; the table is in tools/check/banned.py"


@dataclass(frozen=True)
class Rule:
    """``pattern`` must not occur in files named like ``suffixes`` in these folders, or all."""

    suffixes: tuple[str, ...]
    pattern: re.Pattern[str]
    text: str
    in_comments: bool = False
    folders: tuple[str, ...] = ("",)
    but: tuple[str, ...] = ()

    def concerns(self, name: str) -> bool:
        """Whether the file is one of these."""
        is_in = name.endswith(self.suffixes) and name.startswith(self.folders)
        return is_in and not name.startswith(self.but)


CPP = (".h", ".cpp")
RULES = (
    Rule(CPP, re.compile(r"#\s*include\s*<(ranges|format|stacktrace)>"), "GCC 12 or Clang 14 lacks "
         "this header: use a loop, ebb::str or <backtrace.h>", in_comments=True),
    Rule(CPP, re.compile(r"\bstd::(ranges::)?views::"), "Clang 14 does not compile views: loop"),
    Rule(CPP, re.compile(r"\bPyUnicode_AsUTF8\("), "ends at a NUL in the text: use utf8_of() or "
         "label_of() of python/src/base/text.h"),
    Rule(CPP, re.compile(r"\bstd::vector<(bool|char|u?int\d*_t|int|size_t|float|double)>"),
         "nobody counts its memory: use CountedVector", folders=("ebb/kernels/", "ebb/ops/")),
    Rule(CPP, re.compile(r"\bstd::call_once\b"), "reads thread-locals of libstdc++, for which "
         "nothing is left where PyTorch was loaded first: a static local",
         folders=("ebb/", "python/")),
    Rule((".h",), re.compile(r"^\s*using namespace\b", re.M), "no `using namespace` in a header"),
    Rule(CPP, re.compile(r"^\s*#\s*pragma\s+omp\b", re.M), "no OpenMP: use ebb::parallel_for",
         in_comments=True),
    Rule((*CPP, ".py", ".sh", ".cmake", ".yaml"), re.compile(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))"),
         "needs an issue number: TODO(#12)", in_comments=True),
    Rule((*CPP, ".py", ".j2"), re.compile(r"\btorch\._\w|as_pytorch\b|\bpytorch_state\b"),
         "only satellites/torch knows what PyTorch keeps to itself: fill a place of "
         "python/ebb/_base/seam.py", in_comments=True, folders=("ebb/", "python/", "codegen/"),
         but=("python/ebb/io/torch_",)),  # a format of files
    Rule((".cmake", "CMakeLists.txt", "CMakePresets.json"), re.compile(r"-f(fast-math|associative-"
         r"math|finite-math-only)|-Ofast"), "changes results: leave it out"),
    Rule((".cmake", "CMakeLists.txt"), re.compile(r"\bGLOB(_RECURSE)?\b[^)]*"
         r"\.(cpp|h)\b"), "list the sources"),
)  # fmt: skip
# These files hold the patterns themselves.
EXEMPT = ("tools/check/banned.py", "tests/tools/")


def check(repo: Repo) -> list[Problem]:
    problems = []
    for name in repo.files:
        if name.startswith(EXEMPT):
            continue
        problems += banned_in(name, repo.text(name)) if _has_rule(name) else []
        if name.endswith(".h") and "#pragma once" not in repo.text(name) and "-inl" not in name:
            problems.append(Problem(name, "needs #pragma once"))
    return problems


def banned_in(name: str, text: str) -> list[Problem]:
    """Return one problem per banned construct of one file."""
    # Comments are blanked for C++ only; a `#` in CMake may stand in a string.
    plain = blank(text) if name.endswith(CPP) else re.sub(r"(?m)^\s*#.*$", "", text)
    problems = []
    for rule in RULES:
        if not rule.concerns(name):
            continue
        haystack = text if rule.in_comments else plain
        for match in rule.pattern.finditer(haystack):
            line = haystack.count("\n", 0, match.start()) + 1
            problems.append(Problem(name, f"`{match.group().strip()}`: {rule.text}", line))
    return problems


def _has_rule(name: str) -> bool:
    return any(rule.concerns(name) for rule in RULES)
