# tests/python/nn/modules/test_containers.py -- Sequential, ModuleDict, ParameterList,
# ParameterDict.
import inspect
from collections import OrderedDict

import pytest

import ebb
from ebb import nn


def kinds(container):
    return [type(module).__name__ for module in container]


def test_sequential_grows_and_shrinks():
    net = nn.Sequential(nn.Linear(2, 3))
    assert net.append(nn.Tanh()) is net
    net.insert(0, nn.Identity())
    net.extend([nn.Flatten(), nn.Tanh()])
    assert kinds(net) == ["Identity", "Linear", "Tanh", "Flatten", "Tanh"]
    assert isinstance(net.pop(0), nn.Identity)
    del net[-1]
    assert kinds(net) == ["Linear", "Tanh", "Flatten"]
    assert list(net.state_dict()) == ["0.weight", "0.bias"]
    assert net(ebb.ones(4, 2)).shape == (4, 3)


def test_sequential_slices_share_modules_and_keep_names():
    net = nn.Sequential(OrderedDict(first=nn.Linear(2, 3), act=nn.Tanh(), last=nn.Linear(3, 1)))
    tail = net[1:]
    assert isinstance(tail, nn.Sequential) and tail[1] is net.last
    assert [name for name, _ in tail.named_children()] == ["act", "last"]
    net[0] = nn.Linear(5, 3)
    assert net.first.in_features == 5
    assert kinds(net + nn.Sequential(nn.ReLU())) == ["Linear", "Tanh", "Linear", "ReLU"]


def test_sequential_may_have_parameters_of_its_own():
    class Scaled(nn.Sequential):
        def __init__(self, *modules):
            super().__init__(*modules)
            self.scale = nn.Parameter(ebb.ones(1))

        def forward(self, input):
            return super().forward(input) * self.scale

    net = Scaled(nn.Identity(), nn.Flatten())
    assert len(net) == 2 and net(ebb.ones(2, 3, 4)).shape == (2, 12)


def test_module_list_adds_and_pops():
    layers = nn.ModuleList([nn.Tanh()]) + nn.ModuleList([nn.Identity()])
    layers += [nn.Flatten()]
    assert kinds(layers) == ["Tanh", "Identity", "Flatten"]
    assert isinstance(layers.pop(), nn.Flatten) and len(layers) == 2
    assert kinds(nn.ModuleList(None)) == []


def test_neither_of_list_and_sequential_is_the_other():
    assert not isinstance(nn.Sequential(), nn.ModuleList)
    assert not isinstance(nn.ModuleList(), nn.Sequential)
    with pytest.raises(NotImplementedError, match="ModuleList"):
        nn.ModuleList([nn.ReLU()])(ebb.ones(1))


def test_a_list_shows_neighbours_of_one_text_once():
    blocks = nn.ModuleList([nn.Sequential(nn.ReLU()), nn.Sequential(nn.ReLU()), nn.Tanh()])
    assert repr(blocks) == (
        "ModuleList(\n  (0-1): 2 x Sequential(\n    (0): ReLU()\n  )\n  (2): Tanh()\n)"
    )
    assert "(0): ReLU()\n  (1): ReLU()" in repr(nn.Sequential(nn.ReLU(), nn.ReLU()))
    assert repr(nn.ModuleList()) == "ModuleList()"


def test_module_dict_behaves_like_a_dict():
    heads = nn.ModuleDict({"a": nn.Linear(1, 2)})
    heads["b"] = nn.Tanh()
    heads.update([("c", nn.Identity())])
    assert list(heads) == list(heads.keys()) == ["a", "b", "c"]
    assert "b" in heads and "d" not in heads and len(heads) == 3
    assert heads["a"](ebb.ones(1, 1)).shape == (1, 2)
    assert isinstance(heads.pop("b"), nn.Tanh)
    del heads["c"]
    assert list(heads.state_dict()) == ["a.weight", "a.bias"]
    with pytest.raises(KeyError):
        heads["b"]
    with pytest.raises(KeyError):
        del heads["b"]
    heads.clear()
    assert len(heads) == 0 and list(heads.values()) == [] and list(heads.items()) == []


def test_module_dict_refuses_strangers():
    with pytest.raises(TypeError, match="ModuleDict: needs a Module, got int"):
        nn.ModuleDict({"a": 3})
    with pytest.raises(ValueError, match="needs a new name without dots, got 'keys'"):
        nn.ModuleDict({"keys": nn.Tanh()})


