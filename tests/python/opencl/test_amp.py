# tests/python/opencl/test_amp.py -- mixed precision on the device: the CPU's casts and losses, and
# gradients that are unscaled, looked at and skipped there.
import math

import pytest

import ebb
from ebb import nn, optim
from ebb.nn import functional as F
from tests.python.opencl import test_training
from tests.python.opencl.conftest import IS_STAND_IN
from tests.python.opencl.test_waits import waits

HALVES = [ebb.bfloat16, ebb.float16]
# Both round each result to the half type; sums that round apart now and then differ by a unit.
TOLERANCE = {ebb.bfloat16: 2e-2, ebb.float16: 2e-3}


def mlp():
    return nn.Sequential(nn.Linear(20, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 10))


def trained(device, make_model, batches, dtype, level="O1", init_scale=2.0**16):
    """Losses, the last scores, the model and the scaler after a step for each batch."""
    ebb.manual_seed(0)
    model = make_model()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    model.to(device)
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)
    if level != "O1":
        model, optimizer = ebb.amp.decorate(
            model, optimizer, level=level, dtype=dtype.__repr__()[4:]
        )
    scaler = ebb.amp.GradScaler(ebb.device(device).type, init_scale, enabled=dtype == ebb.float16)
    losses = []
    for inputs, targets in batches:
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        with ebb.autocast(inputs.device.type, dtype=dtype, level=level):
            scores = model(inputs)
            loss = F.cross_entropy(scores, targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.detach())
    return [loss.item() for loss in losses], scores.detach(), model, scaler


def random_batches(steps=10):
    ebb.manual_seed(1)
    return [(ebb.randn(64, 20), ebb.randint(0, 10, (64,))) for _ in range(steps)]


@pytest.mark.parametrize("level", ["O1", "O2"])
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_losses_are_those_of_the_cpu_under_autocast(dtype, level, opencl):
    batches = random_batches()
    expected, wanted, on_cpu, _ = trained("cpu", mlp, batches, dtype, level)
    losses, scores, model, _ = trained(opencl, mlp, batches, dtype, level)
    assert (scores.dtype, scores.device) == (wanted.dtype, ebb.device(opencl))
    assert losses == pytest.approx(expected, abs=TOLERANCE[dtype])
    for one, other in zip(model.parameters(), on_cpu.parameters(), strict=True):
        assert (one.dtype, one.grad.dtype) == (other.dtype, other.grad.dtype)
        assert one.grad.device == ebb.device(opencl)


@pytest.mark.parametrize("dtype", [ebb.bfloat16, pytest.param(ebb.float16, marks=pytest.mark.long)])
def test_the_digits_train_under_autocast(dtype, opencl):
    batches = list(test_training.digits_batches())[:8]
    make = test_training.digits_cnn
    expected, _, _, _ = trained("cpu", make, batches, dtype)
    losses, _, _, _ = trained(opencl, make, batches, dtype)
    assert losses == pytest.approx(expected, abs=TOLERANCE[dtype])
    plain = trained(opencl, make, batches[:1], dtype, "O0")[0]
    assert losses[0] != plain[0]  # something was cast


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_each_op_is_cast_as_on_the_cpu(dtype, opencl):
    def results(device):
        x = ebb.linspace(-1, 1, 12).reshape(3, 4).to(device).requires_grad_()
        with ebb.autocast(device.partition(":")[0], dtype=dtype):
            product = x @ x.T
            parts = [
                product,
                product.exp(),
                product.softmax(1),
                product + 1,
                F.layer_norm(product, [3]),
            ]
            mixed = product + x[:, :3]
        (sum(one.float().sum() for one in parts) + mixed.sum()).backward()
        return [*parts, mixed], x.grad

    here, slope = results("cpu")
    there, slope_there = results(opencl)
    assert [one.dtype for one in there] == [one.dtype for one in here]
    for one, other in zip([*there, slope_there], [*here, slope], strict=True):
        ebb.testing.assert_close(one.detach().cpu(), other.detach(), rtol=2e-2, atol=2e-2)


def test_leaves_are_cast_once_in_a_block_on_the_device(opencl):
    w = ebb.ones(4, 4, device=opencl).requires_grad_()
    x = ebb.ones(2, 4, device=opencl)
    with ebb.autocast(w.device.type):
        y = x @ w + x @ w
    casts = list(ebb.graph(y).find("amp_cast"))
    assert len(casts) == 1


def halves_of(device, slope):
    weight = ebb.ones(3).to(device).requires_grad_()
    matrix = ebb.ones(5, 4).to(device).T.detach().requires_grad_()
    optimizer = optim.SGD([weight, matrix], lr=0.5)
    scaler = ebb.amp.GradScaler(ebb.device(device).type, init_scale=4.0, growth_interval=2)
    scaler.scale((weight * slope).sum() + (matrix * 0.5).sum()).backward()
    return weight, matrix, optimizer, scaler


@pytest.mark.parametrize("slope", [2.0, math.inf, -math.inf, math.nan])
def test_a_step_is_made_only_where_all_is_finite(slope, opencl):
    weight, matrix, optimizer, scaler = halves_of(opencl, slope)
    scaler.step(optimizer)
    scaler.update()
    is_made = math.isfinite(slope)
    assert weight.tolist() == ([0.0] * 3 if is_made else [1.0] * 3)
    assert matrix.tolist() == [[0.75 if is_made else 1.0] * 5] * 4
    assert scaler.get_scale() == (4.0 if is_made else 2.0)


