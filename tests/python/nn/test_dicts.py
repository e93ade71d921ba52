# tests/python/nn/test_dicts.py -- where a module has its parts: in three dicts among its
# attributes, which programs read, change and replace; what is drawn of that is in
# tests/fuzz/features/module_dicts.py.
import abc
import collections
import copy
import pickle
import threading

import pytest

import ebb
from ebb import nn


class Counting(nn.Linear):
    """Leaves an attribute out of its pickles, as programs do."""

    def __init__(self):
        super().__init__(2, 1)
        self.register_buffer("seen", ebb.zeros(1))
        self.register_buffer("scratch", ebb.ones(1), persistent=False)
        self.inner = nn.Linear(1, 1)
        self.lock = object()

    def __getstate__(self):
        state = self.__dict__.copy()
        del state["lock"]
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.lock = None


def test_parts_are_apart_from_attributes():
    own = vars(Counting())
    assert {name for name in own if not name.startswith("_")} == {
        "training", "in_features", "out_features", "lock"}  # fmt: skip
    assert list(own["_parameters"]) == ["weight", "bias"] and list(own["_modules"]) == ["inner"]
    assert list(own["_buffers"]) == ["seen", "scratch"] and "weight" not in own
    assert own["_non_persistent_buffers_set"] == {"scratch"}
    assert all(type(own[kind]) is dict for kind in ("_parameters", "_buffers", "_modules"))


def test_what_is_written_there_is_so_in_the_module():
    module = nn.Linear(2, 1)
    module.__dict__.update(rate=3, name="a")
    del module.__dict__["name"]
    module.__dict__["_buffers"]["kept"] = ebb.ones(1)
    assert (
        module.rate == 3 and not hasattr(module, "name") and list(module.state_dict())[2] == "kept"
    )


def test_parts_of_a_kind_are_replaced_and_may_be_anything():
    module = nn.Linear(2, 1)
    weight = ebb.ones(1, 2) * 2
    module._parameters = {"weight": weight, "other": "a placeholder"}
    assert module.weight is weight and module.other == "a placeholder"
    assert not hasattr(module, "bias") and list(module._parameters) == ["weight", "other"]
    module.__dict__["_modules"] = {"inner": nn.ReLU()}
    module._buffers = {"seen": ebb.zeros(1)}
    assert [name for name, _ in module.named_children()] == ["inner"]
    assert module.seen.tolist() == [0.0] == module.__dict__["_buffers"]["seen"].tolist()


@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_module_that_leaves_attributes_out_of_its_state_comes_back(twin_of):
    module = Counting()
    module.train(False)
    twin = twin_of(module)
    assert twin.lock is None and not twin.training and list(twin.state_dict()) == [
        "weight", "bias", "seen", "inner.weight", "inner.bias"]  # fmt: skip
    assert ebb.equal(twin.weight, module.weight) and twin.scratch.tolist() == [1.0]
    assert twin.weight is not module.weight and twin.inner is not module.inner


def test_hooks_stay_with_a_copied_state():
    module, calls = Counting(), []
    module.register_forward_hook(lambda *args: calls.append(1))
    twin = copy.copy(module)
    twin(ebb.ones(1, 2))
    assert calls == [1]
    twin._forward_hooks.clear()
    twin.other = nn.ReLU()
    module(ebb.ones(1, 2))
    assert calls == [1, 1] and not hasattr(module, "other")


def test_a_class_whose_first_base_is_no_module_has_them_too():
    class Base(abc.ABC, nn.Module):
        pass

    class Derived(nn.Linear, Base):
        pass

    module = Derived(2, 1)
    assert list(module.__dict__["_parameters"]) == ["weight", "bias"]
    module.__dict__ = {"own": 1}
    assert module.own == 1 and not hasattr(module, "weight")


def test_attributes_are_given_as_a_whole():
    module, other = nn.Linear(2, 1), nn.Linear(2, 1)
    other.__dict__ = module.__dict__
    assert other.weight is module.weight
    other.__dict__ = nn.Linear(3, 1).__dict__.copy()
    assert other.in_features == 3 and [p.shape for p in other.parameters()] == [(1, 3), (1,)]


def test_a_getattr_of_a_subclass_is_asked_for_parts_before_modules_are():
    class Wrapper(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def __getattr__(self, name):
            if name == "asked":
                return "answered"
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.inner, name)

    module = Wrapper(nn.Linear(2, 1))
    assert module.weight is module.inner.weight and module.asked == "answered"
    module._buffers["asked"] = ebb.ones(1)
    assert module.asked == "answered"
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'nothing'"):
        module.nothing  # noqa: B018


