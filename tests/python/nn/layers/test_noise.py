# tests/python/nn/layers/test_noise.py -- random activations: what they draw, and what stays of the
# input.
import numpy as np
import pytest

import ebb
from ebb import nn

F = nn.functional
LIMIT = -1.7580993408473766


@pytest.mark.parametrize("dtype", [ebb.float16, ebb.float32, ebb.float64])
def test_gumbel_softmax_draws_classes_as_softmax_says(dtype):
    logits = ebb.tensor([0.0, 1.0, 2.0], dtype=dtype).expand(20000, 3)
    drawn = F.gumbel_softmax(logits, hard=True)
    assert drawn.dtype is dtype
    assert set(drawn.unique().tolist() if hasattr(drawn, "unique") else (0, 1)) == {0, 1}
    shares = drawn.float().mean(0).numpy()
    np.testing.assert_allclose(shares, F.softmax(logits[0].float(), 0).numpy(), atol=0.015)


def test_soft_gumbel_samples_add_up_to_one_and_are_finite():
    soft = F.gumbel_softmax(ebb.zeros(500, 7), tau=0.3, dim=0)
    np.testing.assert_allclose(soft.sum(0).numpy(), 1, rtol=1e-5)
    assert soft.isfinite().all()


def test_a_hard_sample_has_the_gradient_of_the_soft_one():
    grads = []
    for hard in (False, True):
        ebb.manual_seed(1)
        logits = ebb.zeros(4, 5, requires_grad=True)
        (F.gumbel_softmax(logits, hard=hard) * ebb.arange(5)).sum().backward()
        grads.append(logits.grad.numpy())
    np.testing.assert_allclose(grads[0], grads[1], rtol=1e-5)


def test_a_generator_repeats_what_it_draws():
    draws = [
        F.gumbel_softmax(ebb.zeros(3, 4), generator=ebb.Generator().manual_seed(7))
        for _ in range(2)
    ]
    assert ebb.equal(*draws)


def test_alpha_dropout_keeps_mean_and_variance_of_selu_networks():
    x = ebb.randn(200000)
    out = nn.AlphaDropout(0.3)(x)
    assert abs(out.mean().item()) < 0.01 and abs(out.var().item() - 1) < 0.02
    assert nn.AlphaDropout(0.3).eval()(x) is x


def test_alpha_dropout_of_features_treats_a_channel_as_one():
    p = 0.4
    x = ebb.randn(50, 8, 6)
    out = F.feature_alpha_dropout(x, p, training=True)
    a = ((LIMIT**2 * p + 1) * (1 - p)) ** -0.5
    kept = (out - (x * a - LIMIT * a * p)).abs().amax(2) < 1e-5
    dropped = (out - (LIMIT * a - LIMIT * a * p)).abs().amax(2) < 1e-5
    assert (kept ^ dropped).all()
    assert 0.3 < dropped.float().mean().item() < 0.5


def test_rrelu_draws_a_slope_for_each_negative_element():
    x = ebb.randn(10000).requires_grad_()
    out = nn.RReLU(0.2, 0.6)(x)
    out.sum().backward()
    slopes = x.grad[x < 0].numpy()
    assert slopes.min() >= 0.2 and slopes.max() < 0.6 and abs(slopes.mean() - 0.4) < 0.01
    np.testing.assert_allclose((out / x).detach().numpy(), x.grad.numpy(), rtol=1e-5)
    assert ebb.equal(nn.RReLU(0.2, 0.6).eval()(x), F.leaky_relu(x, 0.4))


def test_alpha_dropout_shifts_complex_numbers_along_the_real_axis():
    x = ebb.full((1000,), 2 - 1j, dtype=ebb.complex64, requires_grad=True)
    out = F.alpha_dropout(x, 0.3, training=True)
    kept = out.imag != 0
    assert 600 < kept.sum() < 800
    a = -out.imag[kept][0].item()
    assert ebb.allclose(out[kept], 2 * a - 1j * a + out[kept][0].real - 2 * a)
    dropped = out[~kept]
    assert dropped.numel() > 0 and (dropped == dropped[0]).all() and dropped[0].real < 0
    real = F.alpha_dropout(ebb.full((1000,), 2.0), 0.3, training=True)
    assert ebb.allclose(dropped[0].real, real.min()) and ebb.allclose(out.real.max(), real.max())
    out.abs().sum().backward()
    assert (x.grad != 0).sum() == kept.sum() and x.grad.dtype is ebb.complex64
    channels = F.feature_alpha_dropout(ebb.ones(2, 50, 3, dtype=ebb.complex64), 0.5, training=True)
    assert (channels == channels[..., :1]).all() and channels.dtype is ebb.complex64


@pytest.mark.parametrize("name", ["celu", "rrelu", "selu", "threshold", "alpha_dropout"])
def test_inplace_forms_write_the_input(name):
    x = ebb.randn(5)
    options = (0.5, 2.0) if name == "threshold" else ()
    wanted = getattr(F, name)(x, *options)
    if hasattr(F, name + "_"):
        assert getattr(F, name + "_")(x, *options) is x
    else:
        assert getattr(F, name)(x, *options, inplace=True) is x
    assert ebb.equal(x, wanted)
