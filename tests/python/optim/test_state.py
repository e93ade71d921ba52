# tests/python/optim/test_state.py -- state dicts, copies, hooks and optimizers of the user's
# own.
import copy
import pickle

import pytest

import ebb
from ebb import nn, optim
from tests.python.leaves import leaf_of
from tests.python.optim.test_optim import EVERY

KINDS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: optim.Adam(p, lr=0.1, amsgrad=True),
    "adamw": lambda p: optim.AdamW(p, lr=0.1),
    "rmsprop": lambda p: optim.RMSprop(p, lr=0.1, momentum=0.5, centered=True),
    "nadam": lambda p: optim.NAdam(p, lr=0.1),
    "asgd": lambda p: optim.ASGD(p, lr=0.1, t0=2),
    "adagrad": lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.5, initial_accumulator_value=1),
}


def trained(kind, steps, change=None):
    """Train two numbers; ``change`` replaces the optimizer half-way."""
    p = leaf_of([1.0, -2.0])
    optimizer = KINDS[kind]([p])
    for step in range(steps):
        if change is not None and step == steps // 2:
            p, optimizer = change(p, optimizer)
        optimizer.zero_grad()
        (p * p * p).sum().backward()
        optimizer.step()
    return p.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_loading_resumes_exactly(kind):
    def load(p, optimizer):
        fresh = KINDS[kind]([p])
        fresh.load_state_dict(optimizer.state_dict())
        return p, fresh

    assert trained(kind, 6, load) == trained(kind, 6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))])
def test_a_copy_of_model_and_optimizer_goes_on_exactly(kind, copied):
    def change(p, optimizer):
        both = copied((p, optimizer))
        assert both[1].param_groups[0]["params"][0] is both[0]
        return both

    assert trained(kind, 6, change) == trained(kind, 6)


def test_states_have_pytorchs_names():
    names = {
        "sgd": {"momentum_buffer"},
        "adam": {"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"},
        "adamw": {"step", "exp_avg", "exp_avg_sq"},
        "rmsprop": {"step", "square_avg", "momentum_buffer", "grad_avg"},
        "nadam": {"step", "exp_avg", "exp_avg_sq", "mu_product"},
        "asgd": {"step", "ax", "eta", "mu"},
        "adagrad": {"step", "sum"},
    }
    for kind, make in KINDS.items():
        optimizer = make([leaf_of([1.0], [1.0])])
        assert optimizer.state_dict()["state"] == {}
        optimizer.step()
        assert set(optimizer.state_dict()["state"][0]) == names[kind]


def test_a_state_dict_made_by_pytorch_can_be_loaded():
    optimizer = optim.AdamW([leaf_of([1.0], [1.0])])
    group = {
        "lr": 0.5, "betas": (0.5, 0.5), "eps": 1e-8, "weight_decay": 0.0, "amsgrad": False,
        "foreach": None, "maximize": False, "capturable": False, "differentiable": False,
        "fused": None, "initial_lr": 0.5, "params": [0],
    }  # fmt: skip
    kept = {"step": ebb.tensor(1.0), "exp_avg": ebb.zeros(1, dtype=ebb.float64),
            "exp_avg_sq": ebb.ones(1, dtype=ebb.float64)}  # fmt: skip
    optimizer.load_state_dict({"state": {0: kept}, "param_groups": [group]})
    optimizer.step()
    assert optimizer.state_dict()["state"][0]["step"] == 2
    assert optimizer.param_groups[0]["lr"] == 0.5


def test_a_state_that_does_not_fit_changes_nothing():
    first, second = leaf_of([1.0], [1.0]), leaf_of([2.0], [1.0])
    optimizer = optim.SGD([first, second], lr=0.5, momentum=0.5)
    optimizer.step()
    state = copy.deepcopy(optimizer.state_dict())
    state["param_groups"][0]["lr"] = 7.0
    state["state"][0]["momentum_buffer"].fill_(100.0)
    state["state"][1]["momentum_buffer"] = ebb.zeros(3, dtype=ebb.float64)
    with pytest.raises(ValueError, match=r"needs state 'momentum_buffer' of shape \[1\]"):
        optimizer.load_state_dict(state)
    assert optimizer.param_groups[0]["lr"] == 0.5
    assert optimizer.state[first]["momentum_buffer"].item() == 1.0


