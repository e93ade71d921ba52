# tests/python/nn/modules/test_nn.py -- modules: registration, state, calls, containers, layers.
import copy

import numpy as np
import pytest

import ebb
import ebb.nn.functional as F
from ebb import nn


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.register_buffer("count", ebb.zeros(1))
        self.scale = nn.Parameter(ebb.ones(1))
        self.second = nn.Linear(3, 1)

    def forward(self, x):
        return self.second(F.relu(self.first(x))) * self.scale


NAMES = ["scale", "first.weight", "first.bias", "second.weight", "second.bias"]


# Registration.


def test_parameters_come_in_order_of_registration():
    assert [name for name, _ in Mlp().named_parameters()] == NAMES


def test_attribute_is_the_registered_parameter():
    model = Mlp()
    assert model.scale is dict(model.named_parameters())["scale"]
    assert isinstance(model.first.weight, nn.Parameter)
    assert model.first.weight.requires_grad and model.first.weight.is_leaf


def test_a_new_parameter_replaces_the_old_one():
    model = Mlp()
    model.scale = nn.Parameter(ebb.zeros(2))
    assert model.scale.shape == (2,)
    assert [name for name, _ in model.named_parameters()] == NAMES


def test_a_parameter_may_be_none():
    model = Mlp()
    model.scale = None
    assert "scale" not in dict(model.named_parameters())
    with pytest.raises(TypeError, match="needs a parameter or None for 'scale', got Tensor"):
        model.scale = ebb.ones(1)


def test_deleting_an_attribute_unregisters_it():
    model = Mlp()
    del model.first
    assert not hasattr(model, "first")
    assert [name for name, _ in model.named_children()] == ["second"]


def test_an_attribute_that_becomes_something_else_is_listed_as_that():
    model = Mlp()
    model.scale = nn.Linear(1, 1)
    assert [name for name, _ in model.named_children()] == ["first", "second", "scale"]
    assert "scale" not in model._parameters
    assert model._modules["scale"] is model.scale
    del model.scale
    assert [name for name, _ in model.named_children()] == ["first", "second"]


def test_init_must_be_called_first():
    class Forgetful(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match=r"needs super\(\).__init__\(\) before a module"):
        Forgetful()


def test_shared_parts_are_listed_once():
    layer = nn.Linear(2, 2)
    both = nn.ModuleList([layer, layer])
    assert [name for name, _ in both.named_parameters()] == ["0.weight", "0.bias"]
    assert len(list(both.modules())) == 2
    assert len(both.state_dict()) == 4  # as in PyTorch, the state has both names


def test_registration_refuses_bad_names_and_kinds():
    model = nn.Module()
    model.register_buffer("a", ebb.ones(1))
    with pytest.raises(ValueError, match="register_parameter: needs a new name without dots"):
        model.register_parameter("a", nn.Parameter(ebb.ones(1)))
    with pytest.raises(ValueError, match=r"got 'b.c'"):
        model.register_buffer("b.c", ebb.ones(1))
    with pytest.raises(TypeError, match="register_buffer: needs a Tensor or None for 'd', got int"):
        model.register_buffer("d", 3)
    with pytest.raises(TypeError, match="needs a Parameter or None for 'd', got Tensor"):
        model.register_parameter("d", ebb.ones(1))
    with pytest.raises(TypeError, match="add_module: needs a Module or None for 'd', got str"):
        model.add_module("d", "x")
    with pytest.raises(TypeError, match="register_buffer: needs a name as str, got int"):
        model.register_buffer(3, ebb.ones(1))


def test_modules_know_their_dotted_names():
    names = [name for name, _ in nn.Sequential(Mlp(), nn.ReLU()).named_modules()]
    assert names == ["", "0", "0.first", "0.second", "1"]


def test_get_submodule_follows_dots():
    model = nn.Sequential(Mlp())
    assert model.get_submodule("0.first") is model[0].first
    with pytest.raises(AttributeError, match=r"needs a submodule's name, got '0.third'"):
        model.get_submodule("0.third")


# State.


def test_state_dict_holds_parameters_and_buffers_without_history():
    state = Mlp().state_dict()
    assert list(state) == ["scale", "count", *NAMES[1:]]
    assert not any(tensor.requires_grad for tensor in state.values())


