# tests/python/optim/test_optim.py -- optimizers: groups, state, dtypes, refusals.
#
# What they compute is compared with PyTorch in test_reference.py, and on any number of threads in
# tests/optim/optimizer_test.cpp.
import copy

import numpy as np
import pytest

import ebb
from ebb import nn, optim
from tests.python.leaves import leaf_of


def test_parameters_without_a_gradient_stay():
    idle, busy = leaf_of([1.0]), leaf_of([1.0], [1.0])
    optimizer = optim.AdamW([idle, busy])
    optimizer.step()
    assert idle.item() == 1.0 and busy.item() != 1.0
    assert list(optimizer.state) == [busy]


def test_zero_grad_drops_gradients_or_fills_them():
    p = leaf_of([1.0], [5.0])
    optimizer = optim.SGD([p])
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.item() == 0.0
    optimizer.zero_grad()
    assert p.grad is None


def test_groups_have_options_of_their_own():
    slow, fast = leaf_of([0.0], [1.0]), leaf_of([0.0], [1.0])
    optimizer = optim.SGD([{"params": [slow]}, {"params": fast, "lr": 1.0}], lr=0.5)
    optimizer.step()
    assert slow.item() == -0.5 and fast.item() == -1.0
    optimizer.param_groups[0]["lr"] = 4.0
    optimizer.step()
    assert slow.item() == -4.5


def test_closure_is_run_with_gradients_on():
    p = leaf_of([2.0])
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
    p = leaf_of([3.0])
    loss = (p * p).sum()
    loss.backward(retain_graph=True)
    optim.SGD([p], lr=0.1).step()
    with pytest.raises(RuntimeError, match="SGD"):
        loss.backward()


def test_state_dict_has_pytorchs_layout():
    p = leaf_of([1.0], [1.0])
    optimizer = optim.AdamW([p], lr=0.5)
    optimizer.step()
    state = optimizer.state_dict()
    assert state["param_groups"][0]["params"] == [0]
    assert state["param_groups"][0]["lr"] == 0.5
    assert state["state"][0]["step"] == 1
    assert set(state["state"][0]) == {"step", "exp_avg", "exp_avg_sq"}


def test_load_state_dict_refuses_other_shapes():
    optimizer = optim.SGD([leaf_of([1.0])], momentum=0.9)
    with pytest.raises(TypeError, match=r"needs what state_dict\(\) returned, got list"):
        optimizer.load_state_dict([])
    other = optim.SGD([leaf_of([1.0]), leaf_of([1.0])]).state_dict()
    with pytest.raises(ValueError, match=r"needs groups of \[1\] parameters, got groups of \[2\]"):
        optimizer.load_state_dict(other)
    wrong = optim.SGD([leaf_of([1.0, 2.0], [1.0, 1.0])], momentum=0.9)
    wrong.step()
    with pytest.raises(ValueError, match=r"needs state 'momentum_buffer' of shape \[1\]"):
        optimizer.load_state_dict(wrong.state_dict())
    adam = optim.AdamW([leaf_of([1.0])]).state_dict()
    with pytest.raises(
        ValueError, match=r"load_state_dict of SGD: needs options among .*, got amsgrad, betas, eps"
    ):
        optimizer.load_state_dict(adam)


def test_bad_parameters_are_refused():
    p = leaf_of([1.0])
    with pytest.raises(ValueError, match="SGD: needs at least one parameter, got an empty list"):
        optim.SGD([])
    with pytest.raises(TypeError, match="SGD: needs a list of parameters, got one Tensor"):
        optim.SGD(p)
    with pytest.raises(TypeError, match="SGD: needs Tensors, got str as parameter 1"):
        optim.SGD([p, "x"])
    with pytest.raises(ValueError, match="needs each parameter in one group, got one in two"):
        optim.SGD([{"params": [p]}, {"params": [p]}])
    with pytest.raises(ValueError, match="needs leaf tensors"):
        optim.SGD([p * 2])
    with pytest.raises(TypeError, match="needs floating or complex parameters, got int64"):
        optim.SGD([ebb.tensor([1])])


