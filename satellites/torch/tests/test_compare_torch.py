# satellites/torch/tests/test_compare_torch.py -- what signatures lack beside PyTorch's is found and
# explained.
import fnmatch

import pytest

from satellites.torch.compare import __main__ as page, coming
from satellites.torch.compare.compare import differences


@pytest.mark.parametrize(
    ("theirs", "ours", "lacks"),
    [
        ("input:T, *, out:T=None", "input:T", ["no `out`"]),
        ("input:T, mat2:T", "input:T, other:T", ["no `mat2`", "needs `other`"]),
        ("input:T, dim, keepdim=False", "input:T, keepdim=False, dim=None", ["place", "place"]),
        ("input:T, p=2", "input:T, *, p=2", ["`p` by name only"]),
        ("input:T, p=2", "input:T, p=1", ["`p=1`, not `2`"]),
        ("input:T, p=2", "input:T, p", ["`p` has no default"]),
        ("input:TN, other:T", "input:T, other:T", ["`input` is no number"]),
    ],
)
def test_what_a_call_of_theirs_needs_and_ours_lacks_is_named(theirs, ours, lacks):
    found = differences([theirs], [ours])
    assert len(found) == len(lacks)
    assert all(part in text for part, text in zip(lacks, found, strict=True))


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("input:T, dim=(1, 1), eps:N=1e-05", "input:T, dim=1, eps:N=0.00001, more=None"),
        ("*size, dtype=None", "size, *, dtype=None"),
        ("*size, dtype=None", "*sizes, size=None, dtype=None"),
        ("size, *, dtype=None", "*sizes, size=None, dtype=None"),
        ("input:T, *, keepdim=...", "input:T, keepdim=False"),
        ("input:T, other:TN", "*args"),
        ("input:T, other:T", "A|input:T, B|other:T"),
        ("*args, **kwargs", "input:T, p=2"),
    ],
)
def test_the_same_said_otherwise_lacks_nothing(theirs, ours):
    assert differences([theirs], [ours]) == []


def test_any_overload_of_ours_may_serve_a_call():
    assert differences(["input:T, other:TN"], ["input:T, other:T", "input:T, other:N"]) == []


def test_an_argument_that_another_overload_does_without_need_not_have_a_default():
    ours = ["input:T, *, out:T=None", "input:T, *, decimals, out:T=None"]
    assert differences(["input:T, *, decimals=0, out:T=None"], ours) == []


def test_the_page_of_differences_is_current():
    hint = "PYTHONPATH=build/release/python python -m satellites.torch.compare"
    assert page.PAGE.read_text(encoding="utf-8") == page.page(), hint


def test_the_page_for_those_who_come_from_it_is_current():
    hint = "PYTHONPATH=build/release/python python -m satellites.torch.compare"
    assert coming.PAGE.read_text(encoding="utf-8") == page.coming_page(), hint


def test_that_page_groups_names_by_reason_and_says_what_to_use_instead():
    names = [
        page.Name("torch", "add", [], "agrees"),
        page.Name("torch", "sub", [], "differs", ["no `out`"]),
        page.Name("torch", "hspmm", [], "absent"),
        page.Name("torch.fft", "fft", [], "agrees"),
    ]
    text = coming.page(names, {"torch.sub: no `out`": "it has none"}.get)
    assert "arguments: `torch.fft` (1)." in text and "| `torch` | 1 | 3 |" in text
    assert "- it has none: `sub`." in text
    assert "- spmm(): `hspmm`." in text


def test_every_row_of_what_to_use_instead_is_about_a_name_of_theirs():
    paths = [name.path for name in page.recorded()[1]]
    unused = [key for key, _ in coming.instead_rows() if not fnmatch.filter(paths, key)]
    assert unused == []
