# tests/python/indexing/test_advanced_indexing.py -- indexing by tensors, arrays, lists and masks
# against NumPy: reading, writing, gradients of both, and what is refused.
import numpy as np
import pytest

import ebb
from tests.python.indexing.bad_keys import check_refused

SHAPE = (4, 5, 3)
MASK = np.arange(20).reshape(4, 5) % 3 == 0
FULL_MASK = np.arange(60).reshape(SHAPE) % 4 == 1
ROWS = np.array([True, False, True, True])
KEYS = [
    [0, 2],
    [-1, 0, 0],
    [[0, 1], [3, 2]],
    [],
    np.array(2),
    np.array([1, 3], np.int32),
    MASK,
    FULL_MASK,
    ROWS,
    np.zeros(4, bool),
    True,
    False,
    ([0, 1], [2, 3]),
    ([0, 1], 2),
    (2, [0, 1]),
    ([[0], [1]], [2, 3]),
    (slice(None), [0, 2]),
    (slice(1, 3), [0, 2]),
    (slice(None), slice(None), [0, 2]),
    (..., [0, 2]),
    ([0, 1], ..., [0, 2]),
    ([0, 1], slice(None), [0, 2]),
    ([0, 1], slice(1, 4, 2), [0, 2]),
    range(1, 3),
    (slice(None), range(3)),
    ((0, 1),),
    ((),),
    (slice(None), 1, [0, 2]),
    (slice(None), [0, 2], 1),
    ([0, 1], None, [2, 3]),
    (None, [0, 1]),
    (slice(None), [0, 1], None),
    (slice(None), ROWS[[0, 1, 2, 3, 0]]),
    (ROWS, [0, 1, 2]),
    (MASK, 0),
    (MASK, [1]),
    (0, MASK[0]),
    (slice(2), [0, 1], [1, 2]),
    (True, [0, 1]),
    (slice(None), [[True, False, True]] * 5),
]  # fmt: skip


def as_tensors(key):
    """The key with tensors in place of lists and arrays."""
    if isinstance(key, tuple):
        return tuple(as_tensors(one) for one in key)
    if isinstance(key, list | np.ndarray):
        array = np.asarray(key) if len(np.shape(key)) == 0 or np.size(key) else np.zeros(0, int)
        return ebb.tensor(array)
    return key


def array_key(key):
    """The key as NumPy takes it without a warning: an empty sequence is one of ints."""
    if isinstance(key, tuple):
        return (
            tuple(array_key(one) if isinstance(one, tuple) else one for one in key)
            if key
            else np.zeros(0, int)
        )
    return np.zeros(0, int) if isinstance(key, list) and key == [] else key


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("convert", [lambda key: key, as_tensors], ids=["lists", "tensors"])
def test_reading_agrees_with_numpy(key, convert):
    array = np.arange(60.0).reshape(SHAPE)
    wanted = array[array_key(key)]
    got = ebb.tensor(array)[convert(key)]
    assert got.shape == wanted.shape and np.array_equal(got.numpy(), wanted)
    turned = ebb.tensor(np.ascontiguousarray(array.T)).permute(2, 1, 0)[convert(key)]
    assert turned.shape == wanted.shape and np.array_equal(turned.numpy(), wanted)


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_writing_agrees_with_numpy(key):
    array = np.arange(60.0).reshape(SHAPE)
    values = 100 + np.arange(array[array_key(key)].size).reshape(array[array_key(key)].shape)
    for value in (7.0, values):
        wanted = array.copy()
        wanted[array_key(key)] = value
        dense, turned = ebb.tensor(array), ebb.tensor(np.ascontiguousarray(array.T))
        dense[key] = value if isinstance(value, float) else ebb.tensor(value)
        turned.permute(2, 1, 0)[key] = value if isinstance(value, float) else ebb.tensor(value)
        assert np.array_equal(dense.numpy(), wanted)
        assert np.array_equal(turned.numpy().T, wanted)


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_derivatives_of_reading_match_finite_differences(key):
    x = ebb.rand(*SHAPE, dtype=ebb.float64, requires_grad=True)
    if x[key].numel() > 0:
        assert ebb.autograd.gradcheck(lambda given: given[key], (x,), fast_mode=True)
        assert ebb.autograd.gradgradcheck(lambda given: given[key], (x,), fast_mode=True)


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_derivatives_of_writing_match_finite_differences(key):
    x = ebb.rand(*SHAPE, dtype=ebb.float64, requires_grad=True)
    value = ebb.rand(*x[key].shape, dtype=ebb.float64, requires_grad=True)

    def written(given, source):
        out = given * 2
        out[key] = source * source
        return out

    if value.numel() > 0:
        assert ebb.autograd.gradcheck(written, (x, value), fast_mode=True)
        assert ebb.autograd.gradgradcheck(written, (x, value), fast_mode=True)


