# tests/python/amp/test_differences.py -- mixed precision where PyTorch's does something else.
"""Rows of the table "Where ebb differs from PyTorch" in docs/amp.md that no other file is about."""

import asyncio

import pytest

import ebb
from ebb import nn

BF16, F32 = ebb.bfloat16, ebb.float32
KINDS = {"RNN": 1, "GRU": 3, "LSTM": 4}


def product_dtype():
    return (ebb.ones(2, 2) @ ebb.ones(2, 2)).dtype


def states_of(result):
    out, state = result
    return [out, *state] if isinstance(state, tuple) else [out, state]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("level", "wanted"), [("O1", F32), ("O2", BF16), ("O3", BF16)])
def test_recurrent_layers_stay_in_float32_at_o1(kind, level, wanted):
    layer = getattr(nn, kind)(3, 4)
    with ebb.profiler.profile(record_shapes=True) as prof, ebb.autocast("cpu", level=level):
        found = states_of(layer(ebb.rand(5, 2, 3)))
    assert {one.dtype for one in found} == {wanted}
    (product,) = [one for one in prof.ranges if one.name == "linear"]
    assert {one.split()[0] for one in product.operands} == {"bfloat16"}
    sum(one.float().sum() for one in found).backward()
    assert {one.grad.dtype for one in layer.parameters()} == {F32}


@pytest.mark.parametrize("kind", KINDS)
def test_the_scan_at_o1_is_that_of_float32(kind):
    layer, x = getattr(nn, kind)(3, 4), ebb.rand(5, 2, 3)
    with ebb.no_grad():
        layer.weight_ih_l0.zero_()  # nothing that is rounded is left but the sum of the biases
        for bias in (layer.bias_ih_l0, layer.bias_hh_l0):
            bias.copy_((bias * 64).round() / 64)
    plain = layer(x)[0]
    with ebb.autocast("cpu"):
        assert layer(x)[0].tolist() == plain.tolist()


def test_steps_of_generators_run_inside_and_their_caller_outside():
    @ebb.autocast("cpu")
    def steps():
        yield product_dtype()
        yield product_dtype()

    found = []
    for inside in steps():
        found.append((inside, product_dtype()))
    assert found == [(BF16, F32)] * 2


def test_steps_of_async_functions_run_inside_and_their_caller_outside():
    @ebb.autocast("cpu")
    async def product():
        before = product_dtype()
        await asyncio.sleep(0)
        return before, product_dtype()

    async def caller():
        task = asyncio.ensure_future(product())
        await asyncio.sleep(0)  # the task is in its block, and waits
        between = product_dtype()
        return between, await task, product_dtype()

    assert asyncio.run(caller()) == (F32, (BF16, BF16), F32)


def test_update_with_a_number_sets_the_scale_before_any_was_used():
    scaler = ebb.amp.GradScaler(init_scale=4.0)
    scaler.update(3.0)
    assert scaler.get_scale() == 3.0
    assert scaler.scale(ebb.ones(())).item() == 3.0


def test_unscale_without_a_scaled_loss_divides_what_is_there():
    weight = ebb.ones(2, requires_grad=True)
    optimizer = ebb.optim.SGD([weight], lr=1.0)
    scaler = ebb.amp.GradScaler(init_scale=4.0)
    weight.grad = ebb.full((2,), 8.0)
    scaler.unscale_(optimizer)
    assert weight.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    "call",
    [lambda x: x.softmax(0), lambda x: x.sum(), lambda x: nn.functional.layer_norm(x, (4,))],
    ids=["softmax", "sum", "norm"],
)
def test_sums_norms_and_softmax_are_float32(call):
    with ebb.autocast("cpu"):
        assert call(ebb.ones(4, dtype=BF16)).dtype == F32


def test_cumprod_runs_as_called():
    with ebb.autocast("cpu"):
        assert ebb.ones(4, dtype=BF16).cumprod(0).dtype == BF16
        assert ebb.ones(4, dtype=F32).cumprod(0).dtype == F32
