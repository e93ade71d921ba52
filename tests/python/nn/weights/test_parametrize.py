# tests/python/nn/weights/test_parametrize.py -- parameters that are computed, normed, pruned or
# fused.
import copy
import pickle

import numpy as np
import pytest

import ebb
from ebb import nn
from ebb.nn.utils import (
    fuse_conv_bn_eval,
    fuse_linear_bn_eval,
    parametrizations,
    parametrize,
    remove_spectral_norm,
    remove_weight_norm,
    spectral_norm,
    weight_norm,
)
from ebb.nn.utils.parametrizations import of_norms
from ebb.nn.utils.parametrize import (
    cached,
    is_parametrized,
    register_parametrization,
    remove_parametrizations,
    transfer_parametrizations_and_params,
    type_before_parametrizations,
)


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).mT


class Exponential(nn.Module):
    calls = 0

    def forward(self, x):
        Exponential.calls += 1
        return x.exp()

    def right_inverse(self, y):
        return y.log()


class Sum(nn.Module):
    def forward(self, x, y):
        return x + y

    def right_inverse(self, z):
        return z / 4, z * 3 / 4


def positive_linear():
    layer = nn.Linear(3, 3)
    with ebb.no_grad():
        layer.weight.copy_(ebb.rand([3, 3]) + 0.5)
    return layer


def test_a_parametrized_weight_is_computed_and_its_original_trained():
    layer = nn.Linear(3, 3)
    before = layer.weight
    register_parametrization(layer, "weight", Symmetric())
    assert layer.parametrizations.weight.original is before
    assert is_parametrized(layer) and is_parametrized(layer, "weight")
    assert not is_parametrized(layer, "bias")
    np.testing.assert_array_equal(layer.weight.detach(), layer.weight.mT.detach())
    layer(ebb.ones(2, 3)).sum().backward()
    assert before.grad is not None and np.all(np.tril(before.grad.numpy(), -1) == 0)
    assert [name for name, _ in layer.named_parameters()] == [
        "bias",
        "parametrizations.weight.original",
    ]
    assert isinstance(layer, nn.Linear) and type_before_parametrizations(layer) is nn.Linear


def test_assigning_goes_through_the_right_inverse():
    layer = positive_linear()
    values = layer.weight.detach().clone()
    register_parametrization(layer, "weight", Exponential())
    np.testing.assert_allclose(layer.weight.detach(), values, rtol=1e-6)
    layer.weight = values * 2
    np.testing.assert_allclose(layer.weight.detach(), values * 2, rtol=1e-6)
    one_way = register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    with pytest.raises(ebb.Error, match=r"right_inverse: needs Symmetric\.right_inverse to assign"):
        one_way.weight = ebb.ones(2, 2)


def test_several_originals_and_several_parametrizations():
    layer = nn.Linear(3, 3)
    values = layer.weight.detach().clone()
    register_parametrization(layer, "weight", Sum())
    np.testing.assert_allclose(layer.weight.detach(), values, rtol=1e-6)
    np.testing.assert_allclose(
        layer.parametrizations.weight.original0.detach(), values / 4, rtol=1e-6
    )
    register_parametrization(layer, "weight", Symmetric())
    np.testing.assert_array_equal(layer.weight.detach(), layer.weight.mT.detach())
    layer.weight.sum().backward()
    assert layer.parametrizations.weight.original1.grad is not None
    with pytest.raises(ebb.Error, match="needs leave_parametrized=True for 'weight'"):
        remove_parametrizations(layer, "weight", leave_parametrized=False)


@pytest.mark.parametrize("leave", [True, False])
def test_removing_makes_a_plain_parameter_again(leave):
    layer = nn.Linear(3, 3)
    values = layer.weight.detach().clone()
    register_parametrization(layer, "weight", Symmetric())
    register_parametrization(layer, "bias", Exponential(), unsafe=True)
    wanted = layer.weight.detach().clone() if leave else values
    remove_parametrizations(layer, "weight", leave)
    assert is_parametrized(layer) and not is_parametrized(layer, "weight")
    np.testing.assert_array_equal(layer.weight.detach(), wanted)
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad
    remove_parametrizations(layer, "bias")
    assert type(layer) is nn.Linear and not hasattr(layer, "parametrizations")
    assert sorted(name for name, _ in layer.named_parameters()) == ["bias", "weight"]


def test_removing_leaves_saved_values_alone():
    layer = register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    saved = layer.state_dict()["parametrizations.weight.original"]
    original, values = layer.parametrizations.weight.original, saved.clone()
    remove_parametrizations(layer, "weight")
    assert layer.weight is original  # which an optimizer may hold
    np.testing.assert_array_equal(saved, values)
    assert not (layer.weight == values).all()


