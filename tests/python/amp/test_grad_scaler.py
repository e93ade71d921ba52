# tests/python/amp/test_grad_scaler.py -- loss scaling: what is scaled, skipped, grown and refused.
import collections
import copy
import math
import pickle
import sys

import pytest

import ebb
from ebb.amp import GradScaler


def parts(**keywords):
    weight = ebb.ones(3, requires_grad=True)
    optimizer = ebb.optim.SGD([weight], lr=0.5)
    return weight, optimizer, GradScaler(init_scale=4.0, growth_interval=2, **keywords)


def run(weight, optimizer, scaler, slope=1.0):
    optimizer.zero_grad()
    scaler.scale((weight * slope).sum()).backward()
    scaler.step(optimizer)
    scaler.update()


def test_a_step_is_that_of_the_unscaled_gradient():
    weight, optimizer, scaler = parts()
    run(weight, optimizer, scaler)
    assert weight.tolist() == [0.5] * 3 and weight.grad.tolist() == [1.0] * 3


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("place", [0, 2047, 2048, 70_000])
def test_a_step_with_one_bad_gradient_is_skipped(bad, place):
    weight, spare, scaler = ebb.ones(70_001, requires_grad=True), ebb.ones(1), GradScaler()
    spare.requires_grad_()
    optimizer = ebb.optim.SGD([spare, weight], lr=1.0)
    weight.grad, spare.grad = ebb.zeros(70_001), ebb.ones(1)
    weight.grad[place] = bad
    scaler.step(optimizer)
    scaler.update()
    assert spare.item() == 1.0 and scaler.get_scale() == 2.0**15


def test_the_scale_grows_after_an_interval_and_shrinks_at_once():
    weight, optimizer, scaler = parts()
    seen = []
    for slope in (1.0, 1.0, 1.0, math.inf, 1.0, 1.0):
        run(weight, optimizer, scaler, slope)
        seen.append(scaler.get_scale())
    assert seen == [4.0, 8.0, 8.0, 4.0, 4.0, 8.0]


def test_training_in_float16_recovers_from_a_forced_overflow():
    net = ebb.nn.Sequential(ebb.nn.Linear(4, 16), ebb.nn.ReLU(), ebb.nn.Linear(16, 1))
    optimizer = ebb.optim.SGD(net.parameters(), lr=0.05)
    scaler = GradScaler(init_scale=2.0**40)
    x = ebb.rand(64, 4)
    target = x.sum(1, keepdim=True)
    losses, skipped = [], 0
    for _ in range(200):
        optimizer.zero_grad()
        with ebb.autocast("cpu", dtype=ebb.float16):
            loss = ebb.nn.functional.mse_loss(net(x), target)
        scaler.scale(loss).backward()
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        skipped += scaler.get_scale() < before
        losses.append(loss.item())
    assert skipped > 0 and losses[-1] < 0.01 * losses[0]


def test_unscaled_gradients_can_be_clipped():
    weight, optimizer, scaler = parts()
    scaler.scale((weight * 100).sum()).backward()
    scaler.unscale_(optimizer)
    norm = ebb.nn.utils.clip_grad_norm_([weight], 1.0)
    scaler.step(optimizer)
    assert norm.item() == pytest.approx(100 * math.sqrt(3))
    assert weight[0].item() == pytest.approx(1 - 0.5 / math.sqrt(3), abs=1e-5)


def test_each_optimizer_is_judged_by_its_own_gradients():
    good, bad = ebb.ones(1, requires_grad=True), ebb.ones(1, requires_grad=True)
    first, second = ebb.optim.SGD([good], lr=1.0), ebb.optim.SGD([bad], lr=1.0)
    scaler = GradScaler(init_scale=2.0)
    good.grad, bad.grad = ebb.ones(1), ebb.full((1,), math.inf)
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    assert good.item() == 0.5 and bad.item() == 1.0 and scaler.get_scale() == 1.0


def test_outputs_of_any_nest_are_scaled():
    scaler = GradScaler(init_scale=2.0)
    out = scaler.scale({"a": [ebb.ones(1)], "b": (ebb.ones(1), ebb.ones(1))})
    assert out["a"][0].item() == 2.0 and isinstance(out["b"], tuple) and out["b"][1].item() == 2.0
    pair = collections.namedtuple("Pair", "loss aux")(ebb.ones(1), ebb.ones(1))
    assert scaler.scale(pair).aux.item() == 2.0
    with pytest.raises(ebb.errors.ValueError, match="scale: needs at most 100 levels"):
        cycle = []
        cycle.append(cycle)
        scaler.scale(cycle)
    with pytest.raises(ebb.errors.DTypeError, match="scale: needs a tensor or a nest"):
        scaler.scale("loss")


