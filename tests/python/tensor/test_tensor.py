# tests/python/tensor/test_tensor.py -- attributes, conversion, operators and copies of Tensor.
import copy
import pickle

import numpy as np
import pytest

import ebb


def test_shape_is_a_size_that_is_a_tuple():
    x = ebb.zeros(2, 3, 4)
    assert x.shape == (2, 3, 4) and isinstance(x.shape, tuple)
    assert repr(x.shape) == "ebb.Size([2, 3, 4])"
    assert x.shape.numel() == 24 and repr(x.shape[1:]) == "ebb.Size([3, 4])"
    assert x.size() == x.shape and x.size(-1) == 4 and x.dim() == x.ndim == 3


def test_sums_and_products_of_sizes_are_sizes():
    size, tail = ebb.zeros(2, 3).shape, (4,)
    for found, wanted in (
        (size + size, "[2, 3, 2, 3]"), (size[:-1] + tail, "[2, 4]"), (tail + size, "[4, 2, 3]"),
        (2 * size, "[2, 3, 2, 3]"), (size * 0, "[]"),
    ):  # fmt: skip
        assert repr(found) == f"ebb.Size({wanted})"
    assert (tail + size).numel() == 24
    both = [1]
    for wrong in (
        lambda: size + both,
        lambda: both + size,
        lambda: size * 1.5,
        lambda: size * tail,
    ):
        with pytest.raises(TypeError):
            wrong()
    assert (size * np.array([2, 10])).tolist() == [4, 30]


def test_geometry_of_a_transposed_view():
    x = ebb.zeros(2, 3)
    assert x.stride() == (3, 1) and x.T.stride() == (1, 3) and x.T.shape == (3, 2)
    assert x.is_contiguous() and not x.T.is_contiguous()
    assert x.T.data_ptr() == x.data_ptr() and x[1].storage_offset() == 3
    assert (x.numel(), x.nbytes, x.itemsize, x.element_size()) == (6, 24, 4, 4)


def test_dtype_objects_are_unique_and_named():
    assert repr(ebb.float32) == "ebb.float32" and ebb.float is ebb.float32
    assert ebb.zeros(1, dtype=ebb.int8).dtype is ebb.int8
    assert ebb.bfloat16.is_floating_point and ebb.complex64.is_complex
    assert ebb.int8.is_signed and not ebb.uint8.is_signed and ebb.float64.itemsize == 8
    assert pickle.loads(pickle.dumps(ebb.float16)) is ebb.float16
    assert copy.deepcopy(ebb.bool) is ebb.bool


@pytest.mark.parametrize(
    ("dtype", "real", "complex"),
    [
        (ebb.float64, ebb.float64, ebb.complex128), (ebb.float32, ebb.float32, ebb.complex64),
        (ebb.float16, ebb.float16, ebb.complex64), (ebb.bfloat16, ebb.bfloat16, ebb.complex64),
        (ebb.complex64, ebb.float32, ebb.complex64), (ebb.complex128, ebb.float64, ebb.complex128),
    ],
)  # fmt: skip
def test_a_dtype_knows_its_real_and_its_complex_type(dtype, real, complex):
    assert dtype.to_real() is real and dtype.to_complex() is complex


@pytest.mark.parametrize("dtype", [ebb.bool, ebb.uint8, ebb.int64])
def test_integers_have_no_complex_type(dtype):
    assert dtype.to_real() is dtype
    with pytest.raises(ebb.DTypeError, match=f"to_complex: needs a floating .* got {dtype.name}"):
        dtype.to_complex()


def test_device_has_type_and_equality():
    device = ebb.zeros(1).device
    assert device == ebb.device("cpu") and str(device) == "cpu" and device.index is None
    assert repr(device) == "device(type='cpu')" and hash(device) == hash(ebb.device("cpu"))


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (3, ebb.int64, ()),
        (True, ebb.bool, ()),
        ([1, 2.5], ebb.float32, (2,)),
        ([[1, 2], [3, 4]], ebb.int64, (2, 2)),
        ([True, 2], ebb.int64, (2,)),
        ([1j, 2], ebb.complex64, (2,)),
        ([], ebb.float32, (0,)),
        ([[], []], ebb.float32, (2, 0)),
        (range(4), ebb.int64, (4,)),
        (((1.0,), (2.0,)), ebb.float32, (2, 1)),
    ],
)
def test_tensor_infers_dtype_and_shape(data, dtype, shape):
    x = ebb.tensor(data)
    assert (x.dtype, x.shape) == (dtype, shape)