BAD_OPTIONS = [
    ("SGD", {"lr": -1}, "needs lr >= 0, got -1"),
    ("SGD", {"lr": float("nan")}, "needs lr >= 0, got nan"),
    ("SGD", {"lr": "fast"}, "needs a number for lr, got str"),
    ("SGD", {"momentum": -1}, "needs momentum >= 0, got -1"),
    ("SGD", {"weight_decay": -2}, "needs weight_decay >= 0, got -2"),
    ("SGD", {"nesterov": True}, "nesterov needs momentum > 0 and dampening 0, got 0 and 0"),
    ("Adam", {"betas": 0.9}, "needs two betas, got 0.9"),
    ("AdamW", {"betas": (2.0, 0.9)}, "needs 0 <= beta1 < 1, got 2"),
    ("AdamW", {"betas": (0.9, -0.5)}, "needs 0 <= beta2 < 1, got -0.5"),
    ("AdamW", {"eps": -1}, "needs eps >= 0, got -1"),
    ("AdamW", {"weight_decay": -1}, "needs weight_decay >= 0, got -1"),
    ("RMSprop", {"alpha": -1}, "needs alpha >= 0, got -1"),
    ("RMSprop", {"momentum": -1}, "needs momentum >= 0, got -1"),
    ("Adagrad", {"lr_decay": -1}, "needs lr_decay >= 0, got -1"),
    ("Adagrad", {"initial_accumulator_value": -1}, "needs initial_accumulator_value >= 0, got -1"),
    ("Adadelta", {"rho": 1.0}, "needs 0 <= rho < 1, got 1"),
    ("Adamax", {"betas": (0.9, 1)}, "needs 0 <= beta2 < 1, got 1"),
    ("NAdam", {"momentum_decay": -1}, "needs momentum_decay >= 0, got -1"),
    ("RAdam", {"betas": 3}, "needs two betas, got 3"),
    ("Rprop", {"etas": (0.5, 0.9)}, "etas need 0 < etaminus < 1 < etaplus, got 0.5 and 0.9"),
    ("Rprop", {"etas": (0.0, 2.0)}, "etas need 0 < etaminus < 1 < etaplus, got 0 and 2"),
    ("Rprop", {"step_sizes": 1}, "needs two step_sizes, got 1"),
    ("ASGD", {"lambd": -1}, "needs lambd >= 0, got -1"),
    ("Adafactor", {"d": 0.5}, "needs d >= 1, got 0.5"),
    ("Adafactor", {"beta2_decay": 1}, "needs beta2_decay <= 0, got 1"),
    (
        "LBFGS",
        {"line_search_fn": "armijo"},
        "line_search_fn needs strong_wolfe or None, got 'armijo'",
    ),
    ("Muon", {"momentum": -1}, "needs momentum >= 0, got -1"),
    (
        "Muon",
        {"adjust_lr_fn": "x"},
        "adjust_lr_fn needs one of original, match_rms_adamw, spectral_unclamped, got 'x'",
    ),
    ("Muon", {}, "needs matrices, got [1] as parameter 0"),
]


@pytest.mark.parametrize(("shape", "ratio"), [((8, 2), 2.0), ((2, 8), 0.5)])
def test_steps_of_muon_are_scaled_by_the_aspect_of_wide_matrices_too(shape, ratio):
    moved = {}
    for name in ("original", "spectral_unclamped"):
        x = ebb.ones(*shape, requires_grad=True)
        optimizer = ebb.optim.Muon([x], lr=0.1, weight_decay=0.0, adjust_lr_fn=name)
        (x * x).sum().backward()
        optimizer.step()
        moved[name] = 1 - x[0, 0].item()
    assert moved["spectral_unclamped"] / moved["original"] == pytest.approx(min(ratio, 1), rel=1e-5)


@pytest.mark.parametrize(("name", "options", "text"), BAD_OPTIONS, ids=str)
def test_options_out_of_range_are_refused(name, options, text):
    with pytest.raises((ValueError, TypeError)) as caught:
        getattr(optim, name)([leaf_of([1.0], [1.0])], **options)
    assert f"{name}: {text}" in str(caught.value)


def test_options_are_checked_in_groups_and_at_each_step():
    p = leaf_of([1.0], [1.0])
    with pytest.raises(ValueError, match=r"needs options among lr, .*, got weight_decy"):
        optim.SGD([{"params": [p], "weight_decy": 3}])
    optimizer = optim.SGD([p])
    optimizer.param_groups[0]["momentum"] = -1
    with pytest.raises(ValueError, match="SGD: needs momentum >= 0, got -1"):
        optimizer.step()


def test_centered_rmsprop_bears_a_constant_gradient():
    p = ebb.zeros(1, requires_grad=True)
    p.grad = ebb.full((1,), 0.1)
    optimizer = optim.RMSprop([p], lr=1e-3, alpha=0.5, centered=True)
    for _ in range(200):  # the variance rounds to 0 or below
        optimizer.step()
    assert ebb.isfinite(p).all()