def test_training_recovers_from_a_forced_overflow(opencl):
    """The scale of the second step is infinite in float16: that step alone is skipped."""
    ebb.manual_seed(0)
    net = mlp().to(opencl)
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    scaler = ebb.amp.GradScaler(ebb.device(opencl).type, init_scale=256.0)
    moved = []
    for step, (inputs, targets) in enumerate(random_batches(4)):
        if step == 1:
            scaler.update(2.0**40)
        before = [one.detach().clone() for one in net.parameters()]
        optimizer.zero_grad()
        with ebb.autocast(ebb.device(opencl).type, dtype=ebb.float16):
            loss = F.cross_entropy(net(inputs.to(opencl)), targets.to(opencl))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if step == 1:
            assert scaler.get_scale() == 2.0**39
            scaler.update(256.0)
        after = net.parameters()
        moved.append(any((a != b).any().item() for a, b in zip(before, after, strict=True)))
    assert moved == [True, False, True, True]


@pytest.mark.parametrize("place", [0, 1023, 1024, 70_000])
@pytest.mark.parametrize("dtype", [ebb.float32, ebb.float64, ebb.bfloat16], ids=str)
def test_one_bad_element_is_found_anywhere(place, dtype, opencl):
    spare = ebb.ones(1, device=opencl).requires_grad_()
    weight = ebb.ones(70_001, dtype=dtype, device=opencl).requires_grad_()
    optimizer, scaler = optim.SGD([spare, weight], lr=1.0), ebb.amp.GradScaler(opencl)
    weight.grad, spare.grad = (
        ebb.zeros(70_001, dtype=dtype, device=opencl),
        ebb.ones(1, device=opencl),
    )
    weight.grad[place] = math.nan
    scaler.step(optimizer)
    scaler.update()
    assert spare.item() == 1.0 and scaler.get_scale() == 2.0**15


def test_gradients_on_several_devices_are_all_looked_at(opencl):
    for bad in range(2):
        params = [ebb.ones(2).requires_grad_(), ebb.ones(2, device=opencl).requires_grad_()]
        optimizer, scaler = optim.SGD(params, lr=1.0), ebb.amp.GradScaler(opencl, init_scale=2.0)
        for index, one in enumerate(params):
            one.grad = ebb.full([2], math.inf if index == bad else 4.0, device=one.device)
        scaler.unscale_(optimizer)
        assert params[1 - bad].grad.tolist() == [2.0, 2.0]
        scaler.step(optimizer)
        assert [one.tolist() for one in params] == [[1.0, 1.0]] * 2


def test_a_step_waits_once_for_what_was_found(opencl):
    weight, matrix, optimizer, scaler = halves_of(opencl, 2.0)
    before = waits()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_([weight, matrix], 1.0)
    nn.utils.clip_grad_value_([weight, matrix], 0.5)
    assert waits() == before
    scaler.step(optimizer)
    after = waits()
    # One copy to the host; over the stand-in its two calls of the driver count, too.
    assert after - before == (3 if IS_STAND_IN else 1)
    scaler.update()
    assert waits() == after


def test_unscaling_refuses_and_counts_as_a_write(opencl):
    x = ebb.ones(3, dtype=ebb.float16, device=opencl).requires_grad_()
    x.grad = ebb.ones(3, dtype=ebb.float16, device=opencl)
    optimizer, scaler = optim.SGD([x], lr=0.1), ebb.amp.GradScaler(opencl)
    with pytest.raises(ebb.errors.DTypeError, match="float16 for parameter 0"):
        scaler.unscale_(optimizer)
    y = ebb.ones(3, device=opencl).requires_grad_()
    y.grad = ebb.ones(3, device=opencl).requires_grad_()
    loss = (y.grad * y.grad).sum()
    with ebb.no_grad():
        ebb.amp.GradScaler(opencl).unscale_(optim.SGD([y], lr=0.1))
    with pytest.raises(ebb.errors.Error, match="unscale_"):
        loss.backward()


def test_values_are_clipped_there(opencl):
    weight = ebb.zeros(4, device=opencl).requires_grad_()
    weight.grad = ebb.tensor([-3.0, 0.25, math.nan, math.inf]).to(opencl)
    nn.utils.clip_grad_value_([weight], 0.5)
    ebb.testing.assert_close(
        weight.grad.cpu(), ebb.tensor([-0.5, 0.25, math.nan, 0.5]), equal_nan=True
    )


def test_norms_of_gradients_are_summed_in_float64(opencl):
    weight = ebb.zeros(3, device=opencl).requires_grad_()
    weight.grad = ebb.tensor([3e30, 4e30, 0.0]).to(opencl)  # whose squares are no float32
    norm = nn.utils.clip_grad_norm_([weight], 1.0)
    assert norm.dtype == ebb.float32
    assert norm.item() == pytest.approx(5e30)
    many = ebb.zeros(1 << 20, device=opencl).requires_grad_()
    ebb.manual_seed(5)
    grad = ebb.rand(1 << 20)
    many.grad = grad.to(opencl)
    exact = grad.double().square().sum().sqrt().item()
    assert nn.utils.clip_grad_norm_([many], 1e9).item() == pytest.approx(exact, rel=6e-8)