@pytest.mark.parametrize(
    "kept, kind, text",
    [
        ({"sum": ebb.zeros(1)}, ValueError, "needs state among exp_avg, .*, got 'sum'"),
        ({"exp_avg": 3}, TypeError, "needs a Tensor as state 'exp_avg', got int"),
        ({"step": 1.5}, ValueError, "needs a whole number >= 0 for step, got 1.5"),
        ({"step": float("nan")}, ValueError, "needs a whole number >= 0 for step, got nan"),
        ({"step": "x"}, TypeError, "needs a number for step, got str"),
        ([], TypeError, "needs a dict of state per parameter"),
    ],
)
def test_hostile_states_are_refused(kept, kind, text):
    optimizer = optim.AdamW([leaf_of([1.0])])
    state = optimizer.state_dict()
    state["state"] = {0: kept}
    with pytest.raises(kind, match=text):
        optimizer.load_state_dict(state)


def test_hooks_run_around_a_step():
    p = leaf_of([1.0], [1.0])
    optimizer = optim.SGD([p], lr=0.5)
    seen = []
    before = optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(p.item()))
    with optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(p.item())):
        optimizer.step()
    assert seen == [1.0, 0.5]
    assert before.remove() and not before.remove()
    optimizer.step()
    assert seen == [1.0, 0.5]


@pytest.mark.parametrize("kind", ["sgd", "lbfgs"])
def test_hooks_run_around_saving_and_loading(kind):
    p, calls = leaf_of([1.0]), []
    optimizer = optim.LBFGS([p]) if kind == "lbfgs" else optim.SGD([p], lr=0.5)
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("second"))
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "note": 7})
    state = optimizer.state_dict()
    assert calls == ["first", "second"] and state["note"] == 7

    def faster(o, given):
        given["param_groups"] = [{**given["param_groups"][0], "lr": 8.0}]
        calls.append("loading")

    handle = optimizer.register_load_state_dict_pre_hook(faster)
    optimizer.register_load_state_dict_post_hook(lambda o: calls.append(o.param_groups[0]["lr"]))
    optimizer.load_state_dict(state)
    assert calls[2:] == ["loading", 8.0] and state["param_groups"][0]["lr"] != 8.0
    handle.remove()
    optimizer.load_state_dict(state)
    assert len(calls) == 5


def test_parameters_may_come_with_names():
    model = nn.Sequential(nn.Linear(1, 2), nn.Linear(2, 1))
    optimizer = optim.Adam(model.named_parameters())
    names = [name for name, _ in model.named_parameters()]
    assert optimizer.param_groups[0]["param_names"] == names
    assert optimizer.param_groups[0]["params"] == list(model.parameters())
    state = optimizer.state_dict()
    assert state["param_groups"][0]["param_names"] == names
    plain = optim.Adam(model.parameters())
    plain.load_state_dict(state)
    assert plain.param_groups[0]["param_names"] == names
    assert "param_names" not in repr(optimizer)


def test_either_all_parameters_have_names_or_none():
    p, q = leaf_of([1.0]), leaf_of([1.0])
    with pytest.raises(ebb.errors.ValueError, match="SGD: needs a name for every parameter or"):
        optim.SGD([("p", p), q])
    optimizer = optim.SGD([("p", p)])
    with pytest.raises(ebb.errors.ValueError, match="SGD: needs a name for every parameter or"):
        optimizer.add_param_group({"params": [q]})
    optimizer.add_param_group({"params": [("q", q)]})
    assert [group["param_names"] for group in optimizer.param_groups] == [["p"], ["q"]]


