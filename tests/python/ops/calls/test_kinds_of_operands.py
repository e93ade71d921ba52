# tests/python/ops/calls/test_kinds_of_operands.py -- operands of kinds that programs for PyTorch
# mix: uint8 conditions, bool beside numbers and in sums, integers in losses and pools, places of
# splits in a tensor, complex numbers.
import numpy as np
import pytest

import ebb
from ebb.autograd import gradcheck
from ebb.nn import functional as F

BYTES = ebb.tensor([1, 0, 2], dtype=ebb.uint8)
FLAGS = ebb.tensor([True, False])


@pytest.mark.parametrize("dtype", [ebb.float32, ebb.int64, ebb.bool, ebb.uint8])
def test_bytes_other_than_0_are_true_conditions(dtype):
    x, y = ebb.tensor([1, 0, 1]).to(dtype), ebb.tensor([0, 1, 0]).to(dtype)
    for found in (
        ebb.where(BYTES, x, y),
        x.where(BYTES, y),
        ebb.where(BYTES[:, None], x, y).diag(),
    ):
        assert found.dtype is dtype and (found == 1).all()


def test_conditions_of_bytes_take_numbers_and_have_gradients():
    assert ebb.where(BYTES, 1.5, 2).tolist() == [1.5, 2.0, 1.5]
    assert ebb.where(BYTES, ebb.tensor([1, 2, 3]), 0).tolist() == [1, 0, 3]
    assert ebb.where(BYTES, 0, ebb.tensor([1, 2, 3])).tolist() == [0, 2, 0]
    x = ebb.rand(3, dtype=ebb.float64, requires_grad=True)
    assert gradcheck(lambda x: ebb.where(BYTES, x * x, -x), (x,))


def test_squares_of_bool_are_numbers():
    found = ebb.square(FLAGS)
    assert found.dtype is ebb.int64 and found.tolist() == [1, 0]
    with pytest.raises(TypeError, match=r"square_: .* can't be cast to .*'self', bool"):
        FLAGS.clone().square_()


def test_bool_is_clamped_between_numbers():
    for bounds, wanted in (((0, 0.5), [0.5, 0.0]), ((True, 2), [1, 1]), ((-3, None), [1, 0])):
        found = FLAGS.clamp(*bounds)
        assert found.tolist() == wanted
        assert found.dtype is (ebb.float32 if 0.5 in bounds else ebb.int64)
    with pytest.raises(
        NotImplementedError, match="clamp: in clamp_between, no kernel for dtype bool"
    ):
        FLAGS.clamp(False, True)
    with pytest.raises(TypeError, match=r"clamp_: .* can't be cast to .*'self', bool"):
        FLAGS.clone().clamp_(0, 2)


@pytest.mark.parametrize("name", ["gcd", "lcm", "bitwise_left_shift", "bitwise_right_shift"])
def test_bool_beside_bool_is_no_integer(name):
    op, numbers = getattr(ebb, name), ebb.tensor([4, 6])
    assert op(FLAGS, numbers).tolist() == op(FLAGS.long(), numbers).tolist()
    with pytest.raises(NotImplementedError, match=f"{name}: no kernel for dtype bool"):
        op(FLAGS, FLAGS)


def test_the_number_next_to_a_bool_is_one_of_what_stands_beside_it():
    found = ebb.nextafter(FLAGS, ebb.tensor([2.0, 2.0]))
    assert found.dtype is ebb.float32 and found[0] == 1 + 2.0**-23
    with pytest.raises(NotImplementedError, match="nextafter: no kernel for dtype int64"):
        ebb.nextafter(FLAGS, 2 + FLAGS)


