# tests/python/ops/places/test_join.py -- cat, stack and other joins with `out=`, written straight
# into it; cat() of tensors of shape [0], which go with any others, as in PyTorch: programs begin a
# list with one.
import numpy as np
import pytest

import ebb
from tests.fuzz.rows.temporaries import memory_of

JOINS = [(ebb.cat, np.concatenate), (ebb.stack, np.stack)]
STACKS = [
    (ebb.hstack, np.hstack),
    (ebb.vstack, np.vstack),
    (ebb.row_stack, np.vstack),
    (ebb.dstack, np.dstack),
    (ebb.column_stack, np.column_stack),
]
either = pytest.mark.parametrize(("join", "numpy_join"), JOINS, ids=["cat", "stack"])
any_join = pytest.mark.parametrize(("join", "numpy_join"), JOINS + STACKS)
any_stack = pytest.mark.parametrize(("stack", "numpy_stack"), STACKS)


def parts_of(count, shape=(3, 4)):
    rng = np.random.default_rng(5)
    return [ebb.from_numpy(rng.integers(-99, 99, shape).astype("float32")) for _ in range(count)]


def check_outs(join, wanted):
    """Call ``join(out)`` with contiguous, strided and turned memory for what it should write."""
    apart = ebb.zeros(*(2 * size for size in wanted.shape))
    strided = apart[tuple(slice(0, None, 2) for _ in wanted.shape)]
    turned = ebb.zeros(*wanted.shape[::-1]).permute(*range(wanted.ndim)[::-1])
    for out in (ebb.zeros(*wanted.shape), strided, turned):
        assert join(out) is out
        assert np.array_equal(out.numpy(), wanted)
    assert apart.sum().item() == strided.sum().item()  # nothing between was touched


@either
@pytest.mark.parametrize("count", [1, 2, 20])
@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (0, 4), (3, 0)])
def test_joins_are_written_to_contiguous_and_strided_outs(join, numpy_join, count, shape):
    parts = parts_of(count, shape)
    for dim in range(2):
        wanted = numpy_join([one.numpy() for one in parts], dim)
        check_outs(lambda out, dim=dim: join(parts, dim, out=out), wanted)


@either
def test_operands_that_share_memory_with_out_are_read_first(join, numpy_join):
    for first, second in ((slice(2, 5), slice(0, 3)), (slice(0, 3), slice(3, 6))):
        room = ebb.arange(24.0).reshape(6, 4)
        wanted = numpy_join([room.numpy()[first].copy(), room.numpy()[second].copy()], 0)
        out = room.view(wanted.shape)
        join([room[first], room[second]], 0, out=out)
        assert np.array_equal(out.numpy(), wanted)
    out = ebb.arange(6.0).reshape(2, 3)
    ebb.cat([out], out=out)
    assert out.tolist() == [[0, 1, 2], [3, 4, 5]]
    square = ebb.arange(9.0).reshape(3, 3)
    ebb.cat([square.t()[:1], square.t()[1:]], out=square)
    assert square.tolist() == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]


@either
def test_an_out_of_a_higher_dtype_is_converted_to(join, numpy_join):
    parts = [ebb.arange(4), ebb.arange(4) + 0.5]
    wanted = numpy_join([one.numpy() for one in parts])
    for dtype in (ebb.float32, ebb.float64, ebb.complex64):
        out = ebb.zeros(*wanted.shape, dtype=dtype)
        join(parts, out=out)
        assert np.array_equal(out.numpy(), wanted)


@any_join
def test_nothing_as_large_as_the_result_is_made(join, numpy_join):
    parts = parts_of(2, (512, 512))
    out = ebb.zeros(*numpy_join([one.numpy() for one in parts]).shape)
    assert memory_of(lambda: join(parts, out=out)).temporaries < 1 << 16


@either
def test_outs_that_cannot_take_the_result_stay_as_they_are(join, numpy_join):
    parts = parts_of(2)
    shape = numpy_join([one.numpy() for one in parts]).shape
    frozen = np.zeros(shape, "float32")
    frozen.flags.writeable = False
    bad = [
        (
            ebb.zeros(0),
            ebb.ShapeError,
            r"'out' must have the shape \[.*\] of the result, got \[0\]",
        ),
        (ebb.zeros(shape, dtype=ebb.int64), ebb.DTypeError, "result type float32 can't be cast"),
        (ebb.zeros(shape, requires_grad=True), ebb.AutogradError, "out="),
        (ebb.zeros(1).expand(*shape), ebb.Error, "may share memory"),
        (ebb.from_numpy(frozen), ebb.Error, "must be writable"),
        (ebb.zeros(shape, device="meta"), ebb.Error, "device"),
    ]
    for out, kind, text in bad:
        with pytest.raises(kind, match=text):
            join(parts, out=out)
        assert out.device.type == "meta" or not out.detach().numpy().any()
    parts[1].requires_grad_()
    with pytest.raises(ebb.AutogradError, match="out="):
        join(parts, out=ebb.zeros(shape))


@either
def test_a_write_over_what_a_node_saved_is_noticed(join, numpy_join):
    parts = parts_of(2)
    kept = ebb.zeros(*numpy_join([one.numpy() for one in parts]).shape)
    loss = (kept * ebb.ones(1, requires_grad=True)).sum()
    join(parts, out=kept)
    with pytest.raises(ebb.AutogradError, match=join.__name__):
        loss.backward()


