# tests/python/nn/modules/test_state_hooks.py -- what programs put between modules and their state.
import copy

import pytest

import ebb
from ebb import nn


def net():
    return nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.BatchNorm1d(2)))


def values(module):
    return [p.tolist() for p in module.parameters()]


def test_hooks_of_saving_run_before_a_module_and_after_its_parts():
    model, calls = net(), []
    model.register_state_dict_pre_hook(lambda m, prefix, keep: calls.append(("pre", prefix, keep)))
    model[1].register_state_dict_post_hook(
        lambda m, state, prefix, metadata: calls.append((prefix, len(state), metadata))
    )

    def rename(module, state, prefix, metadata):
        state[prefix + "new"] = state.pop(prefix + "0.weight")

    model.register_state_dict_post_hook(rename)
    state = model.state_dict(prefix="net.")
    assert calls == [("pre", "net.", False), ("net.1.", 7, {"version": 1})]
    assert list(state)[-1] == "net.new" and "net.0.weight" not in state


def test_a_state_keeps_the_version_of_each_module():
    state = net().state_dict()
    assert state._metadata["1.0"] == {"version": 1} and set(state._metadata) == {
        "",
        "0",
        "1",
        "1.0",
    }


def test_a_hook_before_loading_may_rename_what_is_given():
    model, other = net(), net()
    state = other.state_dict()
    state["0.kernel"] = state.pop("0.weight")

    def rename(module, state, prefix, metadata, strict, missing, unexpected, errors):
        assert module is model[0] and strict and not (missing or unexpected or errors)
        state[prefix + "weight"] = state.pop(prefix + "kernel")

    handle = model[0].register_load_state_dict_pre_hook(rename)
    model.load_state_dict(state)
    assert values(model) == values(other) and "0.kernel" in state
    handle.remove()
    with pytest.raises(ebb.errors.ValueError, match=r"missing keys: '0\.weight'"):
        model.load_state_dict(state)


