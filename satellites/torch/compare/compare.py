# satellites/torch/compare/compare.py -- what each of PyTorch's calls needs that ebb's function
# lacks.
#
# A call of PyTorch's overload may give any argument by place or by name, or leave it to its
# default: the overload of ours that comes nearest is asked for each. What ours takes beyond that
# does no harm. Start reading at differences().
"""Signatures as text, and what one lacks beside another."""

from __future__ import annotations

import ast
import itertools
from dataclasses import dataclass, replace

from codegen.signature import split


@dataclass(frozen=True)
class Parameter:
    """One parameter; `takes` has T for a tensor and N for a number, or is empty if unknown.

    `spellings` are further keywords that it goes by.
    """

    name: str
    takes: str = ""
    default: str | None = None
    keyword_only: bool = False
    stars: str = ""
    spellings: tuple[str, ...] = ()


def parse(text: str) -> list[Parameter]:
    """Return the parameters of `A|input:T, *, alpha:N=1`."""
    found, keyword_only = [], False
    for piece in filter(None, split(text)):
        left, equals, default = piece.partition("=")
        name, _, takes = left.partition(":")
        stars = "*" * (len(name) - len(name.lstrip("*")))
        if name == "/":
            continue
        if name != "*":
            given = default if equals else None
            own, *more = name.lstrip("*").split("|")
            found.append(Parameter(own, takes, given, keyword_only, stars, tuple(more)))
        keyword_only |= stars == "*"
    return found


def differences(theirs: list[str], ours: list[str]) -> list[str]:
    """Return what ours lacks: (parameter, in words), each once; nothing if a side is unknown."""
    if "?" in theirs or "?" in ours:
        return []
    found: dict[str, None] = {}
    choices = [parse(text) for text in ours]
    for call in itertools.chain.from_iterable(_calls(parse(text)) for text in theirs):
        # Left out, an argument may lead to another overload of ours.
        left = [
            [text for text in lacks(call, own) if not _may_be_left_out(text, call, choices)]
            for own in choices
        ]
        found.update(dict.fromkeys(min(left, key=len)))
    return list(found)


def _may_be_left_out(text: str, call: list[Parameter], choices: list[list[Parameter]]) -> bool:
    """Whether `x` has no default, but a call without x fits some overload."""
    name = text.split("`")[1]
    place = next((index for index, one in enumerate(call) if one.name == name), len(call))
    rest = [*call[:place], *(replace(one, keyword_only=True) for one in call[place + 1 :])]
    return text.endswith("has no default") and any(not lacks(rest, own) for own in choices)


def _calls(overload: list[Parameter]) -> list[list[Parameter]]:
    """Return the ways of giving an overload a tensor or a number, at least one of them a tensor."""
    ways = [list(one.takes) if one.takes == "TN" else [one.takes] for one in overload]
    calls = [
        [replace(one, takes=takes) for one, takes in zip(overload, way, strict=True)]
        for way in itertools.product(*ways)
    ]
    with_tensor = [
        call for call in calls if any("T" in one.takes and not one.keyword_only for one in call)
    ]
    return with_tensor or calls


def lacks(call: list[Parameter], own: list[Parameter]) -> list[str]:
    """Return what one overload of ours lacks for a call."""
    if any(one.stars == "*" and one.name == "args" for one in own):
        return []  # sorts its arguments out itself
    takes_any = any(one.stars == "**" for one in own)
    found = []
    for place, one in enumerate(call):
        if place == 0 and one.name == "self" and own:
            continue  # of a method, never given by name
        if one.stars == "**" or (one.stars and one.name == "args") or one.name.startswith("_"):
            continue  # a name with an underscore is PyTorch's own
        index = _place_of(one.name, own)
        star = next((at for at, other in enumerate(own) if other.stars == "*"), len(own))
        if one.stars and star < len(own):
            continue
        if index is None:
            found += [] if takes_any else [f"no `{one.name}`"]
        elif own[index].keyword_only and star == place:
            continue  # by place as what the star takes, by name as itself
        else:
            found += _beside(one, own[index], place, index)
    if any(one.stars and one.name == "args" for one in call):
        return found  # theirs does not say what it needs
    named = {_place_of(one.name, own) for one in call}
    is_method = bool(call) and call[0].name == "self"
    needed = [
        one.name
        for place, one in enumerate(own)
        if one.default is None and not one.stars and place >= is_method and place not in named
    ]
    return found + [f"needs `{name}`" for name in needed]


def _place_of(name: str, own: list[Parameter]) -> int | None:
    """Return where a keyword's parameter stands, if there is one."""
    exact = [place for place, one in enumerate(own) if one.name == name]
    other = [place for place, one in enumerate(own) if name in one.spellings]
    return next(iter(exact + other), None)


def _beside(one: Parameter, other: Parameter, place: int, index: int) -> list[str]:
    """Return how a parameter of theirs differs from ours of the same name."""
    if other.stars:
        return []
    found = []
    if not one.keyword_only and other.keyword_only:
        found.append(f"`{one.name}` by name only")
    elif not one.keyword_only and place != index:
        found.append(f"`{one.name}` at place {index + 1}, not {place + 1}")
    if other.takes and not set(one.takes) <= set(other.takes):
        found.append(f"`{one.name}` is no {'number' if one.takes == 'N' else 'tensor'}")
    if one.default is not None and other.default is None:
        found.append(f"`{one.name}` has no default")
    elif one.default is not None and not _same(one.default, other.default):
        found.append(f"`{one.name}={other.default}`, not `{one.default}`")
    return found


def _same(theirs: str, ours: str | None) -> bool:
    """Whether two defaults are one value; `...` in a stub may be any."""
    return theirs == "..." or ours == "..." or _value(theirs) == _value(ours or "None")


def _value(text: str) -> object:
    """Return a default as a value: a list of one number is that number."""
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text.rpartition(".")[2]
    if isinstance(value, list | tuple) and value and len(set(value)) == 1:
        return value[0]
    return list(value) if isinstance(value, tuple) else value