def test_tensor_takes_tensors_inside_lists():
    x = ebb.tensor([ebb.tensor(1.0), 2.0])
    assert x.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        ([ebb.tensor([1.5]), ebb.tensor([[2.5]])], [1.5, 2.5]),
        ([2.5, ebb.tensor([1.5], requires_grad=True) * 2], [2.5, 3.0]),
        ([[ebb.tensor([1.5])], [2.5]], [[1.5], [2.5]]),
        ([[1.5], ebb.tensor([2.5])], [[1.5], [2.5]]),
        ([ebb.tensor([1.5, 2.0]), [3.0, 4.0]], [[1.5, 2.0], [3.0, 4.0]]),
        ([np.array([1.5]), np.array([2.5])], [[1.5], [2.5]]),
        (ebb.tensor([1.5]), [1.5]),
    ],
)
def test_a_tensor_of_one_element_among_others_is_a_number(data, wanted):
    assert ebb.tensor(data).tolist() == wanted == ebb.as_tensor(data).tolist()


def test_tensor_copies_a_tensor():
    x = ebb.tensor([1.0, 2.0])
    y = ebb.tensor(x, dtype=ebb.float64)
    y[0] = 9.0
    assert x.tolist() == [1.0, 2.0] and y.dtype is ebb.float64


def test_ragged_data_names_the_position():
    with pytest.raises(ValueError, match=r"at \[1\], got one of length 2"):
        ebb.tensor([[1], [2, 3]])
    with pytest.raises(ValueError, match=r"needs a sequence of length 1 at \[1\], got int"):
        ebb.tensor([[1], 2])
    with pytest.raises(ValueError, match=r"needs a number at \[1\]"):
        ebb.tensor([1, [2]])


def test_endless_nesting_is_an_error():
    loop = []
    loop.append(loop)
    with pytest.raises(ValueError, match="at most 32 nested"):
        ebb.tensor(loop)


@pytest.mark.parametrize("data", ["text", [None], {"a": 1}, [[1], "x"], object()])
def test_data_that_is_no_number_is_a_type_error(data):
    with pytest.raises((TypeError, ValueError)):
        ebb.tensor(data)


def test_a_number_too_large_for_the_dtype_is_refused():
    with pytest.raises(ValueError, match="tensor"):
        ebb.tensor([300], dtype=ebb.uint8)
    with pytest.raises(ValueError, match="must fit into int64, got 1208925819614629174706176"):
        ebb.tensor(2**80)


def test_item_and_tolist_give_python_numbers():
    assert ebb.tensor(2.5).item() == 2.5 and type(ebb.tensor(3).item()) is int
    assert ebb.tensor(True).item() is True and ebb.tensor(1 + 2j).item() == 1 + 2j
    assert ebb.tensor([[1, 2], [3, 4]]).T.tolist() == [[1, 3], [2, 4]]
    assert ebb.tensor(5).tolist() == 5
    with pytest.raises(ValueError, match=r"one element, got shape \[2\]"):
        ebb.tensor([1, 2]).item()


def test_python_conversions():
    assert float(ebb.tensor(1.5)) == 1.5 and int(ebb.tensor([3.9])) == 3
    assert bool(ebb.tensor(0)) is False and complex(ebb.tensor(2.0)) == 2 + 0j
    assert [10, 20, 30][ebb.tensor(1)] == 20
    assert f"{ebb.tensor(1.5):.3f}" == "1.500"
    with pytest.raises(ValueError, match="needs one element"):
        bool(ebb.tensor([1, 2]))
    with pytest.raises(TypeError, match="integer tensor"):
        [1, 2][ebb.tensor(1.0)]
    with pytest.raises(TypeError, match="0-d"):
        len(ebb.tensor(1.0))


def test_operators_take_numbers_on_both_sides():
    x = ebb.tensor([2.0, 4.0])
    assert (x + 1).tolist() == (1 + x).tolist() == [3.0, 5.0]
    assert (x - 1).tolist() == [1.0, 3.0] and (1 - x).tolist() == [-1.0, -3.0]
    assert (x * 2).tolist() == (2 * x).tolist() == [4.0, 8.0]
    assert (x / 2).tolist() == [1.0, 2.0] and (8 / x).tolist() == [4.0, 2.0]
    assert (-x).tolist() == [-2.0, -4.0] and (x @ x).item() == 20.0
    assert (x * True).tolist() == [2.0, 4.0] and (x * 1j).dtype is ebb.complex64


