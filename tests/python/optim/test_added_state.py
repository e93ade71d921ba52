# tests/python/optim/test_added_state.py -- what programs add to an optimizer, and change in it,
# holds: in every optimizer, and after every kind of copy.
import copy
import io
import pickle
import random

import pytest

import ebb
from ebb import optim
from tests.python.leaves import leaf_of
from tests.python.optim.test_optim import EVERY


class Sign(optim.Optimizer):
    """One that a user writes."""

    def __init__(self, params, lr=0.1):
        super().__init__(params, {"lr": lr})

    @ebb.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(group["lr"] * p.grad.sign())


MAKERS = {name: getattr(optim, name) for name in EVERY} | {"Sign": Sign}


def stepped(name, p, optimizer, steps=1):
    def closure():
        p.grad = 2 * p.detach()
        return (p.detach() * p.detach()).sum()

    for _ in range(steps):
        closure()
        optimizer.step(closure if name == "LBFGS" else None)


def made(name):
    p = leaf_of([[1.0, -2.0], [3.0, 0.5]])
    return p, MAKERS[name]([p], lr=0.25)


def loaded(name, p, optimizer):
    fresh = MAKERS[name]([p], lr=3.0)
    fresh.load_state_dict(optimizer.state_dict())
    return p, fresh


def read_back(name, p, optimizer):
    stream = io.BytesIO()
    ebb.save(optimizer.state_dict(), stream)
    stream.seek(0)
    fresh = MAKERS[name]([p], lr=3.0)
    fresh.load_state_dict(ebb.load(stream))
    return p, fresh


COPIES = {
    "state dict": loaded,
    "file": read_back,
    "deepcopy": lambda name, p, optimizer: copy.deepcopy((p, optimizer)),
    "pickle": lambda name, p, optimizer: pickle.loads(pickle.dumps((p, optimizer))),
    "itself": lambda name, p, optimizer: (p, optimizer),
}


@pytest.mark.parametrize("name", sorted(MAKERS))
@pytest.mark.parametrize("copied", COPIES)
def test_what_a_program_adds_survives_steps_and_copies(name, copied):
    p, optimizer = made(name)
    for steps in (0, 2):
        stepped(name, p, optimizer, steps)
        optimizer.state["n"] = optimizer.state.get("n", 4) + 1
        optimizer.state["history"] = {"losses": [1.0, 2.0]}
        optimizer.state[p]["seen"] = optimizer.state[p].get("seen", 0) + 1
        optimizer.state[p]["mean"] = ebb.tensor([1.5, 2.5])
        optimizer.param_groups[0]["tag"] = "first"
    p, optimizer = COPIES[copied](name, p, optimizer)
    for _ in range(2):
        stepped(name, p, optimizer)
        assert optimizer.state["n"] == 6
        assert optimizer.state["history"] == {"losses": [1.0, 2.0]}
        assert optimizer.state[p]["seen"] == 2
        assert optimizer.state[p]["mean"].tolist() == [1.5, 2.5]
        assert optimizer.param_groups[0]["tag"] == "first"
        assert optimizer.state_dict()["state"]["n"] == 6


@pytest.mark.parametrize("name", sorted(MAKERS))
@pytest.mark.parametrize("copied", COPIES)
def test_steps_after_a_copy_are_those_without(name, copied):
    p, optimizer = made(name)
    plain, plain_optimizer = made(name)
    stepped(name, p, optimizer, 2)
    optimizer.state["note"] = "looked at"
    p, optimizer = COPIES[copied](name, p, optimizer)
    stepped(name, p, optimizer, 2)
    stepped(name, plain, plain_optimizer, 4)
    assert p.tolist() == plain.tolist()


@pytest.mark.parametrize("name", sorted(set(MAKERS) - {"LBFGS"}))
def test_a_state_dict_hook_adds_what_is_loaded_again(name):
    p, optimizer = made(name)
    optimizer.register_state_dict_post_hook(lambda o, state: state["state"].update(extra=[1, 2]))
    _, fresh = loaded(name, p, optimizer)
    assert fresh.state["extra"] == [1, 2] and "extra" not in optimizer.state


def test_state_that_is_held_follows_each_step():
    p = leaf_of([1.0], [1.0])
    optimizer = optim.Adam([p])
    state, own = optimizer.state, optimizer.state[p]
    steps = None
    for count in (1, 2, 3):
        optimizer.step()
        assert own["step"] == count and own is state[p] and state is optimizer.state
        steps = steps if steps is not None else own["step"]
        assert steps is own["step"]


@pytest.mark.parametrize(
    "change, wanted",
    [
        (lambda s, p: s[p]["momentum_buffer"].fill_(3.0), -3.0 / 2 - 1),
        (lambda s, p: s[p].update(momentum_buffer=ebb.tensor([3.0], dtype=ebb.float64)), -2.5),
        (lambda s, p: s[p].clear(), -1.0),
        (lambda s, p: s.pop(p), -1.0),
        (lambda s, p: s.clear(), -1.0),
        (lambda s, p: s[p].pop("momentum_buffer"), -1.0),
        (lambda s, p: None, -1.5),
    ],
)
def test_a_step_takes_over_what_the_state_says(change, wanted):
    p = leaf_of([0.0], [1.0])
    optimizer = optim.SGD([p], lr=1.0, momentum=0.5)
    optimizer.step()
    change(optimizer.state, p)
    p.detach().zero_()
    optimizer.step()
    assert p.item() == wanted


def test_counts_and_whole_states_may_be_replaced():
    p = leaf_of([0.0], [1.0])
    optimizer = optim.Adam([p])
    optimizer.step()
    optimizer.state[p]["step"] += 6
    optimizer.step()
    assert optimizer.state[p]["step"] == 8
    optimizer.state = {"note": 1}
    optimizer.step()
    assert optimizer.state[p]["step"] == 1 and optimizer.state["note"] == 1


