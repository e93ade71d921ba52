# tests/python/nn/test_parallel.py -- programs written for several devices, on one.
import pytest

import ebb
from ebb import nn


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