def test_python_numbers_are_weak():
    assert (ebb.ones(2) * 2.5).dtype is ebb.float32
    assert (ebb.ones(2, dtype=ebb.int64) * 2.5).dtype is ebb.float32
    assert (ebb.ones(2, dtype=ebb.float16) + 1).dtype is ebb.float16


def test_comparisons_are_by_element_and_false_for_nan():
    x = ebb.tensor([1.0, 2.0, float("nan")])
    assert (x > 1).tolist() == [False, True, False]
    assert (x >= 1).tolist() == [True, True, False]
    assert (x < 2).tolist() == [True, False, False]
    assert (x <= 2).tolist() == [True, True, False]
    assert (x == 1).tolist() == [True, False, False]
    assert (x != 1).tolist() == [False, True, True]
    assert (ebb.tensor(1.0) < x).tolist() == [False, True, False]
    assert (x == ebb.tensor(2.0)).tolist() == [False, True, False]


def test_comparing_with_another_type_is_pythons_answer():
    x = ebb.ones(2)
    assert (x == "text") is False and (x != None) is True  # noqa: E711
    with pytest.raises(TypeError, match="not supported"):
        _ = x < "text"


def test_a_tensor_reversed_is_a_tensor():
    x = ebb.arange(6).reshape(3, 2)
    assert reversed(x).tolist() == [[4, 5], [2, 3], [0, 1]]
    assert reversed(x[0, 0]).item() == 0


def test_tensors_hash_by_identity():
    x, y = ebb.ones(2), ebb.ones(2)
    assert len({x, y, x}) == 2 and {x: 1}[x] == 1


def test_inplace_operators_keep_the_object():
    x = ebb.ones(2)
    same = x
    x += 1
    x *= 3
    x -= ebb.ones(2)
    x /= 5
    assert x is same and x.tolist() == [1.0, 1.0]
    assert x.add_(1).mul_(2) is x and x.tolist() == [4.0, 4.0]


def test_unknown_operands_leave_the_answer_to_python():
    class Other:
        def __radd__(self, other):
            return "other"

    assert ebb.ones(2) + Other() == "other"
    with pytest.raises(TypeError, match="unsupported operand"):
        ebb.ones(2) + "text"


def test_casts_share_when_there_is_nothing_to_do():
    x = ebb.ones(2)
    assert x.float() is x and x.to(ebb.float32) is x and x.cpu() is x
    assert x.double().dtype is ebb.float64 and x.half().dtype is ebb.float16
    assert x.int().dtype is ebb.int32 and x.long().dtype is ebb.int64 and x.bool().dtype is ebb.bool
    assert x.to("cpu", ebb.bfloat16).dtype is ebb.bfloat16
    assert x.to(dtype=ebb.float64).dtype is ebb.float64
    assert x.to(ebb.ones(1, dtype=ebb.int64)).dtype is ebb.int64
    assert x.to(ebb.float32, copy=True) is not x and x.type_as(x) is x
    with pytest.raises(
        TypeError, match=r"to\(\): argument 'dtype' .* or ebb.device or str or Tensor"
    ):
        x.to(object())


def test_to_takes_what_it_knows_and_refuses_the_rest():
    x = ebb.ones(2)
    assert x.to() is x and x.to(None) is x and x.to("cpu", non_blocking=True) is x
    assert x.to(ebb.float32, False, True) is not x and x.to("cpu", None, False, True) is not x
    assert x.to(other=ebb.ones(1, dtype=ebb.int8)).dtype is ebb.int8
    for args, kwargs in [
        ((ebb.float32,), {"foo": 1}),
        ((ebb.float32,), {"dtype": ebb.float64}),
        ((ebb.float32, ebb.float64), {}),
        ((), {"copy": ebb.float64}),
        ((), {"dtype": "cpu"}),
        (("cpu", ebb.int8, False, False, 1), {}),
    ]:
        with pytest.raises(TypeError, match=r"^to\(\): "):
            x.to(*args, **kwargs)


def test_creation_functions_take_sizes_in_a_row_or_as_a_sequence():
    assert ebb.zeros(2, 3).shape == ebb.zeros((2, 3)).shape == ebb.zeros([2, 3]).shape == (2, 3)
    assert ebb.ones(2, dtype=ebb.int64).tolist() == [1, 1]
    assert ebb.full((2,), 7).tolist() == [7, 7] and ebb.full((2,), 7).dtype is ebb.int64
    assert ebb.arange(3).tolist() == [0, 1, 2] and ebb.arange(1, 7, 2).tolist() == [1, 3, 5]
    assert ebb.zeros(2, requires_grad=True).requires_grad
    assert ebb.zeros_like(ebb.ones(2, dtype=ebb.int8)).dtype is ebb.int8
    assert ebb.empty(ebb.Size([4])).shape == (4,)