def test_keys_that_are_no_options_are_kept():
    p = leaf_of([1.0], [1.0])
    optimizer = optim.AdamW([{"params": [p], "name": "head", "lr_scale": 0.5}], fused=True)
    optimizer.step()
    group = optimizer.state_dict()["param_groups"][0]
    assert group["name"] == "head" and group["lr_scale"] == 0.5
    twin = optim.AdamW([p])
    twin.load_state_dict(optimizer.state_dict())
    assert twin.param_groups[0]["name"] == "head"


def test_an_optimizer_of_the_users_reads_what_its_groups_have():
    class TwoRules(optim.Optimizer):
        def __init__(self, groups):
            super().__init__(groups, {})

        @ebb.no_grad()
        def step(self):
            for group in self.param_groups:
                for parameter in group["params"]:
                    scale = group["momentum"] if group["is_first"] else group["betas"][0]
                    parameter.sub_(parameter.grad, alpha=group["lr"] * scale)

    def make():
        tensors = [ebb.ones(1, requires_grad=True) for _ in range(2)]
        return tensors, TwoRules(
            [
                {"params": tensors[:1], "is_first": True, "lr": 1.0, "momentum": 0.5},
                {"params": tensors[1:], "is_first": False, "lr": 0.1, "betas": (0.5, 0.9)},
            ]
        )

    tensors, optimizer = make()
    other = make()[1]
    other.param_groups[0]["lr"] = 0.25
    optimizer.load_state_dict(other.state_dict())
    for tensor in tensors:
        tensor.grad = ebb.ones(1)
    optimizer.step()
    assert [round(tensor.item(), 4) for tensor in tensors] == [0.875, 0.95]
    assert copy.deepcopy(optimizer).param_groups[1]["betas"] == (0.5, 0.9)


def test_an_option_taken_away_is_missed():
    optimizer = optim.SGD([leaf_of([1.0], [1.0])])
    del optimizer.param_groups[0]["lr"]
    with pytest.raises(ValueError, match="SGD: needs lr in its group, got nothing"):
        optimizer.step()


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
    text = repr(optim.SGD([leaf_of([1.0])], lr=0.5))
    assert text.startswith("SGD (\nParameter Group 0\n") and "    lr: 0.5" in text


def test_half_parameters_are_updated_in_their_type():
    p = ebb.tensor([1.0, 2.0], dtype=ebb.bfloat16, requires_grad=True)
    p.grad = ebb.ones(2, dtype=ebb.bfloat16)
    optim.SGD([p], lr=0.5).step()
    assert p.dtype is ebb.bfloat16 and p.float().tolist() == [0.5, 1.5]


def test_a_network_learns():
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


EVERY = ["ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon",
         "NAdam", "RAdam", "RMSprop", "Rprop", "SGD"]  # fmt: skip


@pytest.mark.parametrize("name", EVERY)
def test_training_goes_on_from_a_state_dict_as_if_never_stopped(name):
    def train(p, optimizer, steps):
        def closure():
            optimizer.zero_grad()
            loss = ((p - 1) * (p - 1) * ebb.tensor([[1.0, 2.0], [3.0, 4.0]])).sum()
            loss.backward()
            return loss

        for _ in range(steps):
            optimizer.step(closure)

    options = {"max_iter": 1} if name == "LBFGS" else {}
    whole = ebb.zeros([2, 2], requires_grad=True)
    train(whole, getattr(optim, name)([whole], lr=0.01, **options), 6)
    half = ebb.zeros([2, 2], requires_grad=True)
    first = getattr(optim, name)([half], lr=0.01, **options)
    train(half, first, 3)
    second = getattr(optim, name)([half], lr=0.5, **options)
    second.load_state_dict(first.state_dict())
    train(half, second, 3)
    np.testing.assert_array_equal(half.detach(), whole.detach())
    assert not (whole == 0).any()


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_every_dtype_takes_steps_and_nothing_has_no_elements(name, dtype):
    kind = getattr(ebb, dtype)
    empty, full = ebb.zeros([0, 2], dtype=kind), ebb.ones([3, 2], dtype=kind)
    for one in (empty, full):
        one.requires_grad_()
    # The first step of Adadelta is lost in bfloat16 at any usual size.
    optimizer = getattr(optim, name)([empty, full], lr=100 if name == "Adadelta" else 0.1)

    def closure():
        optimizer.zero_grad()
        loss = (full.float() ** 2).sum() + empty.float().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert full.isfinite().all() and (full != 1).all() and full.dtype is kind