BESIDE_INTS = [
    ((0, slice(None), (0, 2)), lambda x: x[0][:, [0, 2]]),
    ((-1, slice(1, 3), (0, 2)), lambda x: x[-1][1:3][:, [0, 2]]),
    (((0, 1), slice(None), 1), lambda x: x[:, :, 1][[0, 1]]),
    ((0, slice(None), MASK[0][:3]), lambda x: x[0][:, ebb.tensor(MASK[0][:3])]),
    ((None, 0, slice(None), (0, 2)), lambda x: x[0][:, [0, 2]][None]),
    ((2, ..., True, (0, 2)), lambda x: x[2][:, [0, 2]]),
]


@pytest.mark.parametrize("number", [int, np.int64, ebb.tensor], ids=["int", "NumPy", "0-d tensor"])
@pytest.mark.parametrize("case", range(len(BESIDE_INTS)))
def test_an_int_beside_tensors_selects_first(case, number):
    key, select = BESIDE_INTS[case]
    key = tuple(number(one) if type(one) is int else one for one in key)
    x = ebb.rand(*SHAPE, dtype=ebb.float64, requires_grad=True)
    wanted = select(x)
    assert x[key].shape == wanted.shape and x[key].tolist() == wanted.tolist()
    weight = ebb.rand(*wanted.shape, dtype=ebb.float64)
    (got,) = ebb.autograd.grad((x[key] * weight).sum(), x)
    assert got.tolist() == ebb.autograd.grad((wanted * weight).sum(), x)[0].tolist()
    written = x.detach().clone()
    written[key] = weight
    assert select(written).tolist() == weight.tolist()
    assert (written != x).sum().item() == weight.numel()


@pytest.mark.parametrize("convert", [ebb.tensor, np.array], ids=["tensor", "array"])
def test_bytes_are_a_mask(convert):
    x = ebb.arange(6).reshape(3, 2)
    mask = [2, 0, 1]
    as_bytes = {ebb.tensor: ebb.uint8, np.array: np.uint8}[convert]
    assert x[convert(mask, dtype=as_bytes)].tolist() == [[0, 1], [4, 5]]
    assert x[:, convert([0, 1], dtype=as_bytes)].tolist() == [[1], [3], [5]]
    assert x[convert(3, dtype=as_bytes)].shape == (1, 3, 2)
    assert x[convert(0, dtype=as_bytes)].shape == (0, 3, 2)
    with pytest.raises(IndexError, match=r"mask needs the sizes .* got mask \[2\] at dim 0"):
        x[convert([0, 2], dtype=as_bytes)]
    x[convert(mask, dtype=as_bytes)] = 7
    assert x.tolist() == [[7, 7], [2, 3], [7, 7]]
    added = ebb.index_put(x, (ebb.tensor(mask, dtype=ebb.uint8),), ebb.tensor(1), accumulate=True)
    assert added.tolist() == [[8, 8], [2, 3], [8, 8]]


def test_a_broadcast_value_gets_the_sum_of_its_gradients():
    x = ebb.zeros(3, 4)
    value = ebb.ones(4, requires_grad=True)
    y = x * 1
    y[[0, 2]] = value
    y.sum().backward()
    assert value.grad.tolist() == [2.0] * 4


def test_the_last_of_duplicates_stays_and_gets_the_gradient():
    value = ebb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = ebb.zeros(2) * 1
    y[[1, 1, 0]] = value
    assert y.tolist() == [3.0, 2.0]
    y.sum().backward()
    assert value.grad.tolist() == [0.0, 1.0, 1.0]


