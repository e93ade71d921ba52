# tests/python/indexing/test_indexing.py -- basic indexing against NumPy, assignment, and bad keys.
import numpy as np
import pytest

import ebb
from tests.python.indexing.bad_keys import check_refused

KEYS = [
    0,
    -1,
    (1, 2),
    slice(1, 3),
    slice(None, None, 2),
    slice(-2, None),
    slice(3, 1),
    (slice(None), 1),
    (slice(None), None, slice(1, 4, 2)),
    None,
    ...,
    (..., 0),
    (0, ...),
    (None, ..., None),
    (1, slice(0, 2), -1),
    (np.int64(1), slice(None)),
    (),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_basic_indexing_agrees_with_numpy(key):
    array = np.arange(60.0).reshape(4, 5, 3)
    x = ebb.from_numpy(array)
    assert np.array_equal(x[key].numpy(), array[key])
    assert x[key].data_ptr() == array[key].__array_interface__["data"][0] or x[key].numel() == 0


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_assignment_agrees_with_numpy(key):
    array = np.arange(60.0).reshape(4, 5, 3)
    x = ebb.tensor(array)
    array[key] = 7.0
    x[key] = 7.0
    assert np.array_equal(x.numpy(), array)


def test_assigned_tensors_broadcast():
    x = ebb.zeros(3, 4)
    x[1:] = ebb.arange(4).float()
    x[:, 0] = ebb.tensor(9.0)
    x[0, 1:3] = np.array([5.0, 6.0], dtype=np.float32)
    assert x.tolist() == [[9, 5, 6, 0], [9, 1, 2, 3], [9, 1, 2, 3]]


def test_gradients_flow_through_indexing():
    x = ebb.arange(6).float().reshape(2, 3).requires_grad_()
    (x[0] * 2 + x[1, 1]).sum().backward()
    assert x.grad.tolist() == [[2, 2, 2], [0, 3, 0]]


def test_gradients_flow_through_assignment():
    x = ebb.ones(3, requires_grad=True)
    value = ebb.tensor(5.0, requires_grad=True)
    y = x * 2
    y[0] = value
    (y * ebb.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [0.0, 20.0, 200.0] and value.grad.item() == 1.0


def test_iteration_and_length():
    x = ebb.arange(6).reshape(3, 2)
    assert len(x) == 3 and [row.tolist() for row in x] == [[0, 1], [2, 3], [4, 5]]
    first, *rest = x
    assert first.tolist() == [0, 1] and len(rest) == 2
    with pytest.raises(TypeError, match="0-d"):
        iter(ebb.tensor(1))


@pytest.mark.parametrize(
    ("key", "error", "text"),
    [
        (5, IndexError, r"index: needs -2 to 1 for dim 0, got 5 for shape \[2, 3\]"),
        ((0, -4), IndexError, "needs -3 to 2 for dim 1, got -4"),
        ((0, 0, 0), IndexError, "at most 2 indices, got 3"),
        ((..., ...), IndexError, "at most one Ellipsis"),
        (slice(None, None, -1), ValueError, "step of at least 1, got -1"),
        (
            "a",
            TypeError,
            "needs ints, slices, None, Ellipsis, or tensors of ints or bools, got str",
        ),
        (1.0, TypeError, "got float"),
        (np.array(["a"]), TypeError, "got <U1"),
        ([1.5], TypeError, "tensors of ints or bools, got list of"),
        (np.array([0.5]), TypeError, "tensors of ints or bools, got numpy.ndarray of"),
        (2**70, ValueError, "64 bits"),
    ],
    ids=str,
)
def test_bad_keys_are_refused(key, error, text):
    check_refused(key, error, text)


def test_bad_assigned_values_are_refused():
    x = ebb.zeros(3)
    with pytest.raises(TypeError, match="value must be Tensor or number, got str"):
        x[0] = "a"
    with pytest.raises(ValueError, match="index_box_put_"):
        x[0:2] = ebb.ones(3)
    with pytest.raises(TypeError, match="cannot be deleted"):
        del x[0]


def test_a_hostile_index_cannot_harm():
    class Shrinks:
        def __index__(self):
            keys.clear()
            return 1

    keys = [Shrinks(), 1, 1]
    with pytest.raises((TypeError, ValueError, IndexError)):
        ebb.zeros(4).reshape(keys)
    assert ebb.zeros(4)[Shrinks()].item() == 0.0


def test_an_array_of_one_int_makes_a_view():
    x = ebb.zeros(3, 2)
    x[np.array(1)].add_(1.0)
    x[..., np.array(0)].add_(1.0)
    assert x.tolist() == [[1, 0], [2, 1], [1, 0]]


def test_assigning_to_one_place_of_an_expanded_tensor_writes_all_that_share_it():
    x = ebb.tensor([1.0], requires_grad=True)
    value = ebb.tensor(5.0, requires_grad=True)
    wide = (x * 1).expand(3)
    wide[0] = value
    assert wide.tolist() == [5, 5, 5]
    (wide * ebb.tensor([1.0, 2.0, 4.0])).sum().backward()
    assert x.grad.tolist() == [0] and value.grad.item() == 7
    rows = ebb.zeros(2, 1).expand(2, 3)
    rows[1, 2] = 4.0
    assert rows.tolist() == [[0, 0, 0], [4, 4, 4]]
    with pytest.raises(ValueError, match="no two elements of what is written may share memory"):
        rows[0] = 1.0