@pytest.mark.parametrize("name", sorted({*EVERY} - {"Adafactor", "LBFGS", "Muon"}))
def test_switches_of_other_ways_to_step_are_taken(name):
    make = getattr(optim, name)
    make([leaf_of([1.0])], foreach=True, capturable=False, maximize=False, differentiable=False)
    with pytest.raises(NotImplementedError, match=f"^{name}: needs differentiable=False, got True"):
        make([leaf_of([1.0])], differentiable=True)


def test_a_copy_of_adam_with_decoupled_decay_keeps_that():
    p = leaf_of([1.0], [0.0])
    both = copy.deepcopy(
        (p, optim.Adam([p], lr=0.1, weight_decay=1.0, decoupled_weight_decay=True))
    )
    both[1].step()
    assert both[0].item() == pytest.approx(0.9)


def test_a_pre_hook_may_replace_the_arguments():
    optimizer = optim.SGD([leaf_of([1.0], [1.0])])
    optimizer.register_step_pre_hook(lambda o, args, kwargs: ((lambda: 42,), kwargs))
    assert optimizer.step() == 42
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 3)
    with pytest.raises(TypeError, match=r"needs a pre-hook to return None or \(args, kwargs\)"):
        optimizer.step()


class Lion(optim.Optimizer):
    """Steps by the sign of the momentum, as a user would write it."""

    def __init__(self, params, lr=0.1, beta=0.5):
        super().__init__(params, {"lr": lr, "beta": beta})

    def step(self, closure=None):
        with ebb.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    kept = self.state[p]
                    momentum = kept.get("momentum", ebb.zeros_like(p)) * group["beta"] + p.grad
                    kept["momentum"] = momentum
                    sign = (momentum > 0).to(p.dtype) * 2 - 1
                    p.sub_(sign * group["lr"])


def test_a_users_own_optimizer_has_groups_state_and_hooks():
    p = leaf_of([1.0], [-3.0])
    optimizer, seen = Lion([p]), []
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("stepped"))
    optimizer.step()
    assert p.item() == pytest.approx(1.1) and seen == ["stepped"]
    state = optimizer.state_dict()
    assert state["state"][0]["momentum"].item() == -3.0
    twin = Lion([p], lr=9.0)
    twin.load_state_dict(state)
    assert twin.state[p]["momentum"].item() == -3.0 and twin.param_groups[0]["lr"] == 0.1
    optimizer.zero_grad()
    assert p.grad is None


def test_an_optimizer_without_a_step_says_so():
    with pytest.raises(NotImplementedError, match="Optimizer: needs a step of its own, got none"):
        optim.Optimizer([leaf_of([1.0])], {}).step()


def test_a_subclass_of_a_fused_optimizer_is_still_fused():
    class Doubled(optim.SGD):
        def step(self, closure=None):
            super().step()
            return super().step(closure)

    p = leaf_of([1.0], [1.0])
    Doubled([p], lr=0.25).step()
    assert p.item() == 0.5


def test_groups_can_be_added_later():
    net = nn.Linear(2, 2, dtype=ebb.float64)
    optimizer = optim.Adam([net.weight], lr=0.5)
    optimizer.add_param_group({"params": net.bias, "lr": 0.25})
    net(ebb.ones(1, 2, dtype=ebb.float64)).sum().backward()
    before = net.bias.detach().clone()
    optimizer.step()
    assert (before - net.bias.detach()).tolist() == pytest.approx([0.25, 0.25])


@pytest.mark.parametrize("steps", [1, 2**24 + 1])
@pytest.mark.parametrize("given", [int, float, lambda n: ebb.tensor(n, dtype=ebb.float64)])
def test_the_count_of_steps_is_a_tensor_and_loads_from_any_number(given, steps):
    p = leaf_of([1.0], grad=[1.0])
    optimizer = optim.Adam([p])
    optimizer.step()
    state = optimizer.state_dict()
    assert state["state"][0]["step"].dtype is ebb.float32 and state["state"][0]["step"].ndim == 0
    state["state"][0]["step"] = given(steps)
    optimizer.load_state_dict(state)
    optimizer.step()
    assert optimizer.state_dict()["state"][0]["step"].item() == steps + 1