def test_older_hooks_before_loading_are_not_told_the_module():
    class Renamed(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(ebb.ones(1))
            self._register_load_state_dict_pre_hook(self.rename)

        def rename(self, state, prefix, *rest):
            self.seen = prefix
            state[prefix + "scale"] = state.pop(prefix + "gain")

    first = Renamed()
    model = nn.Sequential(copy.deepcopy(first))
    model.load_state_dict({"0.gain": ebb.tensor([4.0])})
    assert model[0].scale.item() == 4.0 and model[0].seen == "0."
    assert not hasattr(first, "seen")  # a copy's hook is bound to the copy


def test_a_hook_after_loading_sees_the_values_and_may_forgive_missing_names():
    model, state = net(), net().state_dict()
    del state["0.bias"]

    def forgive(module, report):
        assert module[0].weight.tolist() == state["0.weight"].tolist()
        report.missing_keys.clear()

    model.register_load_state_dict_post_hook(forgive)
    assert model.load_state_dict(state).missing_keys == []


def test_hooks_after_loading_do_not_run_when_a_shape_is_wrong():
    model, state = net(), net().state_dict()
    before = values(model)
    state["0.bias"] = ebb.zeros(3)
    model.register_load_state_dict_post_hook(lambda *args: pytest.fail("called"))
    with pytest.raises(ebb.errors.ValueError, match="shape"):
        model.load_state_dict(state)
    assert values(model) == before


class Versioned(nn.Module):
    _version = 2

    def __init__(self):
        super().__init__()
        self.rate = nn.Parameter(ebb.zeros(1))
        self.inner = nn.Linear(1, 1)

    def _load_from_state_dict(self, state, prefix, metadata, *rest):
        if metadata.get("version", 1) < 2:
            state[prefix + "rate"] = state[prefix + "rate"] * 10
        super()._load_from_state_dict(state, prefix, metadata, *rest)
        self.loaded = self.rate.item()


def test_a_module_may_load_itself_and_is_told_the_version():
    old = {"0.rate": ebb.ones(1), "0.inner.weight": ebb.ones(1, 1), "0.inner.bias": ebb.ones(1)}
    model = nn.Sequential(Versioned())
    model.load_state_dict(old)
    assert model[0].loaded == 10.0 and model[0].inner.bias.item() == 1.0
    model.load_state_dict(model.state_dict())
    assert model[0].loaded == 10.0


@pytest.mark.parametrize("change, text", [
    (lambda state: state.pop("0.rate"), "missing keys: '0.rate'"),
    (lambda state: state.pop("0.inner.bias"), "missing keys: '0.inner.bias'"),
    (lambda state: state.update({"0.more": ebb.ones(1)}), "unexpected keys: '0.more'"),
    (lambda state: state.update({"0.inner.more": ebb.ones(1)}), "unexpected keys: '0.inner.more'"),
    (lambda state: state.update({"0.rate": ebb.ones(2)}), "shape .2. instead of .1. for '0.rate'"),
])  # fmt: skip
def test_a_module_that_loads_itself_reports_as_others_do(change, text):
    model = nn.Sequential(Versioned())
    state = model.state_dict()
    change(state)
    with pytest.raises(ebb.errors.ValueError, match=text):
        model.load_state_dict(state)


def test_a_part_may_define_what_it_saves():
    class Short(nn.Linear):
        def _save_to_state_dict(self, destination, prefix, keep_vars):
            destination[prefix + "w"] = self.weight.detach()

    class Whole(nn.Linear):
        def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
            destination[prefix + "all"] = 7
            return destination

    state = nn.Sequential(Short(1, 1), Whole(1, 1)).state_dict()
    assert list(state) == ["0.w", "1.all"]


def test_a_part_may_define_how_it_is_converted():
    class Table(nn.Module):
        def __init__(self):
            super().__init__()
            self.values = ebb.ones(2)

        def _apply(self, fn, recurse=True):
            super()._apply(fn, recurse)
            self.values = fn(self.values)
            return self

    model = nn.Sequential(Table(), nn.Linear(1, 1)).double()
    assert model[0].values.dtype is ebb.float64 and model[1].weight.dtype is ebb.float64


def test_to_empty_gives_new_memory_to_parameters_and_their_gradients():
    layer = nn.Linear(2, 3)
    layer(ebb.ones(1, 2)).sum().backward()
    weight, places = layer.weight, [p.data_ptr() for p in layer.parameters()]
    assert layer.to_empty(device="cpu") is layer
    assert layer.weight is weight and list(weight.grad.shape) == [3, 2]
    assert not {p.data_ptr() for p in layer.parameters()} & set(places)
    outer = nn.Sequential(layer)
    places = [p.data_ptr() for p in layer.parameters()]
    outer.to_empty(device="cpu", recurse=False)
    assert [p.data_ptr() for p in layer.parameters()] == places


def test_a_submodule_is_replaced_by_its_dotted_name():
    model = net()
    layer = nn.Linear(3, 3)
    model.set_submodule("1.0", layer)
    assert model[1][0] is layer
    model.set_submodule("1.more", layer)
    assert model[1].more is layer and len(list(model.modules(remove_duplicate=False))) == 5
    for target, strict in [("1.other", True), ("2.0", False), ("0.weight", False)]:
        with pytest.raises(AttributeError, match="set_submodule: needs a submodule's name"):
            model.set_submodule(target, layer, strict)
    with pytest.raises(ebb.errors.ValueError, match="needs a name and a Module, got '' and Linear"):
        model.set_submodule("", layer)


def test_hooks_that_are_always_called_run_after_a_failure():
    model, calls = nn.Linear(2, 2), []
    model.register_forward_hook(lambda m, args, out: calls.append("plain"))
    handle = model.register_forward_hook(lambda m, args, out: calls.append(out), always_call=True)
    with pytest.raises(ebb.errors.ShapeError):
        model(ebb.ones(3))
    assert calls == [None]
    model(ebb.ones(2))
    assert calls[1] == "plain" and len(calls) == 3
    handle.remove()
    with pytest.raises(ebb.errors.ShapeError):
        model(ebb.ones(3))
    assert len(calls) == 3


def test_a_hook_of_all_modules_is_always_called_once():
    calls = []

    def fails(module, args, out):
        calls.append(out)
        raise RuntimeError("no")

    hooked = nn.register_module_forward_hook(fails, always_call=True)
    with hooked, pytest.raises(RuntimeError, match="no"):
        nn.ReLU()(ebb.ones(1))
    assert len(calls) == 1
