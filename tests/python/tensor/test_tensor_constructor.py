# tests/python/tensor/test_tensor_constructor.py -- ebb.Tensor(...), PyTorch's old constructor.
import numpy as np
import pytest

import ebb


@pytest.mark.parametrize(
    ("args", "shape"),
    [
        ((), (0,)),
        ((3,), (3,)),
        ((0,), (0,)),
        ((2, 3), (2, 3)),
        ((np.int64(2), 1), (2, 1)),
        ((ebb.tensor(2), ebb.tensor(3)), (2, 3)),
        ((ebb.ones(2, 3).shape,), (2, 3)),
    ],
    ids=str,
)
def test_ints_are_sizes(args, shape):
    made = ebb.Tensor(*args)
    assert made.shape == shape and made.dtype is ebb.float32 and not made.requires_grad


def test_size_may_be_named():
    assert ebb.Tensor(size=(2, 3)).shape == (2, 3)
    assert ebb.Tensor(2, dtype=ebb.int64).dtype is ebb.int64


@pytest.mark.parametrize(
    "data", [[0, 0, 0], (2, 3), [True], [[1], [2]], range(3), np.arange(3), []], ids=str
)
def test_data_takes_the_default_dtype(data):
    made = ebb.Tensor(data)
    assert made.dtype is ebb.float32
    assert made.tolist() == ebb.tensor(data).float().tolist()
    ebb.set_default_dtype(ebb.float64)
    assert ebb.Tensor(data).dtype is ebb.Tensor(2).dtype is ebb.float64


def test_a_number_may_be_written_to_what_was_made_of_ints():
    made = ebb.Tensor([0, 0, 0])
    made[0] = 0.7
    assert made[0].item() == pytest.approx(0.7)


def test_a_tensor_gives_itself_under_another_object():
    x = ebb.ones(3, dtype=ebb.int64)
    made = ebb.Tensor(x)
    made[0] = 5
    assert made is not x and x.tolist() == [5, 1, 1]
    leaf = ebb.ones(2, requires_grad=True)
    (ebb.Tensor(leaf) * 3).sum().backward()
    assert leaf.grad.tolist() == [3.0, 3.0]
    assert ebb.Tensor(x, dtype=ebb.float32).dtype is ebb.float32


def test_subclasses_are_made_alike():
    class Own(ebb.Tensor):
        pass

    assert type(Own([1])) is type(Own(2, 3)) is Own and Own([1]).dtype is ebb.float32
    assert Own([1.0], requires_grad=True).requires_grad


@pytest.mark.parametrize("data", [True, 2.5, 1j, None, "a", np.float64(3)], ids=repr)
def test_numbers_are_refused(data):
    with pytest.raises(TypeError, match=r"Tensor: needs sizes, a sequence, .*\nhint: ebb.tensor"):
        ebb.Tensor(data)


def test_bad_sizes_are_refused():
    with pytest.raises(ValueError, match=r"Tensor: sizes must not be negative, got \[2, -1\]"):
        ebb.Tensor(2, -1)
    with pytest.raises(TypeError, match="Tensor"):
        ebb.Tensor(2, [3])
    with pytest.raises(TypeError, match="Tensor"):
        ebb.Tensor([2], 3)