def test_a_cached_block_computes_once():
    layer = register_parametrization(positive_linear(), "weight", Exponential())
    Exponential.calls = 0
    with cached():
        assert layer.weight is layer.weight
        with cached():
            assert layer.weight is not None
        assert Exponential.calls == 1
    assert layer.weight is not layer.weight
    assert not parametrize._cache


def test_copies_are_independent_and_state_dicts_load():
    layer = register_parametrization(positive_linear(), "weight", Exponential())
    twin = copy.deepcopy(layer)
    with ebb.no_grad():
        twin.parametrizations.weight.original.fill_(0)
    assert (twin.weight == 1).all() and not (layer.weight == 1).all()
    twin.load_state_dict(layer.state_dict())
    np.testing.assert_array_equal(twin.weight.detach(), layer.weight.detach())
    remove_parametrizations(twin, "weight")
    assert is_parametrized(layer) and not is_parametrized(twin)
    with pytest.raises(ebb.Error, match="hint: save state_dict"):
        pickle.dumps(layer)


def test_transferring_gives_the_same_weight():
    layer = register_parametrization(positive_linear(), "weight", Exponential())
    other = transfer_parametrizations_and_params(layer, positive_linear())
    np.testing.assert_array_equal(other.weight.detach(), layer.weight.detach())
    assert other.parametrizations.weight.original is not layer.parametrizations.weight.original


def test_buffers_are_parametrized_too():
    norm = register_parametrization(nn.BatchNorm1d(3), "running_var", Exponential())
    np.testing.assert_allclose(norm.running_var, np.ones(3))
    assert "parametrizations.running_var.original" in dict(norm.named_buffers())


