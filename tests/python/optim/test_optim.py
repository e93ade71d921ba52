# tests/python/optim/test_optim.py -- optimizers: steps against NumPy, groups, state, refusals.
import numpy as np
import pytest

import ebb
from ebb import nn, optim


def leaf(values, grad=None):
    tensor = ebb.tensor(values, dtype=ebb.float64, requires_grad=True)
    if grad is not None:
        tensor.grad = ebb.tensor(grad, dtype=ebb.float64)
    return tensor


def test_sgd_subtracts_the_scaled_gradient():
    p = leaf([1.0, 2.0], [4.0, -8.0])
    optim.SGD([p], lr=0.25).step()
    assert p.tolist() == [0.0, 4.0]


@pytest.mark.parametrize("nesterov", [False, True])
def test_sgd_follows_its_definition(nesterov):
    rng = np.random.default_rng(0)
    value = rng.standard_normal(5)
    p = leaf(value)
    optimizer = optim.SGD([p], lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=nesterov)
    buffer = None
    for _ in range(4):
        grad = rng.standard_normal(5)
        p.grad = ebb.tensor(grad)
        optimizer.step()
        d = grad + 0.01 * value
        buffer = d if buffer is None else 0.9 * buffer + d
        value = value - 0.1 * (d + 0.9 * buffer if nesterov else buffer)
    np.testing.assert_allclose(p.detach().numpy(), value, rtol=1e-12)


@pytest.mark.parametrize("kind", [optim.Adam, optim.AdamW])
@pytest.mark.parametrize("amsgrad", [False, True])
def test_adam_follows_its_definition(kind, amsgrad):
    rng = np.random.default_rng(1)
    value, m, v, largest = rng.standard_normal(5), 0.0, 0.0, 0.0
    p = leaf(value)
    optimizer = kind([p], lr=0.1, betas=(0.8, 0.9), weight_decay=0.2, amsgrad=amsgrad)
    for t in range(1, 6):
        grad = rng.standard_normal(5) / t
        p.grad = ebb.tensor(grad)
        optimizer.step()
        if kind is optim.AdamW:
            value = value * (1 - 0.1 * 0.2)
        else:
            grad = grad + 0.2 * value
        m = 0.8 * m + 0.2 * grad
        v = 0.9 * v + 0.1 * grad * grad
        largest = np.maximum(largest, v)
        root = np.sqrt((largest if amsgrad else v) / (1 - 0.9**t))
        value = value - 0.1 * m / (1 - 0.8**t) / (root + 1e-8)
    np.testing.assert_allclose(p.detach().numpy(), value, rtol=1e-12)


def test_parameters_without_a_gradient_stay():
    idle, busy = leaf([1.0]), leaf([1.0], [1.0])
    optimizer = optim.AdamW([idle, busy])
    optimizer.step()
    assert idle.item() == 1.0 and busy.item() != 1.0
    assert list(optimizer.state) == [busy]


def test_zero_grad_drops_gradients_or_fills_them():
    p = leaf([1.0], [5.0])
    optimizer = optim.SGD([p])
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.item() == 0.0
    optimizer.zero_grad()
    assert p.grad is None


def test_groups_have_options_of_their_own():
    slow, fast = leaf([0.0], [1.0]), leaf([0.0], [1.0])
    optimizer = optim.SGD([{"params": [slow]}, {"params": fast, "lr": 1.0}], lr=0.5)
    optimizer.step()
    assert slow.item() == -0.5 and fast.item() == -1.0
    optimizer.param_groups[0]["lr"] = 4.0
    optimizer.step()
    assert slow.item() == -4.5


def test_closure_is_run_with_gradients_on():
    p = leaf([2.0])
    optimizer = optim.SGD([p], lr=0.25)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with ebb.no_grad():
        assert optimizer.step(closure).item() == 4.0
    assert p.item() == 1.0


def test_a_step_makes_older_graphs_stale():
    p = leaf([3.0])
    loss = (p * p).sum()
    loss.backward(retain_graph=True)
    optim.SGD([p], lr=0.1).step()
    with pytest.raises(RuntimeError, match="SGD"):
        loss.backward()


