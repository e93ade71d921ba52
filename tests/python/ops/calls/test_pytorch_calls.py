# tests/python/ops/calls/test_pytorch_calls.py -- calls as programs for PyTorch write them: numbers
# for tensors, words for padding, tolerances as tensors, arguments in its places, keywords that
# change nothing.
import numpy as np
import pytest

import ebb
from ebb.nn import functional as F

X = [0.5, 1.0, -2.0]


def same(found, wanted):
    np.testing.assert_allclose(found.numpy(), np.asarray(wanted), rtol=1e-6)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (lambda x: ebb.add(2, x, alpha=3), [3.5, 5.0, -4.0]),
        (lambda x: ebb.sub(2, x, alpha=3), [0.5, -1.0, 8.0]),
        (lambda x: ebb.add(x, 2, alpha=3), [6.5, 7.0, 4.0]),
        (lambda x: x.subtract(2, alpha=3), [-5.5, -5.0, -8.0]),
        (lambda x: x.subtract(2, 3), [-5.5, -5.0, -8.0]),
        (lambda x: x.clone().sub_(2, alpha=3), [-5.5, -5.0, -8.0]),
        (lambda x: ebb.div(3, x, rounding_mode="floor"), [6.0, 3.0, -2.0]),
        (lambda x: ebb.div(3, x, rounding_mode="trunc"), [6.0, 3.0, -1.0]),
        (lambda x: ebb.div(3, x, rounding_mode=None), [6.0, 3.0, -1.5]),
        (lambda x: ebb.isin(x, 1), [False, True, False]),
        (lambda x: ebb.isin(1, x), True),
        (lambda x: ebb.isin(element=3, test_elements=x, invert=True), True),
        (lambda x: ebb.isin(elements=x, test_element=1, assume_unique=True), [False, True, False]),
        (lambda x: ebb.gather(x, 0, ebb.tensor([2]), sparse_grad=True), [-2.0]),
        (lambda x: ebb.zeros(3).copy_(x, True), X),
        (lambda x: ebb.zeros(3).copy_(x, non_blocking=True), X),
        (lambda x: x.expand(3, implicit=True), X),
        (lambda x: ebb.norm(x, "fro", None, False, None, ebb.float64), np.sqrt(5.25)),
        (lambda x: ebb.linspace(x[1], ebb.tensor(3.0), 3), [1.0, 2.0, 3.0]),
        (lambda x: ebb.linspace(1j, 2, 3) * x, [0.5j, 1 + 0.5j, -4]),
        (lambda x: ebb.linspace(0, 1, 3, dtype=ebb.complex64) + x, [0.5, 1.5, -1.0]),
        (lambda x: ebb.logspace(1j, 2, 2), [10**1j, 100]),
        (lambda x: ebb.gradient(x, spacing=None)[0], [0.5, -1.25, -3.0]),
        (lambda x: ebb.einsum(x, [0], x, [0]), 5.25),
        (lambda x: ebb.einsum(x, [51], x, [0], [0, 51])[2], [-1.0, -2.0, 4.0]),
        (lambda x: ebb.einsum(x, [..., 3], ebb.ones(2, 3), [..., 3]), [-0.5, -0.5]),
        (lambda x: ebb.block_diag(), np.zeros((1, 0))),
        (lambda x: ebb.tensordot(x[None], ebb.ones(2, 3), ([0], [0]))[2], [-4.0, -4.0, -4.0]),
        (lambda x: ebb.tensordot(ebb.ones(2, 3), x[:1], ([1], [0])), [1.5, 1.5]),
        (lambda x: ebb.tensordot(x[:1], ebb.ones(0, 2), ([0], [0])), [0.0, 0.0]),
        (lambda x: F.gaussian_nll_loss(x, x + 2, 4.0), 0.5 + np.log(2)),
        (lambda x: ebb.nn.GaussianNLLLoss(reduction="none")(x, x, 1), [0.0, 0.0, 0.0]),
        (lambda x: F.hardshrink(x, ebb.tensor(0.75)), [0.0, 1.0, -2.0]),
        (lambda x: F.huber_loss(x, x + 2, delta=ebb.tensor(1)), 1.5),
        (lambda x: ebb.nan_to_num(x / 0, posinf=ebb.tensor(3.0), neginf=x[2]), [3.0, 3.0, -2.0]),
        (lambda x: ebb.searchsorted(ebb.tensor([-2, 1]), x), [1, 1, 0]),
        (lambda x: ebb.bucketize(ebb.tensor([0, 1]), x[:2].double()), [0, 1]),
    ],
)
def test_a_call_gives_what_pytorchs_gives(found, wanted):
    same(found(ebb.tensor(X)), wanted)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (ebb.tensor(0.5, requires_grad=True), "must be number, got a Tensor that requires grad"),
        (ebb.tensor([0.5]), "must be float, got ebb.Tensor"),
        (ebb.tensor(0.5j), "must be float, got ebb.Tensor"),
    ],
)
def test_a_tensor_is_a_number_if_it_has_no_dims_and_no_gradient(number, text):
    with pytest.raises(TypeError, match=rf"hardshrink\(\): argument 'lambd' .* {text}"):
        F.hardshrink(ebb.tensor(X), number)


