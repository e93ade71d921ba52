# tools/mutate/cpp_mutants.py -- finds what can be broken in a C++ source, and breaks it.
"""Works on text as clang-format leaves it: a binary operator has spaces on both sides, a template's
angle brackets have none. Only bodies of functions are broken, and nothing that must be a constant.

A mutant replaces a part of the text by one that asks `EBB_MUTANT(id)`, so that one build holds all.
Start reading at find() and broken().
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from tools.check.cpp_text import blank

# How tightly binary operators bind, the tightest first.
LEVELS = {
    **dict.fromkeys(("*", "/", "%"), 5),
    **dict.fromkeys(("+", "-"), 6),
    **dict.fromkeys(("<<", ">>"), 7),
    **dict.fromkeys(("<", ">", "<=", ">="), 9),
    **dict.fromkeys(("==", "!="), 10),
    "&": 11,
    "^": 12,
    "|": 13,
    "&&": 14,
    "||": 15,
    **dict.fromkeys(("?", ":"), 16),
    **dict.fromkeys(("=", "+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "^="), 17),
}
OPERATOR = re.compile(
    r"(?<=[\s])(" + "|".join(map(re.escape, sorted(LEVELS, key=len)[::-1])) + r")(?=\s)"
)
_PAIRS = (("<", "<="), (">", ">="), ("==", "!="), ("+", "-"), ("&", "|"), ("<<", ">>"))
EXCHANGED = {
    **dict(_PAIRS),
    **{second: first for first, second in _PAIRS},
    "*": "+",
    "/": "*",
    "%": "/",
}
KINDS = {5: "arithmetic", 6: "arithmetic", 7: "arithmetic", 9: "relation", 10: "relation",
         11: "arithmetic", 13: "arithmetic", 14: "logic", 15: "logic"}  # fmt: skip
CONSTANT = re.compile(
    r"\b(?:constexpr|constinit|consteval|static_assert|enum|using|typedef|operator)\b"
)
LITERAL = re.compile(r"(?<![\w.'])(\d+)([uUlLzZ]*)(?![\w.'])|\b(true|false)\b")
CONDITION = re.compile(r"\b(?:if|while) \(")
NEGATION = re.compile(r"(?<![\w\])])!(?=[\w(*])")
STEP = re.compile(r"(?<![+\w)\]])(\+\+|--)(?=[\w(*])")
CALL = re.compile(r"\*?(?:[\w:.]|->|<[\w:, ]*>|\(\)|\[[\w ]*\])+\(")
ASSIGNMENT = re.compile(r"\*?(?:[\w:.]|->|\(\w*\)|\[[^\]]*\])+ (=|\+=|-=|\|=|&=) ")
NO_EFFECT = re.compile(
    r"assert\(|__builtin_prefetch\(|static_cast<void>|"
    r"(?:return|throw|delete|co_\w+|goto|break|continue|case|default)\b|"
    r"(?:else|do|if|for|while|switch|try|catch)\b"
)


@dataclass(frozen=True)
class Mutant:
    """A part of a file, what stands there instead, and what this is called."""

    path: str
    line: int
    kind: str
    start: int
    end: int
    was: str
    becomes: str
    build: Callable[[str, str], str]  # of the question and of the text with what is broken inside
    occurrence: int = 0

    @property
    def key(self) -> str:
        """What stays the same while other lines change."""
        again = f" ({self.occurrence + 1})" if self.occurrence else ""
        return f"{self.path}: {self.kind}: {self.was} -> {self.becomes}{again}"

    def draw(self, seed: int) -> str:
        """Its place in a drawn order."""
        return hashlib.sha256(f"{seed} {self.key}".encode()).hexdigest()


def chosen(instead: str, question: str, inner: str) -> str:
    return f"({question} ? ({instead}) : ({inner}))"


def inverted(question: str, inner: str) -> str:
    return f"({question} != static_cast<bool>({inner}))"


def left_out(question: str, inner: str) -> str:
    return f"{{ if (!{question}) {inner} }}"


class Source:
    """One file: its text, what of it is code, and where functions are."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text, self.code = path, text, blank(text)
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self.closing = matching(self.code)
        self.opening = {end: start for start, end in self.closing.items()}
        self.bodies = sorted(bodies(self.code, self.closing))
        self.constants = list(constants(self.code, self.closing))

    def line(self, place: int) -> int:
        """The number of a place's line."""
        return bisect.bisect_right(self.starts, place)

    def is_body(self, place: int) -> bool:
        """Whether this is inside a function, and no constant."""
        inside = any(start < place < end for start, end in self.bodies)
        return inside and not any(start <= place < end for start, end in self.constants)

    def mutant(self, kind: str, start: int, end: int, becomes: str, build=None) -> Mutant:
        """One mutant of this file: by default an expression instead of another."""
        was = " ".join(self.text[start:end].split())
        build = build or partial(chosen, becomes)
        shown = " ".join(becomes.split())
        return Mutant(self.path, self.line(start), kind, start, end, was, shown, build)


