# tests/cases.py -- many small cases as few tests: one costs pytest and its workers a millisecond
# and more, which is what most calls of an op take.
#
# each_of() stands where parametrize() would, above a test of one case. Every case starts from the
# same random state as a test does; all of them run, and a failure names each case that failed.
"""Tests of many cases."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import pytest

import ebb


def by_op(row: Any, *_: Any) -> str:
    """All cases of an op are one test."""
    return str(row)


def by_family(row: Any, *_: Any) -> str:
    """All cases of the ops of one file of the table are one test."""
    return row.data["family"]


def each_of(cases: Iterable[Any], by: Callable[..., str] = lambda *_: "all") -> Callable[..., Any]:
    """Decorate a test of one case; ``by`` names the test that a case belongs to.

    Of the cases, ``--every N`` runs the first and every N-th after it, whatever their tests.
    """
    listed = [case if isinstance(case, tuple) else (case,) for case in cases]
    numbered = sorted(enumerate(listed), key=lambda one: by(*one[1]))
    groups = {
        name: list(group)
        for name, group in itertools.groupby(numbered, key=lambda one: by(*one[1]))
    }

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @pytest.mark.parametrize("group", groups)
        @functools.wraps(test)
        def whole(group: str, pytestconfig: pytest.Config) -> None:
            every = pytestconfig.getoption("every")
            run(test, [case for place, case in groups[group] if place % every == 0])

        del whole.__wrapped__  # pytest would take the parameters of a case for fixtures
        whole.samples_itself = True
        return whole

    return decorate


def run(test: Callable[..., None], cases: list[tuple[Any, ...]]) -> None:
    """Run a test for all cases; raise all that it raised, each with the name of its case."""
    failed = []
    for case in cases:
        ebb.manual_seed(0)
        try:
            test(*case)
        except pytest.skip.Exception as error:
            raise RuntimeError("a skip would skip the cases behind it: return instead") from error
        except BaseException as error:
            error.add_note("in the case " + "-".join(map(str, case)))
            if not isinstance(error, Exception):
                raise  # an interrupt, or pytest.fail(), as where the time is over
            failed.append(error)
    if len(failed) == 1:
        raise failed[0]
    if failed:
        raise ExceptionGroup(f"{len(failed)} of {len(cases)} cases failed", failed)