@pytest.mark.parametrize("op", [ebb.floor_divide, ebb.remainder, ebb.fmod])
def test_bool_divides_beside_numbers(op):
    wanted = getattr(np, op.__name__)
    for other in (ebb.tensor([3, 2]), 3, 2.5, ebb.tensor([0.5, 2.0])):
        found = op(FLAGS, other)
        theirs = other.numpy() if isinstance(other, ebb.Tensor) else other
        assert found.dtype is (FLAGS + other).dtype
        np.testing.assert_allclose(found, wanted(FLAGS.numpy() * 1, theirs))
    ones = ebb.tensor([True, True])
    assert op(ebb.tensor([4, 5]), ones).tolist() == wanted([4, 5], [1, 1]).tolist()


@pytest.mark.parametrize("op", [ebb.floor_divide, ebb.remainder, ebb.fmod])
def test_bool_does_not_divide_bool_nor_by_false(op):
    refusal = f"{op.__name__}: no kernel for dtype bool .*\nhint: .*int64"
    with pytest.raises(NotImplementedError, match=refusal):
        op(FLAGS, ebb.tensor([True, True]))
    with pytest.raises(NotImplementedError, match=f"{op.__name__}: no kernel for dtype bool"):
        op(FLAGS, True)
    with pytest.raises(ValueError, match=f"{op.__name__}: an integer divisor must not be 0"):
        op(ebb.tensor([4, 5]), FLAGS)
    with pytest.raises(TypeError, match="can't be cast to the type of 'self', bool"):
        getattr(FLAGS.clone(), f"{op.__name__}_")(2)


@pytest.mark.parametrize("op", [ebb.fmax, ebb.fmin, ebb.pow])
def test_bool_stands_beside_numbers(op):
    wanted = getattr(np, {"pow": "power"}.get(op.__name__, op.__name__))
    for other in (ebb.tensor([3, 2]), ebb.tensor([0.5, 2.0])):
        for pair in ((FLAGS, other), (other, FLAGS)):
            found = op(*pair)
            assert found.dtype is other.dtype
            assert found.tolist() == wanted(*(one.numpy() * 1 for one in pair)).tolist()


def test_powers_of_and_by_bool():
    assert (2.5**FLAGS).tolist() == [2.5, 1.0] and (2**FLAGS).dtype is ebb.int64
    assert (FLAGS**2).tolist() == [1, 0] and (FLAGS**0.5).tolist() == [1.0, 0.0]
    x = ebb.tensor([3.0, 4.0], requires_grad=True)
    (x**FLAGS).sum().backward()
    assert x.grad.tolist() == [1.0, 0.0]
    with pytest.raises(ValueError, match="an integer to a negative power is no integer"):
        FLAGS**-1
    with pytest.raises(NotImplementedError, match="pow: no kernel for dtype bool"):
        FLAGS**FLAGS


@pytest.mark.parametrize("op", [ebb.hypot, ebb.logaddexp, ebb.logaddexp2])
def test_integers_stand_beside_floats(op):
    x, whole = ebb.tensor([0.5, -1.5], dtype=ebb.float64, requires_grad=True), ebb.tensor([3, 4])
    found = op(x, whole)
    assert found.dtype is ebb.float64 and found.tolist() == op(x, whole.double()).tolist()
    assert gradcheck(lambda x: op(whole, x), (x,))
    assert op(x, FLAGS).tolist() == op(x, FLAGS.double()).tolist()
    with pytest.raises(NotImplementedError, match=f"{op.__name__}: no kernel for dtype int64"):
        op(whole, whole)


def test_integers_are_convolved_with_integers_only():
    images, ring = ebb.ones(1, 1, 4, 4, dtype=ebb.int64), ebb.ones(1, 1, 3, 3, dtype=ebb.int64)
    ring[0, 0, 1, 1] = 0
    alive = F.conv2d(images, ring, padding=1)
    assert alive.dtype is ebb.int64 and alive[0, 0, 0].tolist() == [3, 5, 5, 3]
    with pytest.raises(TypeError, match=r"conv2d: input and weight need one dtype, got int64.*flo"):
        F.conv2d(images, ring.float())


