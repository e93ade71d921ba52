# tests/python/amp/test_decorate.py -- models in a narrow dtype, and masters for their optimizers.
import copy

import pytest

import ebb
from ebb import nn, optim
from ebb.amp import GradScaler, convert, decorate


def make_net():
    ebb.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.LayerNorm(8),
                         nn.Linear(8, 1))  # fmt: skip


def train(net, optimizer, steps=5, dtype=ebb.bfloat16, scaler=None):
    x = ebb.rand(16, 4, generator=ebb.Generator().manual_seed(1))
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        with ebb.autocast("cpu", dtype=dtype, level="O2"):
            loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("level", ["O2", "O3"])
@pytest.mark.parametrize("dtype", ["bfloat16", ebb.float16])
def test_all_but_norms_become_narrow(level, dtype):
    net = make_net()
    parameters, whole = list(net.parameters()), [one.tolist() for one in net.parameters()]
    optimizer = optim.AdamW(parameters)
    found = decorate(net, optimizer, level=level, dtype=dtype)
    assert found == (net, optimizer)
    narrow = ebb.float16 if dtype is ebb.float16 else ebb.bfloat16
    dtypes = [one.dtype for one in net.parameters()]
    assert dtypes == [narrow] * 2 + [ebb.float32] * 4 + [narrow] * 2
    assert net[1].running_mean.dtype is ebb.float32
    assert all(now is old for now, old in zip(net.parameters(), parameters, strict=True))
    masters = [optimizer.state[one]["master_weight"].tolist() for one in net[0].parameters()]
    assert masters == whole[:2]
    assert net[1].weight not in optimizer.state


@pytest.mark.parametrize("level", ["O0", "O1"])
def test_lower_levels_change_nothing(level):
    net = make_net()
    optimizer = optim.SGD(net.parameters())
    assert decorate(net, optimizer, level=level) == (net, optimizer)
    assert {one.dtype for one in net.parameters()} == {ebb.float32}
    assert not optimizer.param_groups[0]["master_weights"]


def test_excluded_modules_and_what_they_share_stay():
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2)), nn.Bilinear(2, 2, 1))
    net[0].weight = net[1][0].weight
    assert convert(net, excluded_layers=[net[1], nn.Bilinear]) is net
    narrow = [name for name, one in net.named_parameters() if one.dtype is ebb.bfloat16]
    assert narrow == ["0.bias"]


def test_lists_come_back_as_lists_and_float64_and_integers_stay():
    nets = [nn.Linear(2, 2), nn.Linear(2, 2, dtype=ebb.float64)]
    nets[0].register_buffer("count", ebb.tensor(1))
    assert decorate(nets) is nets
    assert nets[0].weight.dtype is ebb.bfloat16 and nets[0].count.dtype is ebb.int64
    assert nets[1].weight.dtype is ebb.float64


def test_training_learns_as_float32_does():
    plain, narrow = make_net(), make_net()
    wanted = train(plain, optim.AdamW(plain.parameters(), lr=1e-3), 60)
    narrow, optimizer = decorate(narrow, optim.AdamW(narrow.parameters(), lr=1e-3))
    found = train(narrow, optimizer, 60)
    assert abs(found[-1] - wanted[-1]) < 0.05 * wanted[0]


def test_float16_goes_with_a_scaler():
    net = make_net()
    net, optimizer = decorate(net, optim.SGD(net.parameters(), lr=0.01), dtype="float16")
    losses = train(net, optimizer, 30, ebb.float16, GradScaler())
    assert net[0].weight.grad.dtype is ebb.float32
    assert losses[-1] < 0.5 * losses[0]


def test_what_was_trained_before_is_kept():
    net = make_net()
    optimizer = optim.Adam(net.parameters())
    train(net, optimizer)
    before = {name: tensor.clone() for name, tensor in optimizer.state[net[0].weight].items()}
    decorate(net, optimizer)
    kept = optimizer.state[net[0].weight]
    assert all(ebb.equal(kept[name], tensor) for name, tensor in before.items())
    whole = kept["master_weight"].tolist()
    decorate(net, optimizer)  # again: the masters are not those of what is narrow now
    assert optimizer.state[net[0].weight]["master_weight"].tolist() == whole
    assert copy.deepcopy((net, optimizer))[0][0].weight.dtype is ebb.bfloat16


def test_models_are_saved_in_another_dtype_and_loaded_back():
    net = decorate(make_net(), save_dtype="float32")
    saved = nn.Sequential(net).state_dict()
    assert {one.dtype for one in saved.values() if one.is_floating_point()} == {ebb.float32}
    other = convert(make_net())
    other.load_state_dict(net.state_dict())
    assert other[0].weight.dtype is ebb.bfloat16
    assert ebb.equal(other[0].weight, net[0].weight)


def test_without_masters_state_is_narrow():
    net = make_net()
    net, optimizer = decorate(net, optim.Adam(net.parameters()), master_weight=False)
    train(net, optimizer, 2)
    kept = optimizer.state[net[0].weight]
    assert "master_weight" not in kept and kept["exp_avg"].dtype is ebb.bfloat16


def test_gradients_may_arrive_in_float32():
    net = make_net()
    x = ebb.ones(3, 4, dtype=ebb.bfloat16)
    net[0](x.float()).sum().backward()
    net, optimizer = decorate(net, optim.SGD(net.parameters()), master_grad=True)
    assert net[0].weight.grad.dtype is ebb.float32
    net[0](x).sum().backward()
    assert net[0].weight.grad.tolist() == [[6.0] * 4] * 8
    optimizer.step()


class Own(optim.Optimizer):
    def step(self):
        pass


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda net: decorate(net, level="O4"), ValueError, "'level' needs O0, O1, O2 or O3"),
        (lambda net: decorate(net, dtype="int8"), TypeError, "'dtype' needs 'bfloat16' or"),
        (lambda net: decorate(net, dtype=ebb.float32), TypeError, "'dtype' needs 'bfloat16' or"),
        (lambda net: decorate(3), TypeError, "'models' needs one or a list of them, got int"),
        (lambda net: decorate(net, Own(net.parameters(), {})), TypeError, "master_weight=False"),
        (lambda net: decorate(net, excluded_layers=[int]), TypeError, "classes of modules"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_changes(call, error, message):
    net = make_net()
    with pytest.raises(error, match=f"decorate: .*{message}" if "=" not in message else message):
        call(net)
    assert {one.dtype for one in net.parameters()} == {ebb.float32}


def test_an_optimizer_of_the_users_goes_without_masters():
    net = make_net()
    decorate(net, Own(net.parameters(), {}), master_weight=False)
    assert net[0].weight.dtype is ebb.bfloat16