def matching(code: str) -> dict[int, int]:
    """Where each bracket is closed."""
    stack, found = [], {}
    for match in re.finditer(r"[()\[\]{}]", code):
        if match[0] in "([{":
            stack.append(match.start())
        elif stack:
            found[stack.pop()] = match.start()
    return found


def bodies(code: str, closing: dict[int, int]) -> Iterator[tuple[int, int]]:
    """The braces of functions: after `)`, perhaps with words between, or a list of members."""
    head = re.compile(r"\)\s*(?:(?:const|noexcept|override|final|mutable|&&?|->\s*[\w:<>*& ]+|"
                      r":\s[^;{}]*(?:\{[^{}]*\}[^;{}]*)*)\s*)*$", re.S)  # fmt: skip
    for start, end in closing.items():
        if code[start] == "{":
            before = code[max(0, start - 400) : start]
            cut = max(before.rfind(";"), before.rfind("}\n"))
            if head.search(before[cut + 1 :]):
                yield start, end


def constants(code: str, closing: dict[int, int]) -> Iterator[tuple[int, int]]:
    """What the compiler must know: constants, asserted sizes, attributes, labels."""
    for match in CONSTANT.finditer(code):
        if code[: match.start()].endswith("if "):
            yield match.start(), closing.get(code.index("(", match.start()), match.end())
        else:
            line = code.rfind("\n", 0, match.start())
            end = re.compile(r"[;{]").search(code, match.end())
            yield line, end.start() if end else len(code)
    for match in re.finditer(r"\bcase [^:]*:|\[\[[^\]]*\]\]|<[\w:, ]*\d[\w:, ]*>", code):
        yield match.start(), match.end()


def is_stop(code: str, place: int) -> bool:
    return code[place] in ";,{}"


def left_end(source: Source, place: int, level: int) -> int:
    """Where the left operand of an operator begins."""
    code, at = source.code, place - 1
    while at >= 0:
        if code[at] in ")]}":
            at = source.opening.get(at, 0) - 1
            continue
        if code[at] in "([{;,":
            break
        match = OPERATOR.match(code, at) if code[at - 1 : at].isspace() else None
        if match and LEVELS[match[1]] > level:
            at = match.end() - 1
            break
        word = re.compile(r"(?:return|throw|else|case|co_return)\b").match(code, at)
        if word and not re.match(r"\w", code[at - 1]):
            at = word.end() - 1
            break
        at -= 1
    at += 1
    while code[at].isspace():
        at += 1
    return at


def right_end(source: Source, place: int, level: int) -> int:
    """Where the right operand of an operator ends."""
    code, at = source.code, place
    while at < len(code):
        if code[at] in "([{":
            at = source.closing.get(at, len(code) - 1) + 1
            continue
        if code[at] in ")]};,":
            break
        match = OPERATOR.match(code, at) if code[at - 1 : at].isspace() else None
        if match and LEVELS[match[1]] >= level:
            break
        at += 1
    while code[at - 1].isspace():
        at -= 1
    return at


def operators(source: Source) -> Iterator[Mutant]:
    """Relations, arithmetic and logic."""
    for match in OPERATOR.finditer(source.code):
        level = LEVELS[match[1]]
        if level not in KINDS or not source.is_body(match.start()):
            continue
        start, end = left_end(source, match.start(), level), right_end(source, match.end(), level)
        left, right = source.text[start : match.start()], source.text[match.end() : end]
        if "[&" in left + right or "{" in left + right or not left.strip() or not right.strip():
            continue
        if level in (14, 15):
            other = "||" if match[1] == "&&" else "&&"
            yield source.mutant("logic", start, end, f"({left.strip()}) {other} ({right.strip()})")
            for kept in (left, right):
                yield source.mutant("logic", start, end, f"static_cast<bool>({kept.strip()})")
        elif match[1] in EXCHANGED:
            becomes = f"{left.strip()} {EXCHANGED[match[1]]} {right.strip()}"
            yield source.mutant(KINDS[level], start, end, becomes)


def literals(source: Source) -> Iterator[Mutant]:
    """Numbers off by one, and the other truth."""
    for match in LITERAL.finditer(source.code):
        if not source.is_body(match.start()):
            continue
        if match[3]:
            becomes = "false" if match[3] == "true" else "true"
        else:
            becomes = f"{int(match[1]) + 1}{match[2]}"
        yield source.mutant("constant", match.start(), match.end(), becomes)