@pytest.mark.parametrize("kind", [lambda p: optim.SGD(p, lr=0.1, momentum=0.9), optim.AdamW])
def test_state_dict_resumes_exactly(kind):
    def run(steps, resume_at=None):
        p = leaf([1.0, -2.0])
        optimizer = kind([p])
        for step in range(steps):
            if step == resume_at:
                state = optimizer.state_dict()
                optimizer = kind([p])
                optimizer.load_state_dict(state)
            optimizer.zero_grad()
            (p * p * p).sum().backward()
            optimizer.step()
        return p.tolist()

    assert run(6) == run(6, resume_at=3)


def test_state_dict_has_pytorchs_layout():
    p = leaf([1.0], [1.0])
    optimizer = optim.AdamW([p], lr=0.5)
    optimizer.step()
    state = optimizer.state_dict()
    assert state["param_groups"][0]["params"] == [0]
    assert state["param_groups"][0]["lr"] == 0.5
    assert state["state"][0]["step"] == 1
    assert set(state["state"][0]) == {"step", "exp_avg", "exp_avg_sq"}


def test_load_state_dict_refuses_other_shapes():
    optimizer = optim.SGD([leaf([1.0])], momentum=0.9)
    with pytest.raises(TypeError, match=r"needs what state_dict\(\) returned, got list"):
        optimizer.load_state_dict([])
    other = optim.SGD([leaf([1.0]), leaf([1.0])]).state_dict()
    with pytest.raises(ValueError, match=r"needs groups of \[1\] parameters, got groups of \[2\]"):
        optimizer.load_state_dict(other)
    wrong = optim.SGD([leaf([1.0, 2.0], [1.0, 1.0])], momentum=0.9)
    wrong.step()
    with pytest.raises(ValueError, match=r"needs state 'momentum_buffer' of shape \[1\]"):
        optimizer.load_state_dict(wrong.state_dict())
    adam = optim.AdamW([leaf([1.0])]).state_dict()
    with pytest.raises(
        ValueError, match=r"load_state_dict of SGD: needs options among .*, got amsgrad, betas, eps"
    ):
        optimizer.load_state_dict(adam)


def test_bad_parameters_are_refused():
    p = leaf([1.0])
    with pytest.raises(ValueError, match="SGD: needs at least one parameter, got an empty list"):
        optim.SGD([])
    with pytest.raises(TypeError, match="SGD: needs a list of parameters, got one Tensor"):
        optim.SGD(p)
    with pytest.raises(TypeError, match="SGD: needs Tensors, got str as parameter 1"):
        optim.SGD([p, "x"])
    with pytest.raises(ValueError, match="SGD: needs each parameter once, got parameter 1 again"):
        optim.SGD([p, p])
    with pytest.raises(ValueError, match="needs each parameter in one group, got one in two"):
        optim.SGD([{"params": [p]}, {"params": [p]}])
    with pytest.raises(ValueError, match="needs leaf tensors"):
        optim.SGD([p * 2])
    with pytest.raises(TypeError, match="needs floating or complex parameters, got int64"):
        optim.SGD([ebb.tensor([1])])


def test_bad_options_are_refused():
    p = leaf([1.0], [1.0])
    with pytest.raises(ValueError, match="SGD: needs lr >= 0, got -1"):
        optim.SGD([p], lr=-1)
    with pytest.raises(TypeError, match="SGD: needs a number for lr, got str"):
        optim.SGD([p], lr="fast")
    with pytest.raises(ValueError, match="AdamW: needs 0 <= beta1 < 1, got 2"):
        optim.AdamW([p], betas=(2.0, 0.9))
    with pytest.raises(ValueError, match=r"Adam: needs two betas, got 0.9"):
        optim.Adam([p], betas=0.9)
    with pytest.raises(ValueError, match=r"needs options among lr, .*, got weight_decy"):
        optim.SGD([{"params": [p], "weight_decy": 3}])
    optimizer = optim.SGD([p])
    optimizer.param_groups[0]["momentum"] = -1
    with pytest.raises(ValueError, match="SGD: needs momentum >= 0, got -1"):
        optimizer.step()


