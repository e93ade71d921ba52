# tests/python/nn/test_parameter_classes.py -- parameters of tensors of other classes keep theirs.
import copy
import pickle

import pytest

import ebb


class Tagged(ebb.Tensor):
    """A class that its ops keep."""

    @classmethod
    def __ebb_function__(cls, func, types, args=(), kwargs=None):
        return super().__ebb_function__(func, types, args, kwargs)


class Lost(ebb.Tensor):
    """A class that no op keeps."""


def tagged(*values):
    return ebb.tensor(values).as_subclass(Tagged)


def module():
    made = ebb.nn.Module()
    made.weight = ebb.nn.Parameter(tagged(1.0, 2.0))
    return made


def test_a_parameter_of_another_class_has_that_class_and_is_a_parameter():
    data = tagged(1.0, 2.0)
    parameter = ebb.nn.Parameter(data)
    assert type(parameter) is Tagged and isinstance(parameter, ebb.nn.Parameter)
    assert parameter.requires_grad and parameter.is_leaf
    assert parameter.data_ptr() == data.data_ptr()
    assert not isinstance(data, ebb.nn.Parameter) and not data.requires_grad
    assert not ebb.nn.Parameter(data, requires_grad=False).requires_grad


def test_a_module_registers_and_trains_it():
    net = module()
    assert [name for name, _ in net.named_parameters()] == ["weight"]
    assert type(net.weight * 2) is Tagged and not isinstance(net.weight * 2, ebb.nn.Parameter)
    optimizer = ebb.optim.SGD(net.parameters(), lr=0.5)
    net.weight.sum().backward()
    optimizer.step()
    assert net.weight.tolist() == [0.5, 1.5]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_of_it_are_parameters_of_its_class(again):
    net = module()
    other = again(net)
    assert type(other.weight) is Tagged and isinstance(other.weight, ebb.nn.Parameter)
    assert [*other.parameters()] == [other.weight] and other.weight.requires_grad
    assert other.weight.data_ptr() != net.weight.data_ptr()


def test_it_loads_a_state_and_is_converted():
    net = module()
    net.load_state_dict({"weight": ebb.tensor([3.0, 4.0])})
    assert net.weight.tolist() == [3.0, 4.0]
    net.double()
    assert net.weight.dtype is ebb.float64 and isinstance(net.weight, ebb.nn.Parameter)
    assert type(net.weight) is Tagged


def test_a_class_that_detach_loses_becomes_a_plain_parameter():
    for data in (ebb.ones(2).as_subclass(Lost), ebb.nn.Buffer(ebb.ones(2))):
        assert type(ebb.nn.Parameter(data)) is ebb.nn.Parameter


def test_classes_of_parameters_are_told_apart():
    class Own(ebb.nn.Parameter):
        pass

    assert not isinstance(ebb.nn.Parameter(tagged(1.0)), Own)
    assert not isinstance(ebb.nn.Parameter(tagged(1.0)), ebb.nn.UninitializedParameter)
    assert type(Own(tagged(1.0))) is Own
    assert not isinstance("text", ebb.nn.Parameter)
