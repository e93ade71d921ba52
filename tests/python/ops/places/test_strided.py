# tests/python/ops/places/test_strided.py -- as_strided and as_strided_scatter: what they select of
# memory and what they refuse, and derivatives for any order of memory, gaps and overlaps.
"""Ops that take strides."""

import numpy as np
import pytest

import ebb


def bases():
    """Tensors of 12 elements that lie in memory in different ways, with the memory below them."""
    memory = np.arange(24.0) / 10
    plain = ebb.from_numpy(memory[:12].copy()).view(3, 4)
    columns = ebb.from_numpy(np.asfortranarray(memory[:12].reshape(3, 4)))
    gaps = ebb.from_numpy(memory.copy()).view(6, 4)[::2].detach()
    shared = ebb.from_numpy(memory[:4].copy()).expand(3, 4).detach()
    return {"plain": plain, "columns": columns, "gaps": gaps, "shared": shared}


REGIONS = [
    ((2, 2), (1, 2), 0),
    ((3,), (1,), 1),
    ((), (), 3),
    ((2, 3), (0, 1), 0),
    ((2, 2), (1, 1), 1),
]


@pytest.mark.parametrize("kind", bases())
@pytest.mark.parametrize(("size", "stride", "offset"), REGIONS)
def test_reads_memory_as_numpy_does(kind, size, stride, offset):
    base = bases()[kind]
    view = base.as_strided(size, stride, offset)
    start = base.as_strided((1,), (1,), 0)
    assert view.data_ptr() == start.data_ptr() + 8 * offset and view.stride() == stride
    memory = np.array([base.as_strided((1,), (1,), at).item() for at in range(4)])
    expected = np.lib.stride_tricks.as_strided(memory[offset:], size, [8 * s for s in stride])
    np.testing.assert_array_equal(view.numpy(), expected)


def test_begins_where_the_tensor_does_without_an_offset():
    row = ebb.arange(6)[2:]
    assert row.as_strided((2,), (2,)).tolist() == [2, 4]
    assert ebb.as_strided(row, (2,), (2,), 0).tolist() == [0, 2]


@pytest.mark.parametrize("kind", ["plain", "columns", "gaps"])
@pytest.mark.parametrize(("size", "stride", "offset"), REGIONS)
def test_reading_has_derivatives_of_any_order(kind, size, stride, offset):
    base = bases()[kind].requires_grad_()

    def program(base):
        view = base.as_strided(size, stride, offset)
        return view * view

    assert ebb.autograd.gradgradcheck(program, base)
    view = program(base)
    (found,) = ebb.autograd.grad(view.sum(), base)
    numeric = np.zeros((3, 4))
    for at in np.ndindex(3, 4):
        values = base.detach()
        before = program(values).sum().item()
        values[at] += 1e-6
        numeric[at] = (program(values).sum().item() - before) / 1e-6
        values[at] -= 1e-6
    np.testing.assert_allclose(found.numpy(), numeric, atol=1e-5)


def test_elements_that_share_memory_share_the_gradient():
    base = bases()["shared"].requires_grad_()
    base.as_strided((4,), (1,), 0).sum().backward()
    np.testing.assert_allclose(base.grad.numpy(), np.full((3, 4), 1 / 3))


def test_a_write_to_shared_memory_changes_all_that_show_it():
    w = ebb.tensor([5.0], dtype=ebb.float64, requires_grad=True)
    base = bases()["shared"]
    base[0, 1:3].mul_(w)
    np.testing.assert_allclose(base.detach().numpy(), [[0, 0.5, 1.0, 0.3]] * 3)
    (base * ebb.tensor([[1.0], [2.0], [3.0]], dtype=ebb.float64)).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), [6 * 0.3])


@pytest.mark.parametrize("kind", ["plain", "columns", "gaps"])
@pytest.mark.parametrize(("size", "stride", "offset"), REGIONS[:3])
def test_scatter_is_a_copy_with_a_region_written(kind, size, stride, offset):
    base = bases()[kind]
    src = ebb.tensor(np.random.default_rng(0).uniform(size=size))
    out = ebb.as_strided_scatter(base, src, size, stride, offset)
    expected = base.clone()
    inside = bases()[kind]
    inside.as_strided(size, stride, offset).copy_(src)
    assert out.tolist() == inside.tolist() and base.tolist() == expected.tolist()

    def program(base, src):
        return ebb.as_strided_scatter(base * 1.0, src, size, stride, offset) ** 2

    if kind == "plain":
        inputs = (base.requires_grad_(), src.requires_grad_())
        assert ebb.autograd.gradcheck(program, inputs)
        assert ebb.autograd.gradgradcheck(program, inputs)


@pytest.mark.parametrize("kind", ["columns", "gaps", "shared"])
def test_scatter_has_gradients_whatever_the_memory(kind):
    base = bases()[kind].requires_grad_()
    src = ebb.tensor([7.0, 8.0], dtype=ebb.float64, requires_grad=True)
    out = ebb.as_strided_scatter(base, src, (2,), (1,), 1)
    weights = ebb.tensor(np.arange(12.0).reshape(3, 4))
    (out * weights).sum().backward()
    is_hit = (out.detach() >= 7.0).numpy()
    np.testing.assert_array_equal(base.grad.numpy(), np.where(is_hit, 0, weights.numpy()))
    np.testing.assert_array_equal(
        src.grad.numpy(), [weights.numpy()[out.detach().numpy() == v].sum() for v in (7, 8)]
    )


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: x.as_strided((2,), (1, 1)), "as_strided: needs one stride per size"),
        (lambda x: x.as_strided((3,), (2,)), "the region must lie within 4 elements"),
        (lambda x: x.as_strided((2,), (1,), -1), "the region must lie within"),
        (lambda x: x.as_strided((2,), (-1,), 0), "strides must not be negative"),
        (lambda x: x.as_strided((2**62, 2**62), (0, 0)), "as_strided: "),
        (lambda x: x.as_strided((3,), (2**62,)), "the region must lie within"),
        (lambda x: x.as_strided((-1,), (1,)), "sizes must not be negative"),
        (lambda x: x.as_strided_scatter(x, (2,), (1,)), "src must have the region's size [2]"),
        (
            lambda x: x.as_strided_scatter(ebb.zeros(2, 2), (2, 2), (1, 1)),
            "no two elements of the region may share memory",
        ),
    ],
)
def test_refuses(call, text):
    with pytest.raises(ValueError) as caught:
        call(ebb.zeros(4))
    assert text in str(caught.value)


def test_the_sum_over_a_region_refuses_what_lies_outside():
    with pytest.raises(ValueError, match="strided_sum: the region must lie within 3 elements"):
        ebb._C._ops.strided_sum(ebb.ones(4), 3, (1,), 0)