def test_index_put_adds_duplicates_up():
    x = ebb.zeros(3)
    index = ebb.tensor([0, 2, 0])
    assert x.index_put_((index,), ebb.tensor([1.0, 2.0, 4.0]), accumulate=True) is x
    assert x.tolist() == [5.0, 0.0, 2.0]
    y = ebb.zeros(2, 2)
    out = ebb.index_put(y, [ebb.tensor([0, 1]), ebb.tensor([1, 1])], ebb.tensor(3.0))
    assert out.tolist() == [[0.0, 3.0], [0.0, 3.0]] and y.sum().item() == 0
    value = ebb.ones(2, requires_grad=True)
    ebb.index_put(y, [ebb.tensor([0, 0])], value, True).sum().backward()
    assert value.grad.tolist() == [2.0, 2.0]


def test_writes_raise_the_version_and_spare_nothing_else():
    x = ebb.arange(6).reshape(2, 3)
    before = x._version
    x[:, [0, 2]] = 0
    assert x._version > before and x.tolist() == [[0, 1, 0], [0, 4, 0]]
    x[x > 2] = ebb.tensor(9.7)  # converted to the tensor's dtype
    assert x.tolist() == [[0, 1, 0], [0, 9, 0]]
    x[[0, 1]] = x[[1, 0]]
    assert x.tolist() == [[0, 9, 0], [0, 1, 0]]


def test_a_tensor_may_be_its_own_index_or_value():
    x = ebb.tensor([2, 0, 1])
    x[x] = x
    assert x.tolist() == [0, 1, 2]


def test_nonzero_finds_what_indexing_takes():
    x = ebb.tensor([[0.0, 2.0], [3.0, 0.0]])
    assert ebb.nonzero(x).tolist() == [[0, 1], [1, 0]]
    assert x[x.nonzero(as_tuple=True)].tolist() == [2.0, 3.0]
    assert ebb.tensor(5).nonzero().shape == (1, 0)
    assert ebb.tensor(5).nonzero(as_tuple=True)[0].tolist() == [0]


def test_a_leaf_that_requires_grad_is_not_written():
    x = ebb.zeros(3, requires_grad=True)
    for key in ([0], ebb.tensor([True, False, False]), (None, [0])):
        with pytest.raises(RuntimeError, match="must not be written in place"):
            x[key] = 1.0
    with ebb.no_grad():
        x[[0]] = 1.0
    assert x.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("key", "error", "text"),
    [
        ([2], IndexError, "^index(_put_)?: an index must be from -2 to 1, got 2"),
        ([[0], [-3]], IndexError, "from -2 to 1, got -3"),
        (([0, 1], [0, 3]), IndexError, "from -3 to 2, got 3"),
        (([0, 1], [0, 1, 2]), ValueError, r"\[2\] and \[3\]"),
        (([0], [0], [0]), IndexError, "at most 2 indices, got 3"),
        (np.ones((2, 2), bool), IndexError, r"mask needs the sizes .* got mask \[2, 2\] at dim 0"),
        (np.ones((2, 3, 1), bool), IndexError, "at most 2 indices, got 3"),
        ((..., [0], ...), IndexError, "at most one Ellipsis"),
        (([0], "a"), TypeError, "got str"),
        (([0], 1.5), TypeError, "got float"),
        ((slice(None, None, -1), [0]), ValueError, "step of at least 1"),
        ([2**70], ValueError, "must fit into int64"),
        (ebb.tensor([0.5]), TypeError, "got ebb.Tensor of float32"),
    ],
    ids=str,
)
def test_bad_keys_are_refused(key, error, text):
    check_refused(key, error, text)


def test_values_that_do_not_fit_are_refused():
    x = ebb.zeros(2, 3)
    with pytest.raises(ValueError, match=r"index_put_: .* shape \[1, 3\], got float32 \[2\]"):
        x[[0]] = ebb.ones(2)
    with pytest.raises(ValueError, match="no two elements of what is written may share memory"):
        ebb.zeros(1).expand(3)[[0]] = 1.0