def test_tensors_are_subtracted_from_others():
    x, y = ebb.tensor([1.0, 2.0]), ebb.tensor([3.0, 5.0])
    assert ebb.rsub(x, y).tolist() == [2.0, 3.0]
    assert ebb.rsub(x, other=y, alpha=2).tolist() == [1.0, 1.0]
    assert ebb.rsub(x, 3, alpha=2).tolist() == ebb.rsub(x, 3, 2).tolist() == [1.0, -1.0]
    with pytest.raises(TypeError, match="rsub: 'input' must have dtype uint8"):
        ebb.rsub(FLAGS, FLAGS)


def test_a_tensor_says_where_to_split():
    x = ebb.arange(6, requires_grad=False).double().requires_grad_()
    parts = ebb.tensor_split(x, ebb.tensor([1, -2]))
    assert [one.tolist() for one in parts] == [[0.0], [1.0, 2.0, 3.0], [4.0, 5.0]]
    parts[1].sum().backward()
    assert x.grad.tolist() == [0, 1, 1, 1, 0, 0]
    table = x.detach().reshape(2, 3)
    for places in (ebb.tensor(2), 2):
        left, right = table.tensor_split(places, dim=1)
        assert left.shape == (2, 2) and right.shape == (2, 1)
    assert len(ebb.tensor_split(x, tensor_indices_or_sections=ebb.tensor([], dtype=ebb.int64))) == 1


@pytest.mark.parametrize("drop", [F.dropout, F.dropout1d, F.dropout2d, F.dropout3d])
@pytest.mark.parametrize("dtype", [ebb.complex64, ebb.complex128])
def test_both_parts_of_complex_numbers_are_dropped_together(drop, dtype):
    ebb.manual_seed(1)
    x = ebb.full((40, 3, 2), 1 + 2j, dtype=dtype)
    if drop is F.dropout3d:
        x = x[:, :, None, :, None]
    found = drop(x, 0.5)
    is_kept = found != 0
    assert found.dtype is dtype and 0.3 < is_kept.double().mean().item() < 0.7
    assert (found[is_kept] == 2 + 4j).all()
    assert drop(x, 1.0).count_nonzero() == 0 and ebb.equal(drop(x, 0.5, False), x)


def test_gradients_pass_what_complex_dropout_keeps():
    x = ebb.randn(8, dtype=ebb.complex128, requires_grad=True)

    def program(x):
        ebb.manual_seed(2)
        return F.dropout(x, 0.4)

    assert gradcheck(program, (x,))


def test_complex_numbers_are_scaled_by_powers_of_2():
    x, n = ebb.tensor([1 + 2j, -0.5j, 3.0]), ebb.tensor([2.0, -1.0, 0.5])
    np.testing.assert_allclose(ebb.ldexp(x, n), x.numpy() * 2 ** n.numpy(), rtol=1e-6)
    np.testing.assert_allclose(ebb.ldexp(n, x), n.numpy() * 2 ** x.numpy(), rtol=1e-6)
    far = ebb.ldexp(ebb.tensor([1e-30 + 1e-30j]), ebb.tensor([200]))
    np.testing.assert_allclose(far, [2.0**200 * (1e-30 + 1e-30j)], rtol=1e-6)


def test_no_sample_has_no_frequency():
    assert ebb.fft.fftfreq(0).shape == (0,)


def test_fill_makes_a_tensor_of_one_number():
    x = ebb.ones(2, 3, dtype=ebb.int32)
    assert ebb.fill(x, 7).tolist() == [[7] * 3] * 2 and ebb.fill(x, 7).dtype is ebb.int32
    value = ebb.tensor(2.5, requires_grad=True)
    filled = ebb.fill(ebb.zeros(4), value)
    filled.sum().backward()
    assert filled.tolist() == [2.5] * 4 and value.grad.item() == 4 and x.eq(1).all()


