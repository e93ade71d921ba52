# tests/tools/test_rebuilds.py -- what a row of the op table makes stale is counted right.
import dataclasses

import pytest

from tools.check import rebuilds

TABLE = """\
# ops/little.yaml -- a table.
- op: fill_(Tensor self) -> Tensor out
  doc: Writes.

- op: twice.Tensor(Tensor input) -> Tensor out
  doc: "A number: twice."
  kernel: UnaryKernel twice
  # in place as well
  inplace: true

- op: thrice(Tensor input) -> Tensor out
  doc: Three times.
"""


def test_a_new_op_is_the_first_one_again_with_a_kernel_of_its_own():
    added = rebuilds.with_new_op(TABLE).removeprefix(TABLE.rstrip("\n"))
    assert added.strip().splitlines() == [
        "- op: twice_again.Tensor(Tensor input) -> Tensor out",
        '  doc: "A number: twice."',
        "  kernel: UnaryKernel twice_again",
        "  # in place as well",
        "  inplace: true",
    ]


def test_a_new_word_changes_one_line():
    changed = rebuilds.with_new_word(TABLE)
    assert changed.replace("doc: Another Writes.", "doc: Writes.") == TABLE
    assert changed != TABLE


def test_sources_are_stale_if_they_reach_what_has_changed():
    readers = rebuilds.includers(
        {
            "ebb/a.h": '#include "ebb/b.h"\n',
            "ebb/a.cpp": '#include <vector>\n#include "ebb/a.h"\n',
            "ebb/c.cpp": '#include "ebb/c.h"\n',
        }
    )
    assert rebuilds.stale_sources(["ebb/b.h"], readers) == {"ebb/a.cpp"}
    assert rebuilds.stale_sources(["ebb/c.cpp"], readers) == {"ebb/c.cpp"}


@pytest.fixture
def counts(monkeypatch):
    """Make every count what a test says."""

    def make(**changed):
        one = dataclasses.replace(rebuilds.Counts("little", new_op=25, doc_word=5), **changed)
        monkeypatch.setattr(rebuilds, "count_all", lambda repo: [one])

    return make


@pytest.mark.parametrize(
    ("changed", "texts"),
    [
        ({}, []),
        ({"new_op": 26}, ["an op more makes 26 objects stale, needs at most 25"]),
        ({"doc_word": 6}, ["a word more makes 6 objects stale, needs at most 5"]),
    ],
)
def test_a_family_that_makes_too_many_objects_stale_is_found(make_repo, counts, changed, texts):
    counts(**changed)
    assert [problem.text for problem in rebuilds.check(make_repo({}))] == texts


def test_a_header_of_headers_inside_the_library_is_found(make_repo, counts):
    counts()
    include = '#include "ebb/autograd/ops.h"\n'
    repo = make_repo({"ebb/nn/a.cpp": include, "examples/cpp/b.cpp": include})
    assert [problem.path for problem in rebuilds.check(repo)] == ["ebb/nn/a.cpp"]