MISTAKES = {
    "register_parametrization: needs a Module, got int": lambda: register_parametrization(
        nn.Linear(2, 2), "weight", 3
    ),
    "register_parametrization: needs the name of a parameter or buffer of Linear, got 'w'": (
        lambda: register_parametrization(nn.Linear(2, 2), "w", Symmetric())
    ),
    "register_parametrization: needs a result for 'weight' of ebb.float32 [2, 2], got "
    "ebb.float32 [4]\nhint: unsafe=True allows it": lambda: register_parametrization(
        nn.Linear(2, 2), "weight", nn.Flatten(0)
    ),
    "remove_parametrizations: needs the name of a parametrized tensor of Linear, got 'weight'": (
        lambda: remove_parametrizations(nn.Linear(2, 2), "weight")
    ),
    "weight_norm: needs the name of a parameter of Linear, got 'w'": lambda: weight_norm(
        nn.Linear(2, 2), "w"
    ),
    "remove_weight_norm: needs what weight_norm computes, got 'weight', which is not": (
        lambda: remove_weight_norm(nn.Linear(2, 2))
    ),
    "spectral_norm: n_power_iterations needs at least 1, got 0": lambda: spectral_norm(
        nn.Linear(2, 2), n_power_iterations=0
    ),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_are_named(text):
    with pytest.raises(ebb.Error) as caught:
        MISTAKES[text]()
    assert str(caught.value) == text


SPLITS = {"hook": weight_norm, "parametrization": parametrizations.weight_norm}


@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("kind", SPLITS)
def test_weight_norm_keeps_the_weight_and_splits_its_gradient(kind, dim):
    layer = nn.Linear(3, 4, dtype=ebb.float64)
    w = layer.weight.detach().numpy().copy()
    SPLITS[kind](layer, dim=dim)
    np.testing.assert_allclose(layer.weight.detach(), w, rtol=1e-12)
    names = {"hook": ("weight_g", "weight_v"),
             "parametrization": ("parametrizations.weight.original0",
                                 "parametrizations.weight.original1")}[kind]  # fmt: skip
    g, v = (dict(layer.named_parameters())[name] for name in names)
    axis = None if dim is None else 1 - dim
    norms = np.linalg.norm(w) if dim is None else np.linalg.norm(w, axis=axis, keepdims=True)
    np.testing.assert_allclose(g.detach().numpy(), norms, rtol=1e-12)
    layer(ebb.ones([1, 3], dtype=ebb.float64)).sum().backward()
    # The loss is the sum of all weights: its slope by g is the sum of the directions.
    unit = w / norms
    slope_g = unit.sum(axis, keepdims=dim is not None)
    np.testing.assert_allclose(g.grad.numpy(), slope_g, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(v.grad.numpy(), 1 - unit * slope_g, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", [(3, 4, 5), (3, 1), (4,), (0, 2), (2, 0)])
def test_weight_norm_of_rows_has_derivatives_of_both_orders(shape):
    v = ebb.randn(shape, dtype=ebb.float64, requires_grad=True)
    g = ebb.rand(shape[:1] + (1,) * (len(shape) - 1), dtype=ebb.float64, requires_grad=True)
    norms = v.detach().norm(dim=tuple(range(1, v.ndim)), keepdim=True) if v.ndim > 1 else v.abs()
    expected = (g * v / norms).detach()
    np.testing.assert_allclose(of_norms(g, v, 0).detach(), expected, rtol=1e-13)
    assert ebb.autograd.gradcheck(lambda *x: of_norms(*x, 0), (g, v))
    assert ebb.autograd.gradgradcheck(lambda *x: of_norms(*x, 0), (g, v))


@pytest.mark.parametrize("dtype", [ebb.float16, ebb.bfloat16])
def test_weight_norm_of_half_types_computes_in_float32(dtype):
    v, g = ebb.randn(5, 300).to(dtype), ebb.rand(5, 1).to(dtype)
    wide = v.double()
    exact = g.double() * wide / wide.norm(dim=1, keepdim=True)
    found = of_norms(g, v, 0)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.double(), exact.float().to(dtype).double())


def test_weight_norm_takes_strides_and_norms_of_another_dtype():
    v = ebb.arange(1.0, 7.0).reshape(2, 3).T
    exact = v / (v * v).sum(1, keepdim=True).sqrt()
    np.testing.assert_allclose(of_norms(ebb.ones(3, 1), v, 0), exact, rtol=1e-6)
    mixed = of_norms(ebb.ones(3, 1, dtype=ebb.float64), v, 0)
    assert mixed.dtype == ebb.float64
    np.testing.assert_allclose(mixed, exact, rtol=1e-6)
    assert of_norms(ebb.ones(1, 1), ebb.zeros(1, 2), 0).isnan().all()  # 0 / 0, as PyTorch's


def test_weight_norm_as_a_hook_is_removed():
    layer = nn.Conv2d(2, 3, 2)
    w = layer.weight.detach().numpy().copy()
    weight_norm(layer)
    assert sorted(layer.state_dict()) == ["bias", "weight_g", "weight_v"]
    remove_weight_norm(layer)
    np.testing.assert_allclose(layer.weight.detach(), w, rtol=1e-6)
    assert sorted(layer.state_dict()) == ["bias", "weight"]
    assert isinstance(layer.weight, nn.Parameter)


def test_weight_norm_loads_what_the_hook_saved():
    old = nn.Sequential(weight_norm(nn.Conv2d(2, 3, 2)))
    new = nn.Sequential(parametrizations.weight_norm(nn.Conv2d(2, 3, 2)))
    copied = copy.deepcopy(new)
    for net in (new, copied):
        state = old.state_dict()
        net.load_state_dict(state)
        assert sorted(state) == sorted(old.state_dict())
        np.testing.assert_array_equal(net[0].weight.detach(), old[0].weight.detach())
    assert sorted(new.state_dict()) == [
        "0.bias",
        "0.parametrizations.weight.original0",
        "0.parametrizations.weight.original1",
    ]
    remove_parametrizations(new[0], "weight")
    with pytest.raises(ValueError, match=r"missing keys: '0\.weight'"):
        new.load_state_dict(old.state_dict())


@pytest.mark.parametrize("make", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_compute_with_parametrized_weights(make):
    layer = make(3, 4, proj_size=2) if make is nn.LSTM else make(3, 4)
    x = ebb.rand(5, 2, 3)
    names = [name for name, one in layer.named_parameters() if one.ndim == 2]
    wanted = layer(x)[0].detach()
    for name in names:
        parametrizations.weight_norm(layer, name)
    out = layer(x)[0]
    np.testing.assert_allclose(out.detach(), wanted, rtol=1e-5, atol=1e-6)
    out.sum().backward()
    for name in names:
        assert layer.parametrizations[name].original0.grad is not None
        with ebb.no_grad():
            layer.parametrizations[name].original0.zero_()
    assert not (layer(x)[0] == wanted).any()


NORMS = {"hook": spectral_norm, "parametrization": parametrizations.spectral_norm}
LAYERS = {
    "linear": (lambda: nn.Linear(3, 4, dtype=ebb.float64), [2, 3], 0),
    "conv": (lambda: nn.Conv1d(2, 3, 2, dtype=ebb.float64), [2, 2, 4], 0),
    "transposed": (lambda: nn.ConvTranspose1d(2, 3, 2, dtype=ebb.float64), [2, 2, 4], 1),
}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("kind", NORMS)
def test_spectral_norm_divides_by_the_largest_singular_value(kind, layer):
    make, shape, dim = LAYERS[layer]
    net = make()
    w = net.weight.detach().numpy().copy()
    NORMS[kind](net)
    x = ebb.ones(shape, dtype=ebb.float64)
    for _ in range(200):
        net(x)
    net.eval()
    net(x).sum().backward()
    matrix = np.moveaxis(w, dim, 0).reshape(w.shape[dim], -1)
    u, s, vt = np.linalg.svd(matrix)
    np.testing.assert_allclose(net.weight.detach().numpy(), w / s[0], rtol=1e-8)
    original = net.weight_orig if kind == "hook" else net.parametrizations.weight.original
    # d(w / s) for a slope G of the weight: (G - sum(G * w / s) * u v^T) / s.
    plain = make()
    with ebb.no_grad():
        plain.weight.copy_(ebb.tensor(w / s[0]))
    plain(x).sum().backward()
    slope = plain.weight.grad.numpy()
    outer = np.outer(u[:, 0], vt[0]).reshape(np.moveaxis(w, dim, 0).shape)
    wanted = (slope - (slope * w / s[0]).sum() * np.moveaxis(outer, 0, dim)) / s[0]
    np.testing.assert_allclose(original.grad.numpy(), wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("steps", [1, 2])
def test_a_step_of_the_hook_moves_v_first(steps):
    # PyTorch's hook: v = unit(w^T u), then u = unit(w v); its parametrization begins with u.
    layer = spectral_norm(nn.Linear(3, 4, dtype=ebb.float64), n_power_iterations=steps)
    w, u = layer.weight_orig.detach().numpy().copy(), layer.weight_u.numpy().copy()
    layer(ebb.ones(1, 3, dtype=ebb.float64))
    for _ in range(steps):
        v = w.T @ u / np.linalg.norm(w.T @ u)
        u = w @ v / np.linalg.norm(w @ v)
    np.testing.assert_allclose(layer.weight_u, u, rtol=1e-12)
    np.testing.assert_allclose(layer.weight_v, v, rtol=1e-12)
    np.testing.assert_allclose(layer.weight.detach(), w / (u @ w @ v), rtol=1e-12)


def test_spectral_norm_as_a_hook_is_removed():
    layer = spectral_norm(nn.Linear(3, 4))
    assert sorted(layer.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    layer(ebb.ones(1, 3))
    layer.eval()
    now = layer(ebb.ones(1, 3)).detach().numpy()
    remove_spectral_norm(layer)
    np.testing.assert_allclose(layer(ebb.ones(1, 3)).detach(), now, rtol=1e-6)
    assert sorted(layer.state_dict()) == ["bias", "weight"]


def trained(norm):
    with ebb.no_grad():
        norm.running_mean.copy_(ebb.randn([norm.num_features]))
        norm.running_var.copy_(ebb.rand([norm.num_features]) + 0.5)
        if norm.weight is not None:
            norm.weight.copy_(ebb.randn([norm.num_features]))
            norm.bias.copy_(ebb.randn([norm.num_features]))
    return norm


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_fused_layers_do_what_both_do(bias, affine):
    conv = nn.Conv2d(2, 3, 2, bias=bias)
    turned = nn.ConvTranspose2d(2, 3, 2, bias=bias)
    x = ebb.randn([2, 2, 4, 4])
    for layer, transpose in ((conv, False), (turned, True)):
        norm = trained(nn.BatchNorm2d(3, affine=affine))
        both = nn.Sequential(layer, norm).eval()
        fused = fuse_conv_bn_eval(layer, norm, transpose)
        np.testing.assert_allclose(fused(x).detach(), both(x).detach(), rtol=1e-4, atol=1e-5)
    linear, norm = nn.Linear(2, 3, bias=bias), trained(nn.BatchNorm1d(3, affine=affine))
    both = nn.Sequential(linear, norm).eval()
    y = ebb.randn([5, 2])
    fused = fuse_linear_bn_eval(linear, norm)
    np.testing.assert_allclose(fused(y).detach(), both(y).detach(), rtol=1e-4, atol=1e-5)
    with pytest.raises(ebb.Error, match="fuse_linear_bn_eval: needs both modules in evaluation"):
        fuse_linear_bn_eval(linear.train(), norm)


@pytest.mark.parametrize("norm", [weight_norm, spectral_norm])
def test_a_module_with_a_weight_that_a_hook_computes_is_copied_after_it_ran(norm):
    net = nn.Sequential(norm(nn.Linear(2, 2))).eval()
    out = net(ebb.ones(1, 2))
    twin = copy.deepcopy(net)
    assert ebb.equal(twin(ebb.ones(1, 2)), out)
    twin(ebb.ones(1, 2)).sum().backward()
    assert all(one.grad is not None for one in twin.parameters())
    assert all(one.grad is None for one in net.parameters())