ONE_TRUE = ebb.tensor([True, False, False])
AT = ebb.tensor([1, 1])
TRUE_FALSE = ebb.tensor([True, False])
CALLS = {
    "scatter_add": lambda x: x.scatter_add(0, AT, TRUE_FALSE),
    "scatter_reduce sum": lambda x: x.scatter_reduce(0, AT, TRUE_FALSE, "sum"),
    "scatter_reduce amax": lambda x: x.scatter_reduce(0, AT, TRUE_FALSE, "amax"),
    "scatter add": lambda x: x.scatter(0, AT, TRUE_FALSE, reduce="add"),
    "scatter add a number": lambda x: x.scatter(0, AT, True, reduce="add"),
    "index_add": lambda x: x.index_add(0, AT, TRUE_FALSE),
    "index_add twice": lambda x: x.index_add(0, AT, TRUE_FALSE, alpha=2),
    "put": lambda x: x.put(AT, TRUE_FALSE, True),
    "index_put_": lambda x: x.clone().index_put_((AT,), TRUE_FALSE, True),
    "scatter_add_": lambda x: x.clone().scatter_add_(0, AT, TRUE_FALSE),
    "fmax": lambda x: ebb.fmax(x, ebb.tensor([False, True, False])),
}


@pytest.mark.parametrize("name", CALLS)
def test_sums_of_bool_say_whether_one_is_true(name):
    found = CALLS[name](ONE_TRUE)
    assert found.dtype is ebb.bool and found.tolist() == [True, True, False]


PRODUCTS = {
    "scatter_reduce prod": lambda x: x.scatter_reduce(0, AT, TRUE_FALSE, "prod"),
    "scatter_reduce amin": lambda x: x.scatter_reduce(0, AT, TRUE_FALSE, "amin"),
    "scatter multiply": lambda x: x.scatter(0, AT, TRUE_FALSE, reduce="multiply"),
    "fmin": lambda x: ebb.fmin(x, ebb.tensor([True, False, True])),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_bool_say_whether_all_are_true(name):
    found = PRODUCTS[name](ebb.tensor([True, True, True]))
    assert found.dtype is ebb.bool and found.tolist() == [True, False, True]


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "amax", "amin"])
def test_what_leaves_self_out_starts_from_what_changes_nothing(reduce, include_self):
    x, index = ebb.tensor([True, False]), ebb.tensor([0, 1])
    for value in (True, False):
        src = ebb.full((2,), value)
        found = x.scatter_reduce(0, index, src, reduce, include_self=include_self)
        join = any if reduce in ("sum", "amax") else all
        own = [[flag] if include_self else [] for flag in x.tolist()]
        assert found.tolist() == [join([*flags, value]) for flags in own]


def test_a_mean_of_bool_is_refused():
    with pytest.raises(ebb.errors.DTypeError, match="scatter_reduce: mean needs numbers, got bool"):
        ONE_TRUE.scatter_reduce(0, AT, TRUE_FALSE, "mean")


def test_addr_of_bool_is_an_or_of_ands():
    one, two = ebb.tensor([True, False]), ebb.tensor([False, True])
    start = ebb.tensor([[True, False], [False, False]])
    found = ebb.addr(start, one, two)
    assert found.dtype is ebb.bool and found.tolist() == [[True, True], [False, False]]
    assert ebb.addr(start, one, two, beta=2, alpha=0).tolist() == start.tolist()
    assert ebb.addr(start, one, two, beta=False).tolist() == [[False, True], [False, False]]


def test_heaviside_of_bool_is_bool():
    found = ebb.heaviside(ONE_TRUE, ebb.tensor([False, True, False]))
    assert found.dtype is ebb.bool and found.tolist() == [True, True, False]