def test_buffers_may_be_left_out_of_the_state():
    model = Mlp()
    model.register_buffer("scratch", ebb.zeros(1), persistent=False)
    assert "scratch" not in model.state_dict()
    assert "scratch" in dict(model.named_buffers())


def test_load_state_dict_copies_values_in_place():
    source, target = Mlp(), Mlp()
    weight = target.first.weight
    report = target.load_state_dict(source.state_dict())
    assert target.first.weight is weight
    assert np.array_equal(weight.detach().numpy(), source.first.weight.detach().numpy())
    assert repr(report) == "<All keys matched successfully>"


def test_load_state_dict_lists_every_problem_and_copies_nothing():
    model = Mlp()
    state = {name: ebb.zeros(tensor.shape) for name, tensor in model.state_dict().items()}
    state["extra"] = state.pop("scale")
    state["first.bias"] = ebb.zeros(4)
    state["second.bias"] = [0.0]
    before = model.first.weight.detach().clone()
    with pytest.raises(ValueError) as caught:
        model.load_state_dict(state)
    assert str(caught.value) == (
        "load_state_dict: needs a state that fits Mlp, got"
        "\n\tmissing keys: 'scale'"
        "\n\tunexpected keys: 'extra'"
        "\n\tshape [4] instead of [3] for 'first.bias'"
        "\n\tlist instead of a Tensor for 'second.bias'"
    )
    assert np.array_equal(model.first.weight.detach().numpy(), before.numpy())


def test_load_state_dict_may_ignore_names():
    report = Mlp().load_state_dict({"scale": ebb.zeros(1), "extra": ebb.zeros(1)}, strict=False)
    assert report.unexpected_keys == ["extra"]
    assert "count" in report.missing_keys


def test_load_state_dict_needs_a_dict():
    with pytest.raises(TypeError, match="load_state_dict: needs a dict, got list"):
        Mlp().load_state_dict([])


def test_deepcopy_makes_independent_parameters():
    model = Mlp()
    twin = copy.deepcopy(model)
    with ebb.no_grad():
        twin.scale.fill_(5.0)
    assert model.scale.item() == 1.0
    assert isinstance(twin.scale, nn.Parameter)
    assert [name for name, _ in twin.named_parameters()] == NAMES


def test_train_and_eval_reach_all_modules():
    model = Mlp()
    assert model.eval() is model
    assert not model.first.training
    model.train()
    assert model.first.training


def test_to_converts_parameters_in_place():
    model = Mlp()
    weight = model.first.weight
    model(ebb.ones(1, 2)).sum().backward()
    assert model.double() is model
    assert model.first.weight is weight
    assert weight.dtype is ebb.float64 and weight.grad.dtype is ebb.float64
    assert model.count.dtype is ebb.float64
    with pytest.raises(TypeError, match="to: needs a floating or complex dtype"):
        model.to(ebb.int64)


def test_zero_grad_drops_gradients():
    model = Mlp()
    model(ebb.ones(1, 2)).sum().backward()
    model.zero_grad(set_to_none=False)
    assert model.scale.grad.item() == 0.0
    model.zero_grad()
    assert model.scale.grad is None


def test_requires_grad_can_be_switched_off():
    model = Mlp().requires_grad_(False)
    assert not model(ebb.ones(1, 2)).requires_grad


def test_apply_visits_children_first():
    seen = []
    nn.Sequential(nn.ReLU()).apply(lambda module: seen.append(type(module).__name__))
    assert seen == ["ReLU", "Sequential"]


# Calls and hooks.


def test_forward_must_be_defined():
    with pytest.raises(NotImplementedError, match="forward: needs a definition in Module"):
        nn.Module()(1)


def test_forward_gets_keyword_arguments():
    class Scale(nn.Module):
        def forward(self, x, *, by=1):
            return x * by

    assert Scale()(3, by=2) == 6


def test_hooks_see_and_change_input_and_output():
    layer = nn.Identity()
    before = layer.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    after = layer.register_forward_hook(lambda module, args, out: out * 10)
    assert layer(ebb.tensor(2.0)).item() == 30.0
    assert before.remove() and not before.remove()
    assert layer(ebb.tensor(2.0)).item() == 20.0
    after.remove()
    assert layer(ebb.tensor(2.0)).item() == 2.0


