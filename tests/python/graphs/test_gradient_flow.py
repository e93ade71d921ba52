# tests/python/graphs/test_gradient_flow.py -- GradientFlow: norms by parameter and step, and
# faults.
"""The report of gradient norms."""

import math
import xml.etree.ElementTree as ET

import pytest

import ebb
from ebb.errors import DTypeError
from ebb.utils import GradientFlow


class Net(ebb.nn.Module):
    """A net with a layer that is never used and one that gets zeros."""

    def __init__(self):
        super().__init__()
        self.used = ebb.nn.Linear(3, 2)
        self.unused = ebb.nn.Linear(3, 2)
        self.dead = ebb.nn.Linear(3, 2, bias=False)
        self.frozen = ebb.nn.Parameter(ebb.ones([2]), requires_grad=False)

    def forward(self, x):
        return self.used(x) + self.dead(x) * 0.0 + self.frozen


def recorded(steps):
    ebb.manual_seed(0)
    net = Net()
    flow = GradientFlow(net)
    for step in range(steps):
        net.zero_grad()
        (net(ebb.ones([1, 3])).sum() * (1.0 + step)).backward()
        flow.record()
    return flow


def test_norms_are_those_of_the_gradients_at_each_step():
    flow = recorded(3)
    assert flow.steps == 3
    expected = [math.sqrt(6) * factor for factor in (1, 2, 3)]
    assert flow.norms["used.weight"] == pytest.approx(expected)
    assert flow.norms["used.bias"] == pytest.approx([math.sqrt(2) * f for f in (1, 2, 3)])


def test_parameters_that_are_never_used_or_get_zeros_are_named():
    flow = recorded(2)
    assert sorted(flow.unused()) == ["frozen", "unused.bias", "unused.weight"]
    assert flow.zero() == ["dead.weight"]


def test_nothing_is_said_before_the_first_step():
    flow = recorded(0)
    assert flow.unused() == [] == flow.zero()
    assert "over 0 steps" in str(flow)


def test_the_table_shows_norms_and_notes():
    lines = str(recorded(2)).splitlines()
    by_name = {line.split()[0]: line for line in lines[2:]}
    assert lines[0] == "gradient norms of 6 parameters over 2 steps"
    assert by_name["used.weight"].split() == ["used.weight", "2x3", "2.45", "2.45", "4.9", "4.9"]
    assert by_name["unused.bias"].endswith("no gradient arrived")
    assert by_name["dead.weight"].endswith("always zero")
    assert by_name["frozen"].endswith("requires no gradient")


def test_a_gradient_that_is_not_finite_is_dated():
    x = ebb.ones([2], requires_grad=True)
    flow = GradientFlow({"x": x})
    for factor in (1.0, float("inf"), 1.0):
        x.grad = None
        (x * factor).sum().backward()
        flow.record()
    assert flow.non_finite() == {"x": 1}
    assert "not finite from step 1" in str(flow)
    assert "#d01c8b" in flow._svg()


def test_a_gradient_that_became_zero_is_dated():
    weights = {name: ebb.ones([2], requires_grad=True) for name in ("dies", "lives", "blinks")}
    flow = GradientFlow(weights)
    factors = {"dies": [1, 1, 0, 0], "lives": [1, 1, 1, 1], "blinks": [1, 0, 0, 1]}
    for step in range(4):
        for name, weight in weights.items():
            weight.grad = None
            (weight * float(factors[name][step])).sum().backward()
        flow.record()
    assert flow.zero_from() == {"dies": 2} and flow.zero() == []
    notes = [line.partition("1.41  ")[2] for line in str(flow).splitlines()[2:]]
    assert str(flow).splitlines()[2].endswith("zero from step 2 on") and len(notes) == 3
    assert "zero" not in "".join(str(flow).splitlines()[3:])


def test_a_gradient_that_is_missing_at_some_steps_is_counted():
    x = ebb.ones([2], requires_grad=True)
    flow = GradientFlow([("x", x)])
    flow.record()
    x.sum().backward()
    flow.record()
    assert flow.unused() == []
    assert "missing at 1 of 2 steps" in str(flow)


@pytest.mark.parametrize("dtype", [ebb.float16, ebb.float32, ebb.complex64])
def test_norms_neither_overflow_nor_vanish(dtype):
    x = ebb.ones([4], dtype=dtype, requires_grad=True)
    for scale in (1e-7, 3e4):
        x.grad = ebb.full([4], scale, dtype=dtype)
        flow = GradientFlow({"x": x})
        flow.record()
        assert flow.norms["x"][0] == pytest.approx(2 * scale, rel=0.2)


@pytest.mark.parametrize("steps", [0, 1, 5, 200])
def test_the_picture_has_a_box_per_parameter_and_column(tmp_path, steps):
    flow = recorded(steps)
    flow.write_svg(tmp_path / "flow.svg")
    root = ET.parse(tmp_path / "flow.svg").getroot()
    titles = root.findall(".//{http://www.w3.org/2000/svg}title")
    columns = math.ceil(steps / math.ceil(steps / 96)) if steps else 0
    assert len(titles) == 6 * columns


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="at least one parameter"):
        GradientFlow({})
    with pytest.raises(DTypeError, match="needs tensors, got int for 'x'"):
        GradientFlow({"x": 3})
