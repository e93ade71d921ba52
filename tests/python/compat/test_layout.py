# tests/python/compat/test_layout.py -- `module.__dict__` under ebb.torch_compat: parts are in dicts
# of their own, as in PyTorch, and what is written there is so in the module.
import abc
import copy
import pickle

import pytest

import ebb
from ebb import nn
from ebb.nn import attributes


@pytest.fixture(autouse=True)
def _as_pytorch():
    before = attributes._as_pytorch  # other tests may have installed it
    attributes.show_as_pytorch(True)
    yield
    attributes.show_as_pytorch(before)


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


def test_parts_are_shown_apart_from_attributes():
    shown = Counting().__dict__
    assert set(shown) == {"training", "in_features", "out_features", "lock", "_parameters",
                          "_buffers", "_modules", "_non_persistent_buffers_set"}  # fmt: skip
    assert list(shown["_parameters"]) == ["weight", "bias"] and len(shown) == 8
    assert list(shown.get("_buffers")) == ["seen", "scratch"] and "weight" not in shown
    assert shown["_non_persistent_buffers_set"] == {"scratch"}
    for name in ("weight", "inner", "_registered"):
        with pytest.raises(KeyError, match=name):
            shown[name]
        with pytest.raises(KeyError, match=name):
            del shown[name]


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


def test_a_copy_of_parts_is_a_dict():
    parts = nn.Linear(2, 1)._parameters
    made = type(parts)((name, value * 2) for name, value in parts.items())
    assert type(made) is dict and list(made) == ["weight", "bias"]


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


def test_a_class_whose_first_base_is_no_module_has_it_too():
    class Base(abc.ABC, nn.Module):
        pass

    class Derived(nn.Linear, Base):
        pass

    assert isinstance(Base().__dict__, attributes.Layout)
    module = Derived(2, 1)
    assert list(module.__dict__["_parameters"]) == ["weight", "bias"]
    module.__dict__ = {"own": 1}
    assert module.own == 1


def test_attributes_are_given_as_a_whole():
    module, other = nn.Linear(2, 1), nn.Linear(2, 1)
    other.__dict__ = module.__dict__
    assert other.weight is module.weight
    other.__dict__ = nn.Linear(3, 1).__dict__.copy()
    assert other.in_features == 3 and [p.shape for p in other.parameters()] == [(1, 3), (1,)]


def test_without_it_all_are_in_one_dict():
    attributes.show_as_pytorch(False)
    module = nn.Linear(2, 1)
    assert type(module.__dict__) is dict and module.__dict__["weight"] is module.weight
    assert vars(copy.deepcopy(module))["in_features"] == 2


def test_only_classes_inherit_it():
    with pytest.raises(TypeError, match="_inherit_dict: needs a class"):
        ebb._C._inherit_dict(3)