def test_the_product_of_two_numbers_must_fit():
    with pytest.raises(ValueError, match="add: alpha times the number must fit into 64 bits"):
        ebb.add(ebb.ones(2), 2**62, alpha=4)


@pytest.mark.parametrize(
    ("operands", "text"),
    [
        (([0, 52],), "einsum: dims need numbers from 0 to 51 or '...', got 52"),
        (([0, -1],), "einsum: dims need numbers from 0 to 51 or '...', got -1"),
        (
            ([0, 1], ebb.ones(2), ebb.ones(2)),
            "einsum(): an operand needs a list of its dims behind it, got Tensor",
        ),
    ],
)
def test_dims_of_einsum_are_numbers_that_letters_stand_for(operands, text):
    with pytest.raises((ValueError, TypeError)) as caught:
        ebb.einsum(ebb.ones(2, 2), *operands)
    assert str(caught.value) == text


def test_numbers_of_half_types_are_found_as_they_are_rounded():
    x = ebb.tensor([0.1], dtype=ebb.float16)
    assert ebb.isin(x, 0.1).item() and ebb.isin(0.1, x).item()


def test_a_tensor_fills_and_gets_a_gradient():
    value = ebb.tensor(2.0, requires_grad=True)
    x = ebb.zeros(2, 3).clone()
    x.fill_(value)
    x.sum().backward()
    assert value.grad.item() == 6
    value.grad = None
    y = ebb.index_fill(ebb.ones(4, 2), 0, ebb.tensor([1, 1, 3]), value)
    same(y.detach(), [[1, 1], [2, 2], [1, 1], [2, 2]])
    y.sum().backward()
    assert value.grad.item() == 4
    assert ebb.zeros(2, dtype=ebb.int64).fill_(ebb.tensor(1.5)).tolist() == [1, 1]


@pytest.mark.parametrize("reduce", ["add", "multiply"])
def test_scatter_reduces(reduce):
    x, index = ebb.tensor([2.0, 3.0, 4.0]), ebb.tensor([0, 0, 2])
    src = ebb.tensor([5.0, 6.0, 7.0])
    wanted = [13.0, 3.0, 11.0] if reduce == "add" else [60.0, 3.0, 28.0]
    same(ebb.scatter(x, 0, index, src, reduce=reduce), wanted)
    same(x.clone().scatter_(0, index, src, reduce=reduce), wanted)
    wanted = [12.0, 3.0, 9.0] if reduce == "add" else [50.0, 3.0, 20.0]
    same(x.scatter(0, index, 5, reduce=reduce), wanted)


@pytest.mark.parametrize("sizes", [(7,), (6, 5), (4, 5, 6)])
@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
@pytest.mark.parametrize("dilation", [1, 2])
def test_padding_by_name_keeps_the_sizes_with_an_odd_zero_behind(sizes, kernel, dilation):
    dims = len(sizes)
    x, weight = ebb.randn(2, 4, *sizes), ebb.randn(6, 2, *[kernel] * dims)
    conv = getattr(ebb, f"conv{dims}d")
    total = dilation * (kernel - 1)
    pads = [total // 2, total - total // 2] * dims
    found = conv(x, weight, padding="same", dilation=dilation, groups=2)
    wanted = conv(F.pad(x, pads), weight, dilation=dilation, groups=2)
    assert found.shape == (2, 6, *sizes)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)
    if dilation * (kernel - 1) < min(sizes):
        same(
            conv(x, weight, None, 1, "valid", dilation, 2), conv(x, weight, None, 1, 0, dilation, 2)
        )


def test_a_convolution_by_name_has_gradients():
    x = ebb.randn(1, 2, 5, dtype=ebb.float64, requires_grad=True)
    weight = ebb.randn(2, 2, 4, dtype=ebb.float64, requires_grad=True)
    assert ebb.autograd.gradcheck(lambda x, w: ebb.conv1d(x, w, padding="same"), (x, weight))


def test_results_go_to_out():
    x = ebb.tensor([3.0, 0.5])
    outs = [ebb.zeros(2), ebb.zeros(2, dtype=ebb.int32)]
    ebb.frexp(x, out=outs)
    assert [one.tolist() for one in outs] == [[0.75, 0.5], [2, 0]]
    squares = ebb.zeros(2, dtype=ebb.float64)
    ebb.float_power(x, 2, out=squares)
    assert squares.tolist() == [9.0, 0.25]
    counts, edges = ebb.zeros(2), ebb.zeros(3)
    ebb.histogram(x, 2, range=(0.0, 4.0), out=(counts, edges))
    assert counts.tolist() == [1.0, 1.0] and edges.tolist() == [0.0, 2.0, 4.0]
    assert ebb.histogram(x).hist.shape == (100,)
    assert ebb.histogramdd(x[:, None], [2], [0.0, 4.0], None, True).hist.tolist() == [0.25, 0.25]
    unit = ebb.zeros(1, 2)
    assert F.normalize(ebb.tensor([[3.0, 4.0]]), 2.0, 1, 1e-12, unit) is not None
    np.testing.assert_allclose(unit.numpy(), [[0.6, 0.8]], rtol=1e-6)


