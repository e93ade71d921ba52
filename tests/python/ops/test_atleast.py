# tests/python/ops/test_atleast.py -- functions of one tensor or several.
import pytest

import ebb


@pytest.mark.parametrize("name", ["atleast_1d", "atleast_2d", "atleast_3d"])
def test_several_tensors_give_a_tuple(name):
    function = getattr(ebb, name)
    several = function(ebb.tensor(1.0), ebb.ones(2, 3))
    assert isinstance(several, tuple) and [one.ndim for one in several] == [
        int(name[-2]),
        max(2, int(name[-2])),
    ]
    assert isinstance(function([ebb.tensor(1.0)]), tuple) and function(ebb.ones(2)).numel() == 2
    with pytest.raises(TypeError, match=f"{name}.* needs Tensors, got int"):
        function(1, ebb.ones(1))


def test_blocks_and_tuples_come_in_any_number():
    blocks = ebb.block_diag(ebb.ones(1, 2), ebb.ones(2, 1))
    assert blocks.tolist() == [[1, 1, 0], [0, 0, 1], [0, 0, 1]]
    assert ebb.cartesian_prod(ebb.arange(2), ebb.arange(2)).tolist() == [
        [0, 0],
        [0, 1],
        [1, 0],
        [1, 1],
    ]
    with pytest.raises(TypeError, match=r"block_diag.* needs Tensors, got str"):
        ebb.block_diag("a")


def test_too_many_choices_are_refused_before_memory_is_asked_for():
    with pytest.raises(ebb.errors.ShapeError, match="combinations: rows must fit into 63 bits"):
        ebb.combinations(ebb.arange(200), 100)
    with pytest.raises(ebb.errors.OutOfMemoryError):
        ebb.combinations(ebb.arange(3000), 5)
