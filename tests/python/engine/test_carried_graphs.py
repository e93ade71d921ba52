# tests/python/engine/test_carried_graphs.py -- errors that name what carries a graph from one step
# to the next.
import pytest

import ebb
from ebb import nn


class Listener(nn.Module):
    """A cell that keeps its state, somewhere."""

    def __init__(self, keep):
        super().__init__()
        self.cell = nn.Linear(3, 3)
        self.keep = keep
        self.state = ebb.zeros(1, 3)
        self.states = [self.state]
        self.memory = {"h": self.state}

    def forward(self, x):
        before = {"state": self.state, "states": self.states[-1], "memory": self.memory["h"]}
        new = ebb.tanh(self.cell(x + before[self.keep]))
        if self.keep == "state":
            self.state = new
        elif self.keep == "states":
            self.states.append(new)
        else:
            self.memory["h"] = new
        return new


def train(model, steps=3, **options):
    optimizer = ebb.optim.Adam(model.parameters())
    for _ in range(steps):
        optimizer.zero_grad()
        model(ebb.ones(1, 3)).sum().backward(**options)
        optimizer.step()


@pytest.mark.parametrize(
    ("keep", "name"),
    [("state", "Listener.state"), ("states", r"Listener.states\[\d\]"),
     ("memory", r"Listener.memory\['h'\]")],
)  # fmt: skip
def test_a_state_kept_by_a_module_is_named(keep, name):
    with pytest.raises(ebb.AutogradError, match=rf"; {name} keeps the graph of an earlier step\n"
                       rf"hint: detach\(\) {name} between steps"):  # fmt: skip
        train(Listener(keep))


def test_so_it_is_where_the_graph_is_retained_and_an_optimizer_wrote_its_parameters():
    with pytest.raises(ebb.AutogradError, match=r"in place by Adam at .*; Listener.state keeps the "
                       r"graph of an earlier step\nhint: detach\(\) Listener.state"):  # fmt: skip
        train(Listener("state"), retain_graph=True)


def test_a_variable_that_sums_losses_is_named():
    weight = ebb.ones(1, requires_grad=True)
    total = 0.0
    with pytest.raises(
        ebb.AutogradError, match=r"; total in test_a_variable_that_sums_losses_is_na"
    ):
        for _ in range(3):
            total = total + (weight * weight).sin()
            total.sum().backward()


def test_a_second_run_of_one_graph_blames_nobody():
    weight = ebb.ones(1, requires_grad=True)
    loss = (weight * weight).sum()
    loss.backward()
    with pytest.raises(ebb.AutogradError, match=r"\nhint: pass retain_graph=True") as caught:
        loss.backward()
    assert "keeps the graph" not in str(caught.value)


def test_a_step_before_backward_is_told_the_order():
    weight = ebb.ones(1, requires_grad=True)
    optimizer = ebb.optim.SGD([weight], lr=0.1)
    weight.grad = ebb.ones(1)
    loss = (weight * weight).sum()
    optimizer.step()
    with pytest.raises(ebb.AutogradError, match=r"hint: call backward\(\) before step\(\)"):
        loss.backward()