def conditions(source: Source) -> Iterator[Mutant]:
    """Conditions the other way around, and what is negated."""
    for match in CONDITION.finditer(source.code):
        start = match.end() - 1
        end = source.closing.get(start, start)
        text = source.code[start + 1 : end]
        is_loop = match[0].startswith("while")
        if source.is_body(start) and not is_loop and not re.search(r";|\{|[^=!<>]=[^=]", text):
            yield source.mutant(
                "condition", start + 1, end, f"!({source.text[start + 1 : end]})", inverted
            )
    for match in NEGATION.finditer(source.code):
        if source.is_body(match.start()):
            end = operand_end(source, match.end())
            text = source.text[match.end() : end]
            yield source.mutant("condition", match.start(), end, text, inverted)


def operand_end(source: Source, place: int) -> int:
    """Where a name with its calls and members ends."""
    part = re.compile(r"\*|\w+|::|\.|->|<[\w:, *]*>(?=\()")
    at = place
    while at < len(source.code):
        if source.code[at] in "([":
            at = source.closing[at] + 1
        elif match := part.match(source.code, at):
            at = match.end()
        else:
            break
    return at


def steps(source: Source) -> Iterator[Mutant]:
    """Counting the other way."""
    for match in STEP.finditer(source.code):
        end = operand_end(source, match.end())
        in_head = source.code[source.code.rfind("\n", 0, end) : end].lstrip().startswith("for (")
        if source.is_body(match.start()) and not in_head:
            becomes = ("--" if match[1] == "++" else "++") + source.text[match.end() : end]
            yield source.mutant("step", match.start(), end, becomes)


@dataclass(frozen=True)
class Statement:
    """A call or an assignment that is a statement of its own."""

    start: int
    end: int
    in_block: bool  # not the only one that an if, else or for is about


def statements(source: Source) -> Iterator[Statement]:
    code = source.code
    for match in re.finditer(r";", code):
        end = match.end()
        start = match.start()
        while start > 0:
            if code[start - 1] in ")]}" and (start - 1) in source.opening:
                opened = source.opening[start - 1]
                if code[start - 1] == "}" and "\n" in code[start : match.start()]:
                    break
                head = code[code.rfind("\n", 0, opened) + 1 : opened]
                if code[start - 1] == ")" and re.search(r"\b(if|for|while)( constexpr)? $", head):
                    break
                start = opened
                continue
            if code[start - 1] in ";{}([" or re.search(r"\belse\s$", code[start - 6 : start]):
                break
            start -= 1
        while start < end and code[start].isspace():
            start += 1
        text = code[start:end]
        attribute = re.match(r"\[\[\w+\]\]\s*", text)
        if attribute:
            start += attribute.end()
            text = code[start:end]
        if NO_EFFECT.match(text) or not source.is_body(start) or "[&" in text or "{" in text:
            continue
        is_call = CALL.match(text) and text.rstrip().endswith(");")
        if is_call or ASSIGNMENT.match(text):
            before = code[:start].rstrip()
            yield Statement(start, end, before.endswith(("{", ";", "}")))


def removals(source: Source) -> Iterator[Mutant]:
    """Statements left out, and exchanged with the next."""
    found = list(statements(source))
    for one in found:
        yield source.mutant("statement", one.start, one.end, "nothing", left_out)
    for one, after in itertools.pairwise(found):
        if one.in_block and after.in_block and not source.code[one.end : after.start].strip():
            first, second = source.text[one.start : one.end], source.text[after.start : after.end]
            both = f"{second} {first}"

            def exchange(question: str, inner: str, both: str = both) -> str:
                return f"if ({question}) {{ {both} }} else {{ {inner} }}"

            yield source.mutant("order", one.start, after.end, both, exchange)


def find(path: str, text: str) -> list[Mutant]:
    """All that can be broken in a file."""
    source = Source(path, text)
    found: list[Mutant] = []
    for kind in (operators, literals, conditions, steps, removals):
        found += kind(source)
    counts: dict[str, int] = {}
    numbered = []
    for one in sorted(found, key=lambda one: (one.start, one.end)):
        again = counts[one.key] = counts.get(one.key, -1) + 1
        numbered.append(Mutant(**{**vars(one), "occurrence": again}))
    return numbered


def broken(text: str, mutants: dict[int, Mutant]) -> str:
    """The text with all of these in it, by their numbers."""
    order = sorted(mutants.items(), key=lambda item: (item[1].start, -item[1].end))
    return render(text, 0, len(text), order)


def render(text: str, start: int, end: int, order: list[tuple[int, Mutant]]) -> str:
    """A part of the text; what is outermost is taken first and holds the rest."""
    out, at = [], start
    while order:
        number, one = order.pop(0)
        inside = [item for item in order if item[1].end <= one.end and item[1].start < one.end]
        order = [item for item in order if item not in inside and item[1].start >= one.end]
        out.append(text[at : one.start])
        inner = render(text, one.start, one.end, inside)
        out.append(one.build(f"EBB_MUTANT({number})", inner))
        at = one.end
    return "".join([*out, text[at:end]])
