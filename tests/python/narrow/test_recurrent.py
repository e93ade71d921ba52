# tests/python/narrow/test_recurrent.py -- recurrent layers of float16 and bfloat16: rounded
# once, without a float32 copy of a tensor.
import pytest

import ebb
from tests.fuzz.rows.temporaries import memory_of

LAYERS = {
    "LSTM": (ebb.lstm_layer, 4, 2),
    "GRU": (ebb.gru_layer, 3, 1),
    "RNN": (ebb.rnn_layer, 1, 1),
}
NARROW = {ebb.float16: 2.0**-10, ebb.bfloat16: 2.0**-7}
# Times, sequences and units, such that: all is tiny; units are cut; sequences are cut; gradients of
# an LSTM's and a GRU's gates take several windows, the last of which is odd.
SIZES = [(8, 1, 1), (9, 3, 33), (8, 70, 7), (37, 64, 130)]


def operands(kind, times, batch, units, dtype):
    """Input, states, weights and biases, each representable in the dtype."""
    _, kinds, states = LAYERS[kind]
    ebb.manual_seed(0)
    rows = kinds * units
    scale = units**-0.5
    drawn = [
        ebb.randn(times, batch, 3),
        *[ebb.randn(batch, units).tanh() for _ in range(states)],
        ebb.randn(rows, 3) * 0.5,
        ebb.randn(rows, units) * scale,
        ebb.randn(rows) * 0.1,
        ebb.randn(rows) * 0.1,
    ]
    return [one.to(dtype) for one in drawn]


def gradients(kind, given, reverse):
    leaves = [one.detach().requires_grad_() for one in given]
    out, *ends = LAYERS[kind][0](*leaves, reverse=reverse)
    seed = (ebb.arange(out.numel()).reshape(out.shape) % 3 + 1).to(out.dtype)
    total = (out * seed).float().sum() + sum(end.float().sum() for end in ends)
    return out.detach(), ebb.autograd.grad(total, leaves)


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("reverse", [False, True])
def test_results_are_those_of_float32_rounded_and_gradients_near(kind, dtype, sizes, reverse):
    narrow = operands(kind, *sizes, dtype)
    wide = [one.float() for one in narrow]
    with ebb.no_grad():  # what the input adds is rounded as any product is; the scan is not
        out, *ends = LAYERS[kind][0](*narrow, reverse=reverse)
        right, *right_ends = LAYERS[kind][0](*wide, reverse=reverse)
    eps = NARROW[dtype]
    for got, exact in zip((out, *ends), (right, *right_ends), strict=True):
        assert got.dtype == dtype
        # Gates of a size around 2 are off by half a unit, which activations do not amplify.
        assert (got.float() - exact).abs().max().item() <= 4 * eps
    # A gradient of one unit is one sum of few terms of both signs: what is left of them is small.
    allowed = 4 * eps if sizes[2] > 1 else 16 * eps
    _, got = gradients(kind, narrow, reverse)
    _, exact = gradients(kind, wide, reverse)
    for one, other in zip(got, exact, strict=True):
        assert one.dtype == dtype
        scale = other.abs().max().item()
        assert scale > 0 and (one.float() - other).abs().max().item() <= allowed * scale


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_states_are_carried_in_float32_through_all_times(kind, dtype):
    """With input gates of 0 the only rounding is the last one, and it is that of each result."""
    function, kinds, _ = LAYERS[kind]
    times, batch, units = 40, 3, 33
    _, *states, _, weight, _, _ = operands(kind, times, batch, units, dtype)
    nothing = ebb.zeros(times, batch, 1, dtype=dtype)
    first = ebb.zeros(kinds * units, 1, dtype=dtype)
    out = function(nothing, *states, first, weight)[0]
    wide = [one.float() for one in (nothing, *states, first, weight)]
    assert ebb.equal(out, function(*wide)[0].to(dtype))


@pytest.mark.parametrize("kind", LAYERS)
def test_a_narrow_layer_takes_less_memory_than_a_wide_one(kind):
    peaks = {}
    for dtype in (ebb.float32, ebb.bfloat16):
        given = [one.requires_grad_() for one in operands(kind, 64, 128, 256, dtype)]

        def step(given=given):
            out, *_ = LAYERS[kind][0](*given)
            return out, ebb.autograd.grad(out.sum(), given)

        step()
        taken = memory_of(step)
        peaks[dtype] = taken.results + taken.temporaries
    # Activated gates stay in float32; what else lies at every time is half as large.
    assert peaks[ebb.bfloat16] <= 0.75 * peaks[ebb.float32]
