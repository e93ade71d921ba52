# tests/python/nn/modules/test_module.py -- Module: look-ups, assignment of states, conversion,
# hooks.
import pytest

import ebb
from ebb import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.second = nn.Sequential(nn.Linear(3, 1))
        self.register_buffer("count", ebb.zeros(1))

    def forward(self, x):
        return self.second(self.first(x))


def test_tensors_are_found_by_dotted_name():
    net = Net()
    assert net.get_parameter("second.0.bias") is net.second[0].bias
    assert net.get_buffer("count") is net.count
    for call in (net.get_parameter, net.get_buffer):
        kind = call.__name__.removeprefix("get_")
        with pytest.raises(AttributeError, match=f"needs a {kind}'s name, got 'first.scale'"):
            call("first.scale")
    with pytest.raises(
        AttributeError, match="get_parameter: needs a submodule's name, got 'third'"
    ):
        net.get_parameter("third.weight")


def test_shared_modules_may_be_named_twice():
    layer = nn.Linear(1, 1)
    both = nn.ModuleList([layer, layer])
    assert len(list(both.named_modules())) == 2
    assert len(list(both.named_modules(remove_duplicate=False))) == 3
    assert len(list(both.named_parameters(remove_duplicate=False))) == 4


def test_assigning_a_state_replaces_the_tensors():
    net = Net()
    net.first.weight.requires_grad_(False)
    state = {name: tensor.double() for name, tensor in Net().state_dict().items()}
    old = net.second[0].weight
    assert not any(net.load_state_dict(state, assign=True))
    assert net.second[0].weight is not old and net.first.weight.dtype is ebb.float64
    assert net.second[0].weight.data_ptr() == state["second.0.weight"].data_ptr()
    assert isinstance(net.first.weight, nn.Parameter) and net.second[0].weight.requires_grad
    assert not net.first.weight.requires_grad and net.count.dtype is ebb.float64
    state["first.bias"] = ebb.zeros(3, dtype=ebb.int64)
    with pytest.raises(ValueError, match=r"int64 instead of a floating dtype for 'first.bias'"):
        net.load_state_dict(state, assign=True)


def test_state_dict_adds_to_a_dict_under_a_prefix():
    found = {"other": 1}
    assert Net().state_dict(found, prefix="net.") is found
    assert list(found)[:2] == ["other", "net.count"]


def test_extra_state_travels_with_the_tensors():
    class Counter(nn.Linear):
        calls = 0

        def get_extra_state(self):
            return {"calls": self.calls}

        def set_extra_state(self, state):
            self.calls = state["calls"]

    net, twin = nn.Sequential(Counter(1, 1)), nn.Sequential(Counter(1, 1))
    net[0].calls = 7
    state = net.state_dict()
    assert state["0._extra_state"] == {"calls": 7}
    twin.load_state_dict(state)
    assert twin[0].calls == 7
    with pytest.raises(ValueError, match=r"missing keys: '0._extra_state'"):
        twin.load_state_dict({"0.weight": state["0.weight"], "0.bias": state["0.bias"]})
    with pytest.raises(NotImplementedError, match="set_extra_state: needs a definition in Linear"):
        nn.Linear(1, 1).set_extra_state(1)


def test_a_buffer_may_become_part_of_the_state_later():
    net = nn.Module()
    net.register_buffer("scratch", ebb.zeros(1), persistent=False)
    assert list(net.state_dict()) == []
    net.register_buffer("scratch", ebb.ones(1))
    assert list(net.state_dict()) == ["scratch"]


@pytest.mark.parametrize(
    "args, kwargs",
    [
        ((ebb.float64,), {}),
        (("cpu", ebb.float64), {}),
        ((ebb.zeros(1, dtype=ebb.float64),), {}),
        ((), {"dtype": ebb.float64, "device": "cpu", "non_blocking": True}),
        ((ebb.device("cpu"), ebb.float64, True), {}),
    ],
)
def test_to_takes_pytorchs_forms(args, kwargs):
    net = Net()
    weight = net.first.weight
    assert net.to(*args, **kwargs) is net
    assert net.first.weight is weight and weight.dtype is ebb.float64
    assert net.count.dtype is ebb.float64


def test_to_a_device_leaves_dtypes_alone():
    net = Net().half().to("cpu").cpu()
    assert net.first.weight.dtype is ebb.float16
    assert net.type(ebb.bfloat16).first.weight.dtype is ebb.bfloat16
    with pytest.raises(ValueError, match="needs a device that is there, got cuda:0"):
        net.to("cuda")
    with pytest.raises(
        TypeError, match="to: needs device, dtype, tensor, memory_format or non_blocking"
    ):
        net.to(speed=3)
    with pytest.raises(TypeError, match=r"must be ebb.device or str, got int"):
        net.to(3)


def test_hooks_may_see_keywords_and_come_first():
    class Scale(nn.Module):
        def forward(self, x, *, by=1):
            return x * by

    net, seen = Scale(), []
    net.register_forward_pre_hook(lambda module, args: seen.append("old"))
    net.register_forward_pre_hook(lambda module, args: seen.append("new"), prepend=True)
    net.register_forward_pre_hook(
        lambda module, args, kwargs: (args, {"by": kwargs["by"] + 1}), with_kwargs=True
    )
    net.register_forward_hook(
        lambda module, args, kwargs, out: out + kwargs["by"], with_kwargs=True
    )
    assert net(10, by=2) == 33
    assert seen == ["new", "old"]


class Gathering(nn.Module):
    def forward(self, *args, **kwargs):
        return args, kwargs


@pytest.mark.parametrize("count", [0, 1, 8, 9, 40])
def test_a_call_passes_any_number_of_arguments_on(count):
    args = tuple(range(count))
    assert Gathering()(*args) == (args, {})
    assert Gathering()(*args, last=1) == (args, {"last": 1})


def test_forward_may_be_any_callable_of_the_class_or_the_instance():
    class Static(nn.Module):
        forward = staticmethod(lambda x: x + 1)

    class Bound(nn.Module):
        @property
        def forward(self):
            return [3, 5].__getitem__

    own = Gathering()
    own.forward = lambda *args: ("own", *args)
    assert (Static()(1), Bound()(1), own(1)) == (2, 5, ("own", 1))