def test_rmsprop_and_adagrad_refuse_bad_options():
    p = leaf([1.0])
    with pytest.raises(ValueError, match="RMSprop: needs alpha >= 0, got -1"):
        optim.RMSprop([p], alpha=-1)
    with pytest.raises(ValueError, match="Adagrad: needs initial_accumulator_value >= 0, got -1"):
        optim.Adagrad([p], initial_accumulator_value=-1)


def test_keys_that_are_no_options_are_kept():
    p = leaf([1.0], [1.0])
    optimizer = optim.AdamW([{"params": [p], "name": "head", "lr_scale": 0.5}], fused=True)
    optimizer.step()
    group = optimizer.state_dict()["param_groups"][0]
    assert group["name"] == "head" and group["lr_scale"] == 0.5
    twin = optim.AdamW([p])
    twin.load_state_dict(optimizer.state_dict())
    assert twin.param_groups[0]["name"] == "head"


def test_an_option_taken_away_is_missed():
    optimizer = optim.SGD([leaf([1.0], [1.0])])
    del optimizer.param_groups[0]["lr"]
    with pytest.raises(ValueError, match="SGD: needs lr in its group, got nothing"):
        optimizer.step()


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_all_threads_give_the_same_bits(name):
    rng = np.random.default_rng(2)
    values = [rng.standard_normal(n).astype(np.float32) for n in (40_000, 3, 50_000)]
    before, results = ebb.get_num_threads(), []
    for threads in (1, 2, 5):
        ebb.set_num_threads(threads)
        parameters = [ebb.tensor(value, requires_grad=True) for value in values]
        optimizer = getattr(optim, name)(parameters, lr=0.1)
        for _ in range(2):
            for p in parameters:
                p.grad = p.detach() * 3
            optimizer.step()
        results.append([p.detach().numpy().tobytes() for p in parameters])
    ebb.set_num_threads(before)
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_every_dtype_agrees_with_float64(name, dtype):
    dtype = getattr(ebb, dtype)
    rng = np.random.default_rng(3)
    value, grad = rng.standard_normal((2, 300))
    grad += np.copysign(0.5, grad)  # the square of a small one is nothing in float16
    if dtype.is_complex:
        value, grad = value[:150] + 1j * value[150:], grad[:150] + 1j * grad[150:]
    results = []
    for kind in (dtype, ebb.complex128 if dtype.is_complex else ebb.float64):
        p = ebb.tensor(value, dtype=dtype).to(kind).requires_grad_()
        p.grad = ebb.tensor(grad, dtype=dtype).to(kind)
        optimizer = getattr(optim, name)([p], lr=0.25, weight_decay=0.125)
        optimizer.step()
        optimizer.step()
        results.append(p.detach().to(ebb.complex128 if dtype.is_complex else ebb.float64).numpy())
    tolerance = {"float16": 5e-3, "bfloat16": 4e-2}.get(str(dtype).split(".")[-1], 1e-5)
    np.testing.assert_allclose(results[0], results[1], rtol=tolerance, atol=tolerance)


def test_repr_shows_the_options():
    text = repr(optim.SGD([leaf([1.0])], lr=0.5))
    assert text.startswith("SGD (\nParameter Group 0\n") and "    lr: 0.5" in text


def test_half_parameters_are_updated_in_their_type():
    p = ebb.tensor([1.0, 2.0], dtype=ebb.bfloat16, requires_grad=True)
    p.grad = ebb.ones(2, dtype=ebb.bfloat16)
    optim.SGD([p], lr=0.5).step()
    assert p.dtype is ebb.bfloat16 and p.float().tolist() == [0.5, 1.5]


def test_a_network_learns():
    ebb.manual_seed(0)
    x = ebb.randn(64, 3)
    y = x.sum(1, keepdim=True)
    net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = optim.AdamW(net.parameters(), lr=0.02)
    losses = []
    for _ in range(200):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] > 1.0 and losses[-1] < 0.05