def test_lbfgs_leaves_parameters_where_they_were_when_its_closure_fails():
    p = leaf_of([3.0, 4.0])
    optimizer = optim.LBFGS([p], line_search_fn="strong_wolfe")
    calls = []

    def closure():
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError("no more")
        optimizer.zero_grad()
        loss = (p**4).sum()
        loss.backward()
        return loss

    with pytest.raises(RuntimeError, match="no more"):
        optimizer.step(closure)
    assert p.tolist() == [3.0, 4.0]


def test_lbfgs_needs_a_closure_and_one_group():
    with pytest.raises(TypeError, match="LBFGS needs a closure"):
        optim.LBFGS([leaf_of([1.0])]).step()
    with pytest.raises(ValueError, match="LBFGS: needs one group, got 2"):
        optim.LBFGS([{"params": [leaf_of([1.0])]}, {"params": [leaf_of([1.0])]}])


@pytest.mark.parametrize("name", [name for name in EVERY if name != "LBFGS"])
def test_a_rate_may_be_a_tensor_that_is_written_to(name):
    def run(make_rate, change):
        p = ebb.ones(2, 2, requires_grad=True)
        optimizer = getattr(optim, name)([p], lr=make_rate(0.125))
        for rate in (0.125, 0.5):
            change(optimizer.param_groups[0], rate)
            p.grad = ebb.tensor([[1.0, -2.0], [0.5, 3.0]])
            optimizer.step()
        return p.tolist()

    plain = run(float, lambda group, rate: group.update(lr=rate))
    assert run(ebb.tensor, lambda group, rate: group["lr"].fill_(rate)) == plain


def default_leaf(values):
    return ebb.tensor(values, requires_grad=True)


@pytest.mark.parametrize("kind", [optim.Adam, optim.Adagrad, optim.RMSprop, optim.Adafactor])
def test_a_parameter_that_is_given_twice_makes_two_steps(kind):
    twice, other, once = default_leaf([1.0, 2.0]), default_leaf([3.0]), default_leaf([1.0, 2.0])
    with pytest.warns(UserWarning, match=f"{kind.__name__}: needs each parameter once") as warned:
        optimizer = kind([twice, other, twice], lr=0.1)
    reference = kind([once], lr=0.1)
    for step in (1.0, 2.0):
        twice.grad = once.grad = ebb.tensor([step, -step])
        other.grad = ebb.tensor([0.5])
        optimizer.step()
        reference.step()
        reference.step()
    assert twice.tolist() == once.tolist() and other.grad.tolist() == [0.5]
    assert warned[0].filename == __file__ or kind is optim.Adafactor
    assert int(optimizer.state[twice]["step"]) == 4 and int(optimizer.state[other]["step"]) == 2


@pytest.mark.parametrize("options", [{}, {"nesterov": True}, {"dampening": 0.5}])
def test_one_given_twice_starts_both_steps_without_momentum(options):
    # As PyTorch 2.15: twice b = d the first time, and then b = momentum * b + (1 - dampening) * d.
    twice, other = default_leaf([1.0]), default_leaf([1.0])
    with pytest.warns(UserWarning, match="SGD: needs each parameter once"):
        optimizer = optim.SGD([twice, other, twice], lr=0.5, momentum=0.5, **options)
    share = 1 - options.get("dampening", 0.0)
    value, momentum = 1.0, None
    for step, grad in enumerate((1.0, 2.0)):
        twice.grad, other.grad = ebb.tensor([grad]), ebb.tensor([1.0])
        optimizer.step()
        for _ in range(2):
            momentum = grad if step == 0 else 0.5 * momentum + share * grad
            value -= 0.5 * (grad + 0.5 * momentum if options.get("nesterov") else momentum)
    assert twice.tolist() == [value]
    assert optimizer.state[twice]["momentum_buffer"].tolist() == [momentum]
    assert optimizer.state[other]["momentum_buffer"].tolist() == [0.5 + share]