def test_a_scaler_that_is_off_passes_everything_through():
    weight, optimizer, scaler = parts(enabled=False)
    run(weight, optimizer, scaler)
    assert weight.tolist() == [0.5] * 3 and scaler.get_scale() == 1.0
    assert scaler.state_dict() == {} and not scaler.is_enabled()


def test_its_state_goes_over_to_another():
    weight, optimizer, scaler = parts()
    run(weight, optimizer, scaler)
    other = GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    run(weight, optimizer, other)
    assert other.get_scale() == 8.0
    with pytest.raises(ebb.errors.ValueError, match="load_state_dict: needs a state"):
        other.load_state_dict({})


def test_a_state_that_lacks_a_part_changes_nothing():
    scaler = GradScaler(init_scale=8.0)
    before = scaler.state_dict()
    for name in before:
        lacking = {**before, "scale": 2.0}
        del lacking[name]
        with pytest.raises(ebb.errors.ValueError, match=f"load_state_dict: needs {name}, got none"):
            scaler.load_state_dict(lacking)
    with pytest.raises(ebb.errors.ValueError, match="growth_factor"):
        scaler.load_state_dict({**before, "scale": 2.0, "growth_factor": 0.5})
    assert scaler.state_dict() == before


def test_the_scale_stays_a_number_with_an_inverse():
    weight = ebb.ones(1, requires_grad=True)
    optimizer = ebb.optim.SGD([weight], lr=0.0)
    scaler = GradScaler(growth_interval=1, growth_factor=2.0**60, backoff_factor=2.0**-60)
    for gradient in [1.0] * 5 + [math.nan] * 9:
        weight.grad = ebb.full((1,), gradient)
        scaler.step(optimizer)
        scaler.update()
        assert math.isfinite(scaler.get_scale()) and math.isfinite(1 / scaler.get_scale())


def test_calls_in_a_wrong_order_are_refused():
    weight, optimizer, scaler = parts()
    with pytest.raises(RuntimeError, match=r"update: needs a step\(\)"):
        scaler.update()
    with pytest.raises(RuntimeError, match="step: needs gradients to look at"):
        scaler.step(optimizer)
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_: needs one call .* unscaled at test_grad"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    line = sys._getframe().f_lineno - 1
    with pytest.raises(
        RuntimeError, match=rf"step: .* stepped at test_grad_scaler.py:{line} in test"
    ):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="unscale_: needs to be called before step"):
        scaler.unscale_(optimizer)


def test_copies_are_made_between_steps_only():
    weight, optimizer, scaler = parts()
    scaler.scale(weight.sum()).backward()
    scaler.step(optimizer)
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(RuntimeError, match=r"GradScaler: needs to be copied before step\(\)"):
            copied(scaler)
    scaler.update()
    assert copy.deepcopy(scaler).state_dict() == scaler.state_dict()
    assert pickle.loads(pickle.dumps(scaler)).state_dict() == scaler.state_dict()


def test_sparse_gradients_are_unscaled_and_looked_at():
    layer = ebb.nn.Embedding(4, 2, sparse=True)
    optimizer = ebb.optim.SparseAdam(layer.parameters())
    scaler = GradScaler(init_scale=1024.0)
    for factor, made in ((1.0, True), (math.inf, False)):
        before = layer.weight.tolist()
        optimizer.zero_grad()
        scaler.scale((layer(ebb.tensor([1, 2, 2])) * factor).sum()).backward()
        scaler.unscale_(optimizer)
        assert layer.weight.grad.is_selected_rows
        assert layer.weight.grad.to_dense()[:, 0].tolist() == [0, factor, 2 * factor, 0]
        scaler.step(optimizer)
        scaler.update()
        assert (layer.weight.tolist() != before) is made
    assert scaler.get_scale() == 512.0


def test_wrong_arguments_are_named():
    for keywords in (
        *({"growth_factor": 1.0}, {"backoff_factor": 1.5}, {"growth_interval": 0}),
        *({"init_scale": 0.0}, {"init_scale": math.nan}, {"growth_interval": 1.5}),
    ):
        with pytest.raises(ebb.errors.ValueError, match=f"GradScaler: '{next(iter(keywords))}'"):
            GradScaler(**keywords)
    _, optimizer, scaler = parts()
    with pytest.raises(ebb.errors.ValueError, match="got a closure"):
        scaler.step(optimizer, lambda: None)
    for scale in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ebb.errors.ValueError, match="update: 'new_scale' needs 0 < x < inf"):
            scaler.update(scale)


def test_float16_gradients_are_refused():
    weight = ebb.ones(1, dtype=ebb.float16, requires_grad=True)
    weight.grad = ebb.ones(1, dtype=ebb.float16)
    with pytest.raises(ebb.errors.DTypeError, match="unscale_: needs gradients of a wider dtype"):
        GradScaler().unscale_(ebb.optim.SGD([weight], lr=1.0))
