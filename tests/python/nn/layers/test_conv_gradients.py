# tests/python/nn/layers/test_conv_gradients.py -- nn.grad: gradients of convolutions as functions.
import pytest

import ebb
from ebb import nn

OPTIONS = [{}, {"stride": 2, "padding": 1}, {"dilation": 2, "groups": 2}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_they_are_what_backward_computes(dims, options):
    convolution = getattr(nn.functional, f"conv{dims}d")
    x = ebb.randn(2, 4, *[6] * dims, dtype=ebb.float64, requires_grad=True)
    inner = 4 // options.get("groups", 1)
    w = ebb.randn(6, inner, *[3] * dims, dtype=ebb.float64, requires_grad=True)
    out = convolution(x, w, **options)
    seed = ebb.randn_like(out)
    of_x, of_w = ebb.autograd.grad(out, [x, w], seed)
    made = getattr(nn.grad, f"conv{dims}d_input")(x.shape, w.detach(), seed, **options)
    assert ebb.allclose(made, of_x) and not made.requires_grad
    made = getattr(nn.grad, f"conv{dims}d_weight")(x.detach(), w.shape, seed, **options)
    assert ebb.allclose(made, of_w) and not made.requires_grad


def test_they_are_differentiable_again():
    x = ebb.randn(1, 2, 5, dtype=ebb.float64, requires_grad=True)
    seed = ebb.randn(1, 3, 4, dtype=ebb.float64, requires_grad=True)
    assert ebb.autograd.gradcheck(lambda a, g: nn.grad.conv1d_weight(a, (3, 2, 2), g), (x, seed))
    w = ebb.randn(3, 2, 2, dtype=ebb.float64, requires_grad=True)
    assert ebb.autograd.gradcheck(lambda b, g: nn.grad.conv1d_input((1, 2, 5), b, g), (w, seed))
    with ebb.no_grad():
        assert not nn.grad.conv1d_weight(x, (3, 2, 2), seed).requires_grad


def test_a_gradient_of_another_shape_is_refused():
    with pytest.raises(ebb.errors.ShapeError, match="conv2d_input: needs grad_output of"):
        nn.grad.conv2d_input((1, 1, 4, 4), ebb.ones(1, 1, 3, 3), ebb.ones(1, 1, 3, 3))