def test_new_functions_keep_the_dtype():
    x = ebb.ones(2, dtype=ebb.float64)
    assert x.new_zeros(3).dtype is ebb.float64 and x.new_ones((2, 2)).shape == (2, 2)
    assert x.new_tensor([1, 2]).dtype is ebb.float64
    assert x.new_full((2,), 3, dtype=ebb.int64).tolist() == [3, 3]
    assert x.new_empty(1, 2).shape == (1, 2)


def test_default_dtype_concerns_creation_and_what_is_made_of_integers():
    whole = ebb.tensor([4])
    try:
        ebb.set_default_dtype(ebb.float64)
        assert ebb.zeros(1).dtype is ebb.tensor(1.5).dtype is ebb.float64
        assert ebb.tensor(1j).dtype is (whole * 1j).dtype is ebb.complex128
        made = [ebb.arange(10.0), ebb.full((1,), 2.0), whole / whole, whole * 0.5, whole.sqrt()]
        assert [one.dtype for one in made] == [ebb.float64] * 5
        assert (ebb.ones(1, dtype=ebb.float32) * 0.5).dtype is ebb.float32
    finally:
        ebb.set_default_dtype(ebb.float32)
    assert ebb.zeros(1).dtype is ebb.get_default_dtype() is ebb.float32
    with pytest.raises(TypeError, match="floating dtype, got int64"):
        ebb.set_default_dtype(ebb.int64)


def test_limits_of_dtypes():
    assert ebb.finfo(ebb.float32).eps == 2.0**-23 and ebb.finfo(ebb.float16).max == 65504.0
    assert ebb.finfo(ebb.float64).tiny == 2.0**-1022
    assert ebb.finfo(ebb.complex64).dtype == ebb.finfo(ebb.float32).dtype == "float32"
    assert ebb.iinfo(ebb.int8).min == -128 and ebb.iinfo(ebb.uint8).max == 255
    with pytest.raises(TypeError, match="finfo"):
        ebb.finfo(ebb.int64)


def test_deepcopy_copies_values_gradient_and_attributes():
    x = ebb.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    x.note = ["a"]
    y = copy.deepcopy(x)
    assert y.requires_grad and y.grad.tolist() == [2.0, 2.0] and y.note == ["a"]
    assert y.note is not x.note and y.data_ptr() != x.data_ptr()
    with pytest.raises(RuntimeError, match="needs a leaf"):
        copy.deepcopy(x * 2)


def test_deepcopy_copies_a_gradient_with_a_history_as_a_value():
    module = ebb.nn.Linear(1, 1, bias=False)
    (module(ebb.ones(1)) ** 2).backward(create_graph=True)
    grad = module.weight.grad
    copied = copy.deepcopy(module).weight.grad
    assert grad.requires_grad and not copied.requires_grad
    assert copied.tolist() == grad.tolist() and copied.data_ptr() != grad.data_ptr()


def test_pickle_keeps_values_dtype_and_requires_grad():
    for dtype in (ebb.float32, ebb.bfloat16, ebb.int8, ebb.bool):
        x = ebb.tensor([1, 0], dtype=dtype)
        y = pickle.loads(pickle.dumps(x))
        assert y.dtype is dtype and y.tolist() == x.tolist()
    x = ebb.ones(2, requires_grad=True)
    assert pickle.loads(pickle.dumps(x)).requires_grad


def test_names_are_optional_text():
    x = ebb.ones(2)
    assert x.name is None
    x.name = "weights"
    assert x.name == "weights"
    with pytest.raises(TypeError, match="name: needs a str or None"):
        x.name = 3


def test_small_functions():
    x = ebb.tensor([1.0, 2.0])
    assert ebb.is_tensor(x) and not ebb.is_tensor([1])
    assert ebb.equal(x, ebb.tensor([1.0, 2.0])) and not ebb.equal(x, ebb.ones(2))
    assert ebb.allclose(x, x + 1e-7) and not ebb.allclose(x, x + 1)
    assert ebb.is_floating_point(x) and ebb.numel(x) == 2
    assert 2.0 in x and 3.0 not in x


def test_the_flat_namespace_holds_the_same_functions():
    assert ebb.ops.matmul is ebb.matmul and ebb.ops.add is ebb.add


def test_version_counts_writes():
    x = ebb.ones(2)
    before = x._version
    x.add_(1)
    x[0] = 5.0
    assert x._version == before + 2 and x.detach()._version == x._version