def test_parameters_of_a_group_may_be_exchanged_with_their_state():
    p, other = leaf_of([[1.0], [2.0]]), leaf_of([5.0], [1.0])
    optimizer = optim.Adam([p, other], lr=0.5)
    p.grad = ebb.ones_like(p)
    optimizer.step()
    group, kept = optimizer.param_groups[0], optimizer.state[p]
    del optimizer.state[p]
    for name in ("exp_avg", "exp_avg_sq"):  # a row more, as in splatting
        kept[name] = ebb.cat([kept[name], ebb.zeros(1, 1, dtype=ebb.float64)])
    wider = ebb.cat([p.detach(), ebb.zeros(1, 1, dtype=ebb.float64)]).requires_grad_()
    group["params"][0] = wider
    optimizer.state[wider] = kept
    optimizer.zero_grad()
    assert other.grad is None
    wider.grad, other.grad = ebb.ones_like(wider), ebb.ones_like(other)
    optimizer.step()
    assert set(optimizer.state) == {wider, other}
    assert optimizer.state[wider]["step"] == 2 and optimizer.state[other]["step"] == 2
    assert optimizer.state[wider]["exp_avg"].shape == (3, 1) and wider[2].item() < 0
    assert sorted(optimizer.state_dict()["state"]) == [0, 1]


def test_groups_may_come_and_go_by_hand():
    p, q = leaf_of([1.0], [1.0]), leaf_of([1.0], [1.0])
    optimizer = optim.SGD([{"params": [p]}, {"params": [q]}], lr=0.25, momentum=0.5)
    optimizer.step()
    dropped = optimizer.param_groups.pop()
    optimizer.step()
    assert (p.item(), q.item()) == (0.375, 0.75)
    optimizer.param_groups.append(dropped)
    optimizer.param_groups[0]["params"].append(leaf_of([1.0], [1.0]))
    optimizer.step()
    assert optimizer.param_groups[0]["params"][1].item() == 0.75 and q.item() == 0.375


def test_a_group_that_is_there_twice_steps_twice_and_is_saved_once():
    p = leaf_of([1.0], [1.0])
    optimizer = optim.SGD([p], lr=0.25)
    optimizer.param_groups.append(optimizer.param_groups[0])
    optimizer.step()
    assert p.item() == 0.5
    assert [one["params"] for one in optimizer.state_dict()["param_groups"]] == [[0], [0]]
    optimizer.load_state_dict(optimizer.state_dict())


def test_a_parameter_in_two_groups_made_by_hand_is_refused():
    p = leaf_of([1.0], [1.0])
    optimizer = optim.SGD([p], lr=0.25)
    optimizer.param_groups.append({**optimizer.param_groups[0]})
    with pytest.raises(ValueError, match="SGD: needs each parameter in one group, got one in two"):
        optimizer.step()


def test_state_that_is_no_dict_or_does_not_fit_is_refused_at_the_step():
    p = leaf_of([1.0], [1.0])
    optimizer = optim.Adam([p])
    optimizer.state[p] = 5
    with pytest.raises(TypeError, match="Adam: needs a dict of state per parameter, got int"):
        optimizer.step()
    optimizer.state[p] = {"step": 1, "exp_avg": ebb.zeros(3), "exp_avg_sq": ebb.zeros(3)}
    with pytest.raises(ValueError, match=r"Adam: needs state 'exp_avg' of shape \[1\]"):
        optimizer.step()
    assert p.item() == 1.0


def test_groups_and_state_dicts_have_pytorchs_switches():
    optimizer = optim.Adam([leaf_of([1.0])])
    switches = {"capturable": False, "differentiable": False, "foreach": None, "fused": None}
    assert switches.items() <= optimizer.defaults.items()
    assert switches.items() <= optimizer.state_dict()["param_groups"][0].items()
    assert type(optimizer.param_groups[0]["params"]) is list


def test_loading_brings_added_tensors_to_the_parameter_in_their_dtype():
    p = leaf_of([1.0], [1.0])
    for optimizer in (optim.Adam([p]), Sign([p])):
        state = optimizer.state_dict()
        given = {"mine": ebb.ones(2), "list": [ebb.ones(1, dtype=ebb.int32)]}
        state["state"] = {0: given, "free": given}
        optimizer.load_state_dict(state)
        own = optimizer.state[p]
        assert own["mine"] is not given["mine"] and own["mine"].dtype is ebb.float32
        assert own["list"][0].dtype is ebb.int32
        assert optimizer.state["free"] is given


@pytest.mark.parametrize("seed", range(12))
def test_drawn_changes_of_state_hold_in_every_optimizer(seed):
    """Beside a plain dict, which is what a program thinks that it has."""
    random.seed(seed)
    name = random.choice(sorted(MAKERS))
    p, optimizer = made(name)
    plain = {}
    for number in range(8):
        action = random.choice(["step", "outer", "inner", "drop", "copy"])
        if action == "step":
            stepped(name, p, optimizer)
        elif action == "outer":
            optimizer.state[f"n{number}"] = plain[f"n{number}"] = number
        elif action == "inner":
            optimizer.state[p][f"own{number}"] = plain[f"own{number}"] = number
        elif action == "drop":
            for key in [key for key in plain if key.startswith("n")]:
                del optimizer.state[key], plain[key]
        else:
            p, optimizer = random.choice(list(COPIES.values()))(name, p, optimizer)
        shown = {**optimizer.state, **optimizer.state.get(p, {})}
        assert {key: kept for key, kept in shown.items() if key in plain} == plain
        assert not {key for key in shown if str(key).startswith(("n0", "n1"))} - set(plain)