def test_parameter_list_makes_parameters():
    weights = nn.ParameterList([ebb.ones(2), nn.Parameter(ebb.zeros(1))])
    weights.append(ebb.ones(3))
    weights += [ebb.ones(4)]
    assert [p.numel() for p in weights] == [2, 1, 3, 4]
    assert all(isinstance(p, nn.Parameter) for p in weights)
    weights[-1] = ebb.zeros(5)
    assert weights[3].numel() == 5 and len(weights[1:3]) == 2
    assert list(weights.state_dict()) == ["0", "1", "2", "3"]
    assert "(0): Parameter containing: [ebb.float32 of size 2]" in repr(weights)
    with pytest.raises(IndexError, match="ParameterList: needs an index from -4 to 3, got 4"):
        weights[4]
    with pytest.raises(TypeError, match="ParameterList: needs Tensors, got float"):
        weights.append(1.0)
    with pytest.raises(TypeError, match="needs a list of Tensors, got one Tensor"):
        nn.ParameterList(ebb.ones(3))


def test_parameter_dict_behaves_like_a_dict():
    weights = nn.ParameterDict({"a": ebb.ones(2)})
    weights["b"] = nn.Parameter(ebb.zeros(1), requires_grad=False)
    weights.update({"c": ebb.ones(3)})
    assert list(weights) == list(weights.keys()) == ["a", "b", "c"] and len(weights) == 3
    assert [p.numel() for p in weights.values()] == [2, 1, 3]
    assert "a" in weights and weights.get("x") is None and not weights["b"].requires_grad
    assert weights.pop("a").numel() == 2
    del weights["b"]
    assert [name for name, _ in weights.items()] == ["c"]
    assert "(c): Parameter" in repr(weights)
    with pytest.raises(KeyError):
        del weights["b"]
    weights.clear()
    assert list(weights.parameters()) == []


def test_none_keeps_a_place_in_lists_and_dicts():
    layers = nn.ModuleList([nn.Linear(1, 1), None])
    layers.insert(0, None)
    assert [one is None for one in layers] == [True, False, True] and layers[2] is None
    assert len(list(layers.children())) == 1 and list(layers.state_dict()) == ["1.weight", "1.bias"]
    assert nn.ModuleDict({"a": None})["a"] is None and "None" in repr(layers)
    layers[0] = nn.ReLU()
    assert isinstance(layers[0], nn.ReLU)


def test_parts_are_exchanged_and_deleted_through_their_dicts():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    net._modules["0"] = new = nn.Linear(2, 3)
    assert net[0] is new and list(net._modules) == ["0", "1"]
    weight = new._parameters.pop("weight")
    assert not hasattr(new, "weight") and [name for name, _ in new.named_parameters()] == ["bias"]
    new._parameters["weight"] = fast = (weight * 2).detach()
    assert new.weight is fast and new(ebb.ones(1, 2)).shape == (1, 3)
    net[1]._buffers["running_mean"] = mean = ebb.ones(2)
    assert net[1].running_mean is mean and len(net[1]._buffers) == 3
    net._modules["a.b"] = other = nn.Linear(1, 1)
    assert getattr(net, "a.b") is other and "a.b.weight" in net.state_dict()
    with pytest.raises(KeyError):
        del net._modules["7"]


def test_a_parameter_dict_does_what_dicts_do():
    values = nn.ParameterDict({"a": ebb.ones(2), "b": ebb.zeros(1)})
    copied = values.copy()
    assert values.popitem()[0] == "b" and list(values) == ["a"]
    assert values.setdefault("c", ebb.ones(3)).tolist() == [1.0] * 3
    assert values.setdefault("a", None) is copied["a"] and list(copied) == ["a", "b"]
    with pytest.raises(KeyError, match="popitem: the ParameterDict is empty"):
        nn.ParameterDict().popitem()


def test_compile_leaves_a_module_as_it_is():
    layer = nn.Linear(2, 2)
    assert layer.compile(mode="max-autotune", fullgraph=True) is None
    assert layer(ebb.ones(2)).shape == (2,)


def test_all_weights_are_those_of_each_direction():
    lstm = nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2)
    assert [len(one) for one in lstm.all_weights] == [5] * 4
    assert lstm.all_weights[1][0] is lstm.weight_ih_l0_reverse
    assert [len(one) for one in nn.GRU(3, 4, bias=False).all_weights] == [2]


def test_a_module_has_the_signature_of_any_call_and_its_class_that_of_its_options():
    assert str(inspect.signature(nn.Sequential(nn.ReLU()))) == "(*args, **kwargs)"
    assert str(inspect.signature(nn.Linear)).startswith("(in_features")