def test_a_getattr_that_a_class_gets_or_loses_later_counts():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.ReLU()

    class Derived(Net):
        pass

    modules = [Net(), Derived()]
    parts = [one.inner for one in modules]
    Net.__getattr__ = lambda self, name: name
    assert [one.inner for one in modules] == ["inner", "inner"]
    del Net.__getattr__
    assert [one.inner for one in modules] == parts


def test_a_property_comes_before_a_part_and_falls_back_to_it():
    class Net(nn.Module):
        @property
        def first(self):
            return "computed"

        @property
        def second(self):
            return self._second

    net = Net()
    net.first, net.second = nn.ReLU(), nn.Tanh()
    assert net.first == "computed" and type(net.second) is nn.Tanh
    assert [name for name, _ in net.named_children()] == ["first", "second"]
    del net._modules["second"]
    with pytest.raises(AttributeError, match="_second"):
        net.second  # noqa: B018


def test_a_part_stands_before_a_plain_value_of_its_class_and_behind_a_method():
    class Net(nn.Module):
        shortcut = None

        def half(self):
            return "method"

    net = Net()
    assert net.shortcut is None
    net.shortcut = part = nn.ReLU()
    net.half = nn.ReLU()
    assert net.shortcut is part and net.half() == "method"
    del net.shortcut
    assert net.shortcut is None


def test_values_that_are_read_again_and_again_are_those_of_now():
    class Net(nn.Module):
        pass

    net, other = Net(), ebb.ones(1)
    net.register_buffer("x", ebb.zeros(1))
    read = [net.x is net._buffers["x"]]
    net._buffers["x"] = other
    read.append(net.x is other)
    vars(net)["x"] = 3
    read.append(net.x == 3)
    net._buffers = {"x": None}
    del vars(net)["x"]
    read.append(net.x is None)
    Net.x = property(lambda self: "class")
    read.append(net.x == "class")
    del Net.x
    net._buffers = collections.OrderedDict(x=other)
    read.append(net.x is other)
    net._buffers = collections.ChainMap({"x": 7})
    read.append(net.x == 7)
    assert read == [True] * 7


def test_a_dead_modules_parts_are_no_other_modules():
    for step in range(300):
        net = nn.Module()
        net.part = nn.ReLU()
        net.part.step = step
        assert net.part.step == step and net.part is net._modules["part"]
        del net


def test_a_name_that_is_no_interned_text_finds_its_part():
    net = nn.Linear(2, 1)
    name = "".join(["wei", "ght"])
    assert getattr(net, name) is net.weight and "weight" in dir(net)

    class Text(str):
        pass

    assert getattr(net, Text("bias")) is net.bias


def test_a_module_that_was_never_set_up_is_told_so():
    class Net(nn.Module):
        def __init__(self):
            self.number = 3

    net = Net()
    assert net.number == 3 and not hasattr(net, "weight")
    for give in (
        lambda: setattr(net, "part", nn.ReLU()),
        lambda: net.register_forward_hook(print),
        lambda: net.register_buffer("x", None),
    ):
        with pytest.raises(AttributeError, match=r"Net: needs super\(\).__init__\(\) before a"):
            give()


def test_modules_that_hold_themselves_are_refused_by_those_who_would_walk_for_ever():
    net = nn.Sequential(nn.ReLU())
    net[0]._modules["up"] = net
    assert len(list(net.modules())) == 2 and "Sequential(...)" in repr(net)
    for walk in (net.state_dict, lambda: net.load_state_dict({}),
                 lambda: list(net.named_modules(remove_duplicate=False))):  # fmt: skip
        with pytest.raises(ebb.errors.ValueError, match="needs modules that do not hold them"):
            walk()


def test_threads_read_parts_while_another_exchanges_them():
    net, stop, seen = nn.Linear(2, 1), threading.Event(), []
    known = {id(net.weight): net.weight}

    def read():
        while not stop.is_set():
            seen.append(id(net.weight))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for one in threads:
        one.start()
    for _ in range(2000):
        made = nn.Parameter(ebb.ones(1, 2))
        known[id(made)] = made
        net.weight = made
    stop.set()
    for one in threads:
        one.join()
    assert {*seen} <= {*known}
