# tests/python/package/test_deprecation.py -- deprecated names warn, and go when they said.
import warnings
from pathlib import Path

import pytest

import ebb
from ebb._base.deprecation import Deprecation, deprecated
from tools.release import deprecations, overdue

ROOT = Path(__file__).resolve().parents[3]


@deprecated("older", instead="newer", since="0.1.0", removed="0.9.0")
def older(x):
    """Return it."""
    return x


def test_a_deprecated_function_names_its_replacement_and_both_versions():
    with pytest.warns(FutureWarning) as told:
        assert older(3) == 3
    assert [str(one.message) for one in told] == [
        "older is deprecated since 0.1.0 and goes in 0.9.0: use newer"
    ]
    assert older.__doc__ == "Return it." and older.__deprecated__ == str(told[0].message)


def test_what_pytorch_keeps_names_no_version_that_removes_it():
    assert str(Deprecation("a", instead="b", since="0.1.0")) == "a is deprecated since 0.1.0: use b"


def test_a_line_is_warned_once_and_named():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for _ in range(3):
            ebb.nn.init.constant(ebb.empty(2), 1.0)
        ebb.nn.init.constant(ebb.empty(2), 1.0)
    assert {one.filename for one in told} == {__file__}
    lines = [one.lineno for one in told]
    assert lines[1] == lines[0] + 1 and len(lines) == 2


def test_a_warning_of_a_method_is_put_down_to_the_line_of_the_user():
    optimizer = ebb.optim.SGD([ebb.ones(1, requires_grad=True)], lr=1.0)
    scheduler = ebb.optim.lr_scheduler.StepLR(optimizer, 2)
    optimizer.step()
    with pytest.warns(UserWarning) as told:
        scheduler.step(1)
    assert [one.filename for one in told] == [__file__]


def test_no_deprecated_name_outlives_the_version_that_removes_it():
    found = deprecations(ROOT)
    assert found and overdue(found, ebb.__version__) == []