@pytest.mark.parametrize("dtype", [ebb.uint8, ebb.int8, ebb.int16, ebb.int32, ebb.int64], ids=str)
def test_bounds_beside_integers_are_cut_to_their_dtype(dtype):
    x = ebb.tensor([0, 1, 5, 100], dtype=dtype)
    for found in (F.hardtanh(x), F.hardtanh(x, -0.5, 1.9), F.hardtanh_(x.clone())):
        assert found.dtype is dtype and found.tolist() == [0, 1, 1, 1]
    most = ebb.iinfo(dtype).max
    assert F.hardtanh(x, float("-inf"), float("inf")).tolist() == x.tolist()
    assert F.hardtanh(ebb.full((1,), most, dtype=dtype), 0, 1e30).item() == most
    assert F.relu6(x).tolist() == [0, 1, 5, 6]


@pytest.mark.parametrize("size", [3, 7, 10, 49])
def test_means_of_integers_are_cut_and_never_one_short(size):
    x = ebb.arange(size).reshape(1, 1, size) * 3
    assert F.avg_pool1d(x, size).item() == 3 * (size - 1) // 2
    assert F.avg_pool1d(-x, size).item() == -(3 * (size - 1) // 2)
    ones = ebb.full((1, 1, size, size), -7)
    assert F.avg_pool2d(ones, size).item() == -7 and F.avg_pool2d(ones, size).dtype is ebb.int64
    assert F.avg_pool3d(ones[None], (1, size, size), divisor_override=2).item() == int(
        -7 * size * size / 2
    )


def test_bytes_in_losses_do_not_wrap():
    x, y = ebb.tensor([3, 5], dtype=ebb.uint8), ebb.tensor([5, 3], dtype=ebb.uint8)
    assert F.pairwise_distance(x, y, eps=0.0).item() == pytest.approx(8**0.5)
    assert F.margin_ranking_loss(x, y, ebb.ones_like(x), reduction="none").tolist() == [2.0, 0.0]
    assert F.softsign(ebb.tensor([255], dtype=ebb.uint8)).item() == pytest.approx(255 / 256)
    apart = F.cosine_embedding_loss(x[None], y[None], ebb.tensor([True]))
    assert apart.item() == pytest.approx(1 - 30 / 34, rel=1e-5)


DROPOUTS = ["dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout"]


@pytest.mark.parametrize("name", [*DROPOUTS, "feature_alpha_dropout"])
def test_dropout_that_drops_nothing_takes_integers(name):
    drop, x = getattr(F, name), ebb.arange(6).reshape(1, 2, 3)
    assert drop(x, 0.5, False).tolist() == drop(x, 0.0, True).tolist() == x.tolist()
    with pytest.raises(ebb.errors.DTypeError, match=f"^{name}: input needs a floating or complex"):
        drop(x, 0.5, True)


def test_one_score_is_one_class():
    score, target = ebb.tensor(0.5), ebb.tensor(0)
    assert F.multi_margin_loss(score, target).item() == 0
    assert F.multi_margin_loss(score, target, reduction="none").shape == ()
    assert F.multilabel_margin_loss(score, target, reduction="none").shape == ()


def test_an_eps_above_a_half_brings_small_numbers_to_it_and_others_below():
    x = ebb.tensor([0.1, 0.5, 0.9, float("nan")])
    wanted = ebb.logit(ebb.tensor([0.6, 0.6, 0.4]))
    for found in (ebb.logit(x, 0.6), x.clone().logit_(0.6)):
        assert ebb.allclose(found[:3], wanted) and found[3].isnan()
    assert ebb.logit(ONE_TRUE, 0.5).tolist() == [0.0, 0.0, 0.0]


def test_negative_indices_of_take_along_dim_count_from_the_back():
    x = ebb.arange(6.0, requires_grad=True)
    rows = x.reshape(2, 3)
    found = ebb.take_along_dim(rows, ebb.tensor([[-1], [-3]]), 1)
    assert found.tolist() == [[2.0], [3.0]]
    found.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]
    assert ebb.take_along_dim(rows, ebb.tensor([-1, 0])).tolist() == [5.0, 0.0]
    with pytest.raises(IndexError, match=r"^take_along_dim: indices must be from -3 to 2, got 3"):
        ebb.take_along_dim(rows, ebb.tensor([[3], [-3]]), 1)
