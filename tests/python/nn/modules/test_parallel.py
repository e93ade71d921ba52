# tests/python/nn/modules/test_parallel.py -- programs written for several devices, on one.
from collections import namedtuple

import pytest

import ebb
from ebb import nn
from ebb.nn import parallel


def test_data_parallel_passes_through_and_prefixes_names():
    inner = nn.Linear(3, 2)
    outer = nn.DataParallel(inner, device_ids=[0])
    x = ebb.randn(4, 3)
    assert ebb.equal(outer(input=x), inner(x))
    assert list(outer.state_dict()) == ["module.weight", "module.bias"]
    with pytest.raises(NotImplementedError, match="DataParallel: needs at most one device, got 2"):
        nn.DataParallel(inner, device_ids=[0, 1])


def test_every_batch_norm_is_converted_with_its_state():
    net = nn.Sequential(
        nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4, momentum=0.3), nn.Sequential(nn.BatchNorm2d(4))
    )
    net(ebb.randn(2, 3, 4, 4))
    state, weight = {k: v.clone() for k, v in net.state_dict().items()}, net[1].weight
    x = ebb.randn(2, 3, 4, 4)
    wanted = net.eval()(x)
    made = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert made is net and type(net[1]) is type(net[2][0]) is nn.SyncBatchNorm
    assert net[1].weight is weight and net[1].momentum == 0.3 and not net[1].training
    assert all(ebb.equal(value, state[name]) for name, value in net.state_dict().items())
    assert ebb.equal(net(x), wanted)


def test_one_batch_norm_becomes_one_of_any_dims():
    layer = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm1d(3))
    x = ebb.randn(5, 3, 2, 2)
    assert ebb.allclose(layer(x), nn.BatchNorm2d(3)(x))
    with pytest.raises(ValueError, match="SyncBatchNorm: needs an input of at least 2 dims with 3"):
        layer(ebb.ones(3))


def test_data_parallel_as_a_function_calls_the_module():
    layer = ebb.nn.Bilinear(2, 2, 1)
    pair = (ebb.ones(3, 2), ebb.ones(3, 2))
    assert ebb.equal(ebb.nn.parallel.data_parallel(layer, pair), layer(*pair))
    with pytest.raises(NotImplementedError, match="needs at most one device, got 2"):
        ebb.nn.parallel.data_parallel(layer, pair, device_ids=[0, 1])


def test_a_module_of_several_processes_is_refused_by_name():
    with pytest.raises(NotImplementedError, match="DistributedDataParallel: ebb runs in one proc"):
        ebb.nn.parallel.DistributedDataParallel(ebb.nn.Linear(1, 1))


def test_shares_of_one_device_are_the_whole():
    x = ebb.ones(2)
    assert parallel.scatter(x, [0])[0] is x and parallel.scatter((x, 1), ["cpu"]) == [(x, 1)]
    assert parallel.scatter_kwargs((x,), {"a": 1}, [0]) == (((x,),), ({"a": 1},))
    layer = nn.Linear(2, 2)
    assert parallel.replicate(layer, [0]) == [layer]
    for call in (parallel.scatter, parallel.replicate):
        with pytest.raises(NotImplementedError, match="needs at most one device, got 2"):
            call(layer, [0, 1])


def test_outputs_of_several_calls_are_joined_part_by_part():
    Pair = namedtuple("Pair", ["a", "b"])
    one, other = ebb.arange(2.0), ebb.arange(3.0)
    assert parallel.gather([one, other]).tolist() == [0, 1, 0, 1, 2]
    assert parallel.gather([ebb.tensor(1.0), ebb.tensor(2.0)], 0).tolist() == [1, 2]
    assert parallel.gather([one], 0) is one and parallel.gather([None, None]) is None
    joined = parallel.gather([Pair({"x": one}, [one]), Pair({"x": other}, [other])])
    assert type(joined) is Pair and joined.a["x"].shape == joined.b[0].shape == (5,)
    assert parallel.gather([ebb.ones(2, 1), ebb.ones(2, 2)], dim=1).shape == (2, 3)
    for wrong in ([], [1, 2], [one, None], [{"x": one}, {"y": one}], [[one], [one, one]]):
        with pytest.raises(ValueError, match="gather: needs"):
            parallel.gather(wrong)


def test_modules_run_one_after_the_other():
    modules = [nn.Linear(2, 3), nn.Linear(2, 3)]
    x = ebb.ones(1, 2)
    found = parallel.parallel_apply(modules, [(x,), x], [{}, None], [0, 1])
    assert all(ebb.equal(out, module(x)) for out, module in zip(found, modules, strict=True))
    with pytest.raises(ValueError, match="for 2 modules, got 1, 2 and 2"):
        parallel.parallel_apply(modules, [x])