def test_the_state_of_one_given_twice_is_saved_once_and_read_again():
    p, q = default_leaf([1.0]), default_leaf([2.0])
    with pytest.warns(UserWarning, match="each parameter once"):
        optimizer, read = optim.Adam([p, p, q]), optim.Adam([p, p, q])
    p.grad = q.grad = ebb.tensor([1.0])
    optimizer.step()
    state = optimizer.state_dict()
    assert state["param_groups"][0]["params"] == [1, 1, 2] and set(state["state"]) == {1, 2}
    read.load_state_dict(state)
    assert int(read.state[p]["step"]) == 2 and int(read.state[q]["step"]) == 1


def test_what_is_kept_of_complex_numbers_begins_with_both_parts():
    p = default_leaf([1 + 2j, 3 - 1j])
    optimizer = optim.Rprop([p], lr=0.1)
    for sign in (1, 1, -1):
        p.grad = sign * ebb.tensor([1 + 2j, -3 - 1j])
        optimizer.step()
    # A step of 0.1, one of 0.12, and none where the sign has turned, in both parts.
    assert ebb.allclose(p, ebb.tensor([0.78 + 1.78j, 3.22 - 0.78j]))
    assert ebb.allclose(optimizer.state[p]["step_size"], ebb.tensor([0.06 + 0.06j] * 2))


@pytest.mark.parametrize("kind, options", [
    (optim.SGD, {"lr": 0.5}), (optim.SGD, {"lr": 0.5, "momentum": 0.9}),
    (optim.Adagrad, {"lr": 0.5, "initial_accumulator_value": 0.1}),
])  # fmt: skip
def test_gradients_of_several_sparse_dims_step_as_strided_ones(kind, options):
    sparse, strided = default_leaf([[1.0, 2.0], [3.0, 4.0]]), default_leaf([[1.0, 2.0], [3.0, 4.0]])
    optimizers = kind([sparse], **options), kind([strided], **options)
    for _ in range(2):
        sparse.grad = ebb.sparse_coo_tensor([[0, 1, 1], [1, 0, 0]], [1.0, 2.0, 5.0], (2, 2))
        strided.grad = sparse.grad.to_dense()
        for optimizer in optimizers:
            optimizer.step()
    assert sparse.tolist() == strided.tolist() and sparse[0, 0].item() == 1.0


def test_without_eps_several_sparse_dims_are_refused():
    p = default_leaf([[1.0]])
    p.grad = ebb.sparse_coo_tensor([[0], [0]], [1.0], (1, 1))
    with pytest.raises(NotImplementedError, match="Adagrad: needs a gradient that stores rows"):
        optim.Adagrad([p], eps=0).step()


def test_a_subclass_with_a_step_of_its_own_keeps_state_per_parameter():
    class Sum(ebb.optim.Adam):
        def step(self):
            for weight in self.param_groups[0]["params"]:
                state = self.state[weight]
                if len(state) == 0:
                    state["sum"] = ebb.zeros_like(weight)
                state["sum"] += weight.grad

    weight = ebb.nn.Parameter(ebb.ones(2))
    optimizer = Sum([weight])
    weight.grad = ebb.ones(2)
    for _ in range(3):
        optimizer.step()
    assert optimizer.state[weight]["sum"].tolist() == [3, 3]
    saved = optimizer.state_dict()
    assert saved["state"][0]["sum"].tolist() == [3, 3]
    optimizer.step()
    assert copy.deepcopy(optimizer).state_dict()["state"][0]["sum"].tolist() == [4, 4]
    for one in (optimizer, Sum([weight])):
        one.load_state_dict({**saved, "state": {0: {"sum": ebb.zeros(2)}}})
        one.step()
        assert one.state[weight]["sum"].tolist() == [1, 1]
    with pytest.raises(ValueError, match="needs state among"):
        ebb.optim.Adam([weight]).load_state_dict(saved)


def test_looking_at_no_state_makes_none():
    weight = ebb.nn.Parameter(ebb.ones(2))
    optimizer = ebb.optim.SGD([weight], lr=0.1, momentum=0.9)
    assert weight not in optimizer.state and optimizer.state.get(weight) is None
    weight.grad = ebb.ones(2)
    optimizer.step()
    assert list(optimizer.state) == [weight]


def test_an_optimizer_may_wrap_another_without_being_initialised():
    class Wrapper(ebb.optim.Optimizer):
        def __init__(self, inner):
            self.inner = inner

        def step(self):
            self.inner.step()

    weight = ebb.nn.Parameter(ebb.ones(1))
    weight.grad = ebb.ones(1)
    Wrapper(ebb.optim.SGD([weight], lr=0.5)).step()
    assert weight.item() == 0.5