def test_a_generator_may_be_given_in_its_place():
    rates = ebb.full((50,), 4.0)
    first = ebb.poisson(rates, ebb.Generator().manual_seed(5))
    assert first.tolist() == ebb.poisson(rates, generator=ebb.Generator().manual_seed(5)).tolist()
    assert ebb.poisson(rates, None).shape == (50,)


def test_result_type_takes_pytorchs_names():
    x = ebb.ones(2, dtype=ebb.int32)
    assert ebb.result_type(tensor=x, other=1.5) is ebb.float32
    assert ebb.result_type(scalar=1.5, tensor=x) is ebb.float32
    assert ebb.result_type(scalar1=1, scalar2=2) is ebb.int64
    with pytest.raises(TypeError, match="two tensors or numbers, got 1"):
        ebb.result_type(x)
    with pytest.raises(TypeError, match="unexpected keyword argument 'third'"):
        ebb.result_type(x, third=x)


@pytest.mark.parametrize("as_tensor", [False, True])
def test_tolerances_are_numbers_or_tensors(as_tensor):
    def given(value):
        return ebb.tensor(value, dtype=ebb.float64) if as_tensor else value

    a = ebb.tensor(np.stack([np.diag([1.0, 1e-3, 0.0]), np.diag([2.0, 1.0, 1e-5])]))
    rank, pinv = ebb.linalg.matrix_rank, ebb.linalg.pinv
    assert rank(a, given(1e-2)).tolist() == [1, 2]
    assert rank(a, atol=given(1e-4), rtol=given(0.0)).tolist() == [2, 2]
    assert rank(a, rtol=given(0.6)).tolist() == [1, 1]
    assert rank(input=a, tol=given(1e-6)).tolist() == [2, 3]
    same(pinv(a, rtol=given(1e-2)), np.linalg.pinv(a.numpy(), 1e-2))
    same(pinv(a, given(1e-4)), np.linalg.pinv(a.numpy(), 1e-4))


def test_tolerances_may_differ_in_a_batch_and_gradients_stay():
    a = ebb.tensor(np.stack([np.diag([1.0, 0.5]), np.diag([1.0, 0.5])]), requires_grad=True)
    cuts = ebb.tensor([0.1, 0.7], dtype=ebb.float64)
    assert ebb.linalg.matrix_rank(a, atol=cuts).tolist() == [2, 1]
    found = ebb.linalg.pinv(a, atol=cuts)
    same(found.detach(), [[[1, 0], [0, 2]], [[1, 0], [0, 0]]])
    found[0].sum().backward()
    same(a.grad[0], -np.outer([1, 2], [1, 2]))


def test_linalg_takes_input_for_its_matrix():
    a = ebb.tensor([[2.0, 0.0], [0.0, 1.0]])
    assert ebb.linalg.cond(input=a).item() == ebb.linalg.cond(A=a).item() == 2
    assert ebb.linalg.norm(input=a).item() == ebb.linalg.matrix_norm(input=a).item()
    assert ebb.linalg.vector_norm(input=a, ord=1).item() == 3
    b = ebb.ones(2)
    same(ebb.linalg.tensorsolve(input=a, other=b), [0.5, 1.0])
    with pytest.raises(TypeError):
        ebb.linalg.cond(a, input=a)


def test_sums_of_squares_are_weighted():
    x, y, w = ebb.tensor([1.0, 2.0]), ebb.tensor([0.0, 4.0]), ebb.tensor([3.0, 1.0])
    assert F.mse_loss(x, y, weight=w).item() == 7 / 4
    assert F.mse_loss(x, y, None, None, "sum", w).item() == 7
    assert F.mse_loss(x, y, reduction="none", weight=w).tolist() == [3.0, 4.0]


def test_a_dense_copy_takes_a_dtype():
    x = ebb.tensor([0.0, 2.0]).to_sparse_coo()
    assert x.to_dense(ebb.float64, masked_grad=True).dtype is ebb.float64
    assert x.to_dense(dtype=None).tolist() == [0.0, 2.0]


def test_dims_in_order_may_be_asked_to_be_the_only_one():
    assert ebb.ones(2, 3).dim_order(ambiguity_check=True) == (0, 1)
    with pytest.raises(ValueError, match="dim_order: needs one order"):
        ebb.ones(2, 1).dim_order(ambiguity_check=True)
