# tests/python/indexing/test_scatter_shapes.py -- gather and scatter between 0-d tensors and lines.
#
# A 0-d tensor counts as a line of one element, each of input, index and src on its own: a gradient
# must have the shape of its own tensor, not that of the index.
import itertools

import numpy as np
import pytest

import ebb
from ebb.autograd import grad, gradcheck, gradgradcheck

REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")
SCATTERS = {
    "scatter": lambda x, i, s: ebb.scatter(x, 0, i, s),
    "scatter add": lambda x, i, s: ebb.scatter(x, 0, i, s, reduce="add"),
    "scatter multiply": lambda x, i, s: ebb.scatter(x, 0, i, s, reduce="multiply"),
    "scatter_add": lambda x, i, s: ebb.scatter_add(x, 0, i, s),
}
for one in REDUCTIONS:
    for own in (True, False):
        SCATTERS[f"scatter_reduce {one} {own}"] = lambda x, i, s, one=one, own=own: (
            ebb.scatter_reduce(x, 0, i, s, one, include_self=own)
        )
SHAPES = [
    shapes
    for shapes in itertools.product([(), (1,)], [(), (1,)], [(), (1,), (3,)])
    if len({len(shape) for shape in shapes}) == 2
]


def leaf(shape, start=2.0):
    count = int(np.prod(shape))
    return (start + ebb.arange(count, dtype=ebb.float64)).reshape(shape).requires_grad_()


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("name", SCATTERS)
def test_scatters_between_numbers_and_lines_have_both_derivatives(name, shapes):
    input_shape, index_shape, src_shape = shapes
    x, src = leaf(input_shape, 1.25), leaf(src_shape, 2.0)
    index = ebb.zeros(index_shape, dtype=ebb.int64)

    def scattered(x, src):
        return SCATTERS[name](x * x, index, src * src)

    assert tuple(scattered(x, src).shape) == input_shape
    assert gradcheck(scattered, (x, src), check_forward_ad=True)
    assert gradgradcheck(scattered, (x, src))


@pytest.mark.parametrize("shapes", [((), (1,)), ((), (3,)), ((1,), ()), ((3,), ())], ids=str)
def test_gathers_between_numbers_and_lines_have_both_derivatives(shapes):
    x, index = leaf(shapes[0]), ebb.zeros(shapes[1], dtype=ebb.int64)

    def gathered(x):
        return ebb.gather(x * x, 0, index)

    assert tuple(gathered(x).shape) == shapes[1]
    assert gradcheck(gathered, (x,), check_forward_ad=True)
    assert gradgradcheck(gathered, (x,))


@pytest.mark.parametrize("src_shape", [(), (1,), (3,)], ids=str)
@pytest.mark.parametrize("name", SCATTERS)
def test_an_empty_index_gives_src_a_gradient_of_zeros(name, src_shape):
    x, src = leaf((2,)), leaf(src_shape)
    out = SCATTERS[name](x, ebb.zeros(0, dtype=ebb.int64), src)
    np.testing.assert_array_equal(out.numpy(force=True), [2.0, 3.0])
    of_x, of_src = grad(out.sum(), (x, src))
    np.testing.assert_array_equal(of_x.numpy(), [1.0, 1.0])
    np.testing.assert_array_equal(of_src.numpy(), np.zeros(src_shape))


def test_an_index_without_dims_covers_the_first_of_a_line():
    x, src = leaf((2,), 1.0), leaf((3,), 5.0)
    for name, slope in {"sum": 1.0, "prod": 2.0, "mean": 0.5, "amax": 1.0, "amin": 0.0}.items():
        out = ebb.scatter_reduce(x, 0, ebb.tensor(1), src, name)
        (of_src,) = grad(out.sum(), (src,))
        np.testing.assert_array_equal(of_src.numpy(), [slope, 0.0, 0.0], err_msg=name)


@pytest.mark.parametrize("name", SCATTERS)
def test_samples_of_vmap_may_be_numbers_while_the_index_is_a_line(name):
    x, src = leaf((4,), 1.25), leaf((4,), 2.0)
    index = ebb.zeros(1, dtype=ebb.int64)
    both = ebb.func.vmap(lambda x, src: SCATTERS[name](x, index, src))(x, src)
    alone = [SCATTERS[name](one, index, two) for one, two in zip(x, src, strict=True)]
    np.testing.assert_array_equal(both.numpy(force=True), ebb.stack(alone).numpy(force=True))
