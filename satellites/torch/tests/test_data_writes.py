# satellites/torch/tests/test_data_writes.py -- `x.data` under ebb.torch_compat: writes that nobody
# who
# saved x sees, as in PyTorch; without it they count.

import numpy as np
import pytest

import ebb
from ebb import _C
from tests.python.fresh import printed

WRITES = {
    "masked_fill_": lambda data: data.masked_fill_(ebb.tensor([True, False, False]), 0.0),
    "a pointwise op": lambda data: data.mul_(3.0),
    "copy_": lambda data: data.copy_(ebb.tensor([7.0, 8.0, 9.0])),
    "fill_": lambda data: data.fill_(4.0),
    "zero_": lambda data: data.zero_(),
    "an index": lambda data: data.__setitem__(1, 5.0),
    "a slice": lambda data: data.__setitem__(slice(1, None), 5.0),
    "a mask": lambda data: data.__setitem__(data > 4, 5.0),
    "a view": lambda data: data[1:].add_(1.0),
    "a view of a view": lambda data: data.view(3, 1)[0].add_(1.0),
    "index_fill_": lambda data: data.index_fill_(0, ebb.tensor([2]), -1.0),
    "scatter_add_": lambda data: data.scatter_add_(0, ebb.tensor([0, 0]), ebb.ones(2)),
    "out=": lambda data: ebb.add(data, 1.0, out=data),
    "clamp_": lambda data: data.clamp_(0.0, 3.0),
    "uniform_": lambda data: data.uniform_(),
}


@pytest.fixture
def compat():
    before = _C._hide_data_writes(True)  # as installing does; other tests may have
    yield
    _C._hide_data_writes(before)


@pytest.fixture
def plain():
    before = _C._hide_data_writes(False)
    yield
    _C._hide_data_writes(before)


def squares():
    x = ebb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2.0
    return x, y, y * y


def test_programs_for_pytorch_have_it():
    code = (
        "from ebb import _C, torch_compat; print(_C._hide_data_writes(True)); "
        "torch_compat.uninstall(); print(_C._hide_data_writes(False)); "
        "torch_compat.install(); print(_C._hide_data_writes(True))"
    )
    assert printed(code) == "True\nFalse\nTrue\n"


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_gradients_come_of_the_values_that_were_put_in(compat, write):
    x, y, squared = squares()
    write(y.data)
    squared.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * 2 * y.detach().numpy())


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_they_count_without_it(plain, write):
    _, y, squared = squares()
    write(y.data)
    with pytest.raises(ebb.errors.AutogradError, match="modified in place by"):
        squared.sum().backward()


@pytest.mark.parametrize("way", [lambda y: y, lambda y: y.detach(), lambda y: y.data.detach()])
def test_other_ways_to_the_memory_count(compat, way):
    _, y, squared = squares()
    y.data.mul_(2.0)
    with ebb.no_grad():
        way(y).add_(1.0)
    with pytest.raises(ebb.errors.AutogradError, match=r"modified in place by add_"):
        squared.sum().backward()


@pytest.mark.parametrize("saved", [lambda data: data, lambda data: data[1:], lambda data: data.t()])
@pytest.mark.parametrize("written", [lambda data: data, lambda data: data[2:]])
def test_what_was_saved_itself_sees_the_writes(compat, saved, written):
    weight = ebb.ones(1, requires_grad=True)
    data = ebb.ones(3).data
    product = saved(data) * weight
    written(data).add_(1.0)
    with pytest.raises(ebb.errors.AutogradError, match="modified in place by add_"):
        product.sum().backward()


def test_tensors_given_such_data_count_their_own_writes(compat):
    x = ebb.ones(3)
    x.data = ebb.zeros(3).data
    weight = ebb.ones(1, requires_grad=True)
    product = x * weight
    x.add_(1.0)
    with pytest.raises(ebb.errors.AutogradError, match="modified in place by add_"):
        product.sum().backward()


def test_optimizers_see_them(compat):
    """Weights kept in float32 beside those in half precision follow what is put into these."""
    weight = ebb.nn.Parameter(ebb.ones(2, dtype=ebb.bfloat16))
    optimizer = ebb.optim.SGD([weight], lr=1.0, momentum=0.9)
    for value in (1.0, 5.0):
        weight.data.fill_(value)
        weight.grad = ebb.ones(2, dtype=ebb.bfloat16)
        optimizer.step()
    assert weight.tolist() == [3.09375] * 2  # 5 - (0.9 + 1)


@pytest.mark.parametrize("make", [ebb.nn.Parameter, ebb.nn.Buffer], ids=["Parameter", "Buffer"])
def test_a_parameter_over_data_writes_as_data_does(compat, make):
    x, y, z = squares()
    made = make(y.data)
    assert made.data_ptr() == y.data_ptr()
    with ebb.no_grad():
        made.add_(5.0)
    z.sum().backward()
    assert x.grad.tolist() == [28.0, 36.0, 44.0]  # 2 * 2 * (y + 5)


def test_a_parameter_over_what_is_not_data_is_seen(compat):
    _, y, z = squares()
    made = ebb.nn.Parameter(y.detach())
    with ebb.no_grad():
        made.add_(5.0)
    with pytest.raises(ebb.errors.AutogradError, match="modified in place by add_"):
        z.sum().backward()


def test_a_parameter_over_data_that_a_node_saved_is_seen(compat):
    made = ebb.nn.Parameter(ebb.ones(2).data)
    loss = (made * made).sum()
    with ebb.no_grad():
        made.add_(5.0)
    with pytest.raises(ebb.errors.AutogradError, match="modified in place by add_"):
        loss.backward()


class Dot(ebb.nn.Module):
    """A call gives names to its parameters, which are saved apart."""

    def __init__(self, requires_grad):
        super().__init__()
        self.factor = ebb.nn.Parameter(ebb.tensor([1.0, 2.0]), requires_grad=requires_grad)

    def forward(self, weight):
        return (self.factor * weight).sum()


def with_other_data(kind):
    weight = ebb.ones(2, requires_grad=True)
    if kind.startswith("parameter"):
        module = Dot(kind == "parameter that trains")
        loss, factor = module(weight), module.factor
    else:
        factor = ebb.tensor([1.0, 2.0], requires_grad=kind != "constant")
        factor = factor * 1.0 if kind == "with history" else factor
        loss = (factor * weight).sum()
    factor.data = ebb.tensor([10.0, 20.0])
    loss.backward()
    return weight.grad.tolist()


KINDS = ["constant", "leaf", "with history", "parameter", "parameter that trains"]


@pytest.mark.parametrize("kind", KINDS)
def test_backward_computes_with_data_given_since_as_pytorch(compat, kind):
    assert with_other_data(kind) == [10.0, 20.0]


@pytest.mark.parametrize("kind", KINDS)
def test_without_it_backward_computes_with_what_was_saved(plain, kind):
    assert with_other_data(kind) == [1.0, 2.0]


def test_data_of_another_version_leaves_what_was_saved(compat):
    weight, factor = ebb.ones(2, requires_grad=True), ebb.zeros(2).fill_(3.0)
    loss = (factor * weight).sum()
    factor.data = ebb.tensor([10.0, 20.0])
    loss.backward()
    assert weight.grad.tolist() == [3.0, 3.0] and factor.tolist() == [10.0, 20.0]