def test_repr_is_laid_out_as_in_pytorch():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Sequential(nn.Flatten()))
    assert repr(net) == (
        "Sequential(\n"
        "  (0): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (1): ReLU()\n"
        "  (2): Sequential(\n"
        "    (0): Flatten(start_dim=1, end_dim=-1)\n"
        "  )\n"
        ")"
    )


def test_parameter_says_what_it_is():
    assert repr(nn.Parameter(ebb.ones(1))).startswith("Parameter containing:\n")


# Containers.


def test_module_list_behaves_like_a_list():
    layers = nn.ModuleList(nn.Linear(size, size) for size in (1, 2, 3))
    layers.append(nn.ReLU())
    assert len(layers) == 4 and layers[-1] is layers[3]
    assert [layer.in_features for layer in layers[:-1]] == [1, 2, 3]
    layers.insert(0, nn.Tanh())
    del layers[1]
    layers[1] = nn.Identity()
    kinds = [type(layer).__name__ for layer in layers]
    assert kinds == ["Tanh", "Identity", "Linear", "ReLU"]
    assert [name for name, _ in layers.named_children()] == ["0", "1", "2", "3"]
    assert layers[0] in layers and nn.ReLU() not in layers


def test_module_list_refuses_strangers_and_bad_indices():
    layers = nn.ModuleList([nn.ReLU()])
    with pytest.raises(TypeError, match="append: needs a Module, got function"):
        layers.append(F.relu)
    with pytest.raises(IndexError, match="ModuleList: needs an index from -1 to 0, got 1"):
        layers[1]
    with pytest.raises(TypeError, match="insert: needs a Module, got str"):
        layers.insert(0, "x")


def test_sequential_takes_names():
    net = nn.Sequential({"hidden": nn.Linear(2, 3), "act": nn.ReLU()})
    assert [name for name, _ in net.named_parameters()] == ["hidden.weight", "hidden.bias"]
    assert net.hidden is net[0]
    assert net(ebb.ones(1, 2)).shape == (1, 3)
    assert isinstance(net[1:], nn.Sequential)


# Layers.


def test_linear_multiplies_and_adds():
    layer = nn.Linear(2, 1)
    layer.load_state_dict({"weight": ebb.tensor([[2.0, 3.0]]), "bias": ebb.tensor([10.0])})
    assert layer(ebb.tensor([[1.0, 1.0], [0.0, 2.0]])).tolist() == [[15.0], [16.0]]


def test_linear_may_have_no_bias():
    layer = nn.Linear(2, 1, bias=False)
    assert layer.bias is None
    assert list(layer.state_dict()) == ["weight"]
    assert repr(layer) == "Linear(in_features=2, out_features=1, bias=False)"


def test_linear_draws_within_its_bound_and_repeats_with_the_seed():
    ebb.manual_seed(3)
    first = nn.Linear(16, 64)
    ebb.manual_seed(3)
    second = nn.Linear(16, 64)
    largest = np.abs(first.weight.detach().numpy()).max()
    assert 0.24 < largest <= 0.25  # 1 / sqrt(16)
    assert np.array_equal(first.weight.detach().numpy(), second.weight.detach().numpy())
    assert np.array_equal(first.bias.detach().numpy(), second.bias.detach().numpy())


def test_linear_refuses_negative_sizes():
    with pytest.raises(ValueError, match="Linear: needs in_features >= 0, got -1"):
        nn.Linear(-1, 2)


def test_flatten_joins_dims():
    assert nn.Flatten()(ebb.zeros(2, 3, 4)).shape == (2, 12)
    assert nn.Flatten(0)(ebb.zeros(2, 3, 4)).shape == (24,)
    with pytest.raises(IndexError, match="Flatten: needs 0 <= start_dim"):
        nn.Flatten(5)(ebb.zeros(2, 3))


# Starting values.


def test_init_fills_in_place_without_history():
    tensor = ebb.empty(1000, dtype=ebb.float64, requires_grad=True)
    assert nn.init.uniform_(tensor, 2, 3) is tensor
    values = tensor.detach().numpy()
    assert tensor.is_leaf and values.min() >= 2 and values.max() < 3
    nn.init.normal_(tensor, 10, 0.1)
    assert abs(values.mean() - 10) < 0.02 and 0.08 < values.std() < 0.12
    assert set(nn.init.ones_(tensor).tolist()) == {1.0}
    assert set(nn.init.zeros_(tensor).tolist()) == {0.0}
