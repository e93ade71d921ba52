# tests/python/package/test_namespaces.py -- functions of ebb.linalg and its like, out of the table.
import pickle

import pytest

import ebb
from ebb import overrides
from tests.python.fresh import printed


def test_a_function_of_a_namespace_says_where_it_lives():
    vecdot = ebb.linalg.vecdot
    assert (vecdot.__name__, vecdot.__module__) == ("vecdot", "ebb.linalg")
    assert "vecdot" in ebb.linalg.__all__
    assert vecdot.__text_signature__ == "($module, x, y, *, dim=-1, out=None)"
    assert pickle.loads(pickle.dumps(vecdot)) is vecdot
    assert not hasattr(ebb, "linalg_vecdot") and not hasattr(ebb.Tensor, "linalg_vecdot")


def test_its_errors_name_it_as_it_is_called():
    with pytest.raises(ebb.errors.ShapeError, match=r"^linalg\.vecdot: x and y need one size"):
        ebb.linalg.vecdot(ebb.ones(2), ebb.ones(3))
    with pytest.raises(TypeError, match=r"^linalg\.vecdot\(\): needs argument 'y'"):
        ebb.linalg.vecdot(ebb.ones(2))
    with pytest.raises(ebb.Error, match=r"^linalg\.matmul: "):
        ebb.linalg.matmul(ebb.ones(2, 3), ebb.ones(2, 3))


def test_classes_that_take_part_are_asked_by_it():
    class Asked:
        @classmethod
        def __ebb_function__(cls, func, types, args=(), kwargs=None):
            return overrides.resolve_name(func)

    assert ebb.linalg.vecdot(Asked(), ebb.ones(2)) == "ebb.linalg.vecdot"
    assert ebb.linalg.vecdot in overrides.get_overridable_functions()[ebb.linalg]


def test_a_star_import_brings_its_functions():
    program = "from ebb.linalg import *; print(vecdot.__module__, norm.__module__)"
    assert printed(program).split() == ["ebb.linalg", "ebb.linalg"]