@any_stack
@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (0, 4), (3, 0), (5,), (0,), (), (2, 3, 2)])
def test_stacks_are_written_to_contiguous_and_strided_outs(stack, numpy_stack, shape):
    parts = parts_of(3, shape)
    wanted = numpy_stack([one.numpy() for one in parts])
    check_outs(lambda out: stack(parts, out=out), wanted)


@any_stack
def test_stacked_operands_that_share_memory_with_out_are_read_first(stack, numpy_stack):
    room = ebb.arange(24.0).reshape(6, 4)
    wanted = numpy_stack([room.numpy()[2:5].copy(), room.numpy()[:3].copy()])
    out = room.view(wanted.shape)
    stack([room[2:5], room[:3]], out=out)
    assert np.array_equal(out.numpy(), wanted)


@any_stack
def test_stacks_name_themselves_where_out_cannot_take_the_result(stack, numpy_stack):
    parts = parts_of(2)
    shape = numpy_stack([one.numpy() for one in parts]).shape
    name = stack.__name__
    with pytest.raises(ebb.ShapeError, match=rf"^{name}: 'out' must have the shape"):
        stack(parts, out=ebb.zeros(1))
    with pytest.raises(ebb.DTypeError, match=rf"^{name}: result type float32 can't be cast"):
        stack(parts, out=ebb.zeros(shape, dtype=ebb.int64))
    with pytest.raises(ebb.AutogradError, match=rf"^{name}: .*out="):
        stack(parts, out=ebb.zeros(shape, requires_grad=True))
    parts[1].requires_grad_()
    with pytest.raises(ebb.AutogradError, match=rf"^{name}: .*out="):
        stack(parts, out=ebb.zeros(shape))
    with pytest.raises(ebb.Error, match=rf"^{name}: "):
        stack([], out=ebb.zeros(shape))


NOTHING = [(0,), (0, 2), (2, 0), (1, 0), (0, 0)]


@pytest.mark.parametrize("where", ["first", "between", "last", "twice"])
@pytest.mark.parametrize("dim", [0, 1, -1, -2])
@pytest.mark.parametrize("dtype", [ebb.float32, ebb.float64, ebb.complex64])
def test_values_and_gradients_are_those_of_the_others(where, dim, dtype):
    parts = [ebb.rand(2, 3, dtype=dtype, requires_grad=True) for _ in range(2)]
    nothing = [ebb.empty(0, dtype=dtype, requires_grad=True) for _ in range(2)]
    listed = {
        "first": [nothing[0], *parts],
        "between": [parts[0], nothing[0], parts[1]],
        "last": [*parts, nothing[0]],
        "twice": [nothing[0], parts[0], nothing[1], parts[1]],
    }[where]
    got, wanted = ebb.cat(listed, dim), ebb.cat(parts, dim)
    assert got.tolist() == wanted.tolist()
    seed = ebb.rand_like(wanted.detach())
    found = ebb.autograd.grad(got, [*parts, nothing[0]], seed)
    expected = ebb.autograd.grad(wanted, parts, seed)
    assert [one.tolist() for one in found[:2]] == [one.tolist() for one in expected]
    assert found[2].shape == (0,)
    out = ebb.empty(wanted.shape, dtype=dtype)
    with ebb.no_grad():
        assert ebb.cat(listed, dim, out=out).tolist() == wanted.tolist()


def test_second_derivatives_and_tangents_pass():
    x, nothing = ebb.ones(2, 2, dtype=ebb.float64), ebb.empty(0, dtype=ebb.float64)
    x.requires_grad_()
    assert ebb.autograd.gradgradcheck(lambda t: ebb.cat([nothing, t * t * t], 1), x)
    _, tangent = ebb.func.jvp(lambda t: ebb.cat([nothing, t], 1), (x.detach(),), (x.detach(),))
    assert tangent.tolist() == [[1, 1], [1, 1]]


def test_its_dtype_counts_and_its_device():
    joined = ebb.cat([ebb.empty(0), ebb.ones(2, 3, dtype=ebb.int64)])
    assert joined.dtype is ebb.float32 and joined.shape == (2, 3)
    meta = ebb.cat([ebb.empty(0, device="meta"), ebb.empty(2, 3, device="meta")], 1)
    assert meta.is_meta and meta.shape == (2, 3)
    with pytest.raises(ebb.Error, match="cat"):
        ebb.cat([ebb.empty(0, device="meta"), ebb.ones(2, 3)], 1)


def test_alone_they_are_joined_as_they_are():
    nothing = ebb.empty(0)
    assert ebb.cat([nothing, nothing]).shape == (0,)
    assert ebb.cat([nothing, ebb.ones(2)]).tolist() == [1, 1]
    with pytest.raises(IndexError, match="cat: dim must be"):
        ebb.cat([nothing, nothing], 1)


@pytest.mark.parametrize("shape", [one for one in NOTHING if one not in ((0,),)], ids=str)
def test_other_empty_ones_must_fit(shape):
    other = ebb.ones(3, 4, 5)
    with pytest.raises(ValueError, match=r"cat: shapes must agree but for dim 0, got \[3, 4, 5\]"):
        ebb.cat([other, ebb.empty(shape)])


def test_one_place_is_not_nothing():
    with pytest.raises(ValueError, match=r"got \[1\] at position 0 and \[2, 3\] at position 1"):
        ebb.cat([ebb.ones(1), ebb.ones(2, 3)])
    with pytest.raises(ValueError, match=r"tensors\[1\] needs at least 1 dims"):
        ebb.cat([ebb.empty(0), ebb.tensor(1.0)])
