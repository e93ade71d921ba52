# tests/python/distributions/test_constraints.py -- which values each constraint lets pass.
import pytest

import ebb
from ebb import Tensor
from ebb.distributions import constraints as c

NAN = float("nan")
# A constraint, an event within it, and events that are not.
CASES = {
    "boolean": (c.boolean, 1.0, [0.5, -1.0, NAN]),
    "integer interval": (c.integer_interval(1, 3), 3.0, [0.0, 2.5, 4.0]),
    "nonnegative integer": (c.nonnegative_integer, 0.0, [-1.0, 0.5]),
    "positive integer": (c.positive_integer, 1.0, [0.0, 1.5]),
    "real": (c.real, -2.5, [NAN]),
    "positive": (c.positive, 0.1, [0.0, -1.0, NAN]),
    "nonnegative": (c.nonnegative, 0.0, [-0.1, NAN]),
    "less than": (c.less_than(2.0), 1.5, [2.0, NAN]),
    "interval": (c.interval(-1.0, 2.0), 2.0, [-1.5, 2.5, NAN]),
    "half-open": (c.half_open_interval(0.0, 1.0), 0.0, [1.0, -0.5]),
    "real vector": (c.real_vector, [1.0, 2.0], [[1.0, NAN]]),
    "one hot": (c.one_hot, [0.0, 1.0], [[0.0, 0.0], [1.0, 1.0], [0.5, 0.5]]),
    "simplex": (c.simplex, [0.25, 0.75], [[0.5, 0.6], [1.5, -0.5]]),
    "multinomial": (c.multinomial(3), [1.0, 2.0], [[2.0, 2.0], [-1.0, 2.0]]),
    "triangle": (c.lower_triangular, [[1.0, 0.0], [2.0, -3.0]], [[[1.0, 1.0], [0.0, 1.0]]]),
    "cholesky": (c.lower_cholesky, [[1.0, 0.0], [2.0, 3.0]], [[[1.0, 0.0], [0.0, -1.0]]]),
    "correlation": (c.corr_cholesky, [[1.0, 0.0], [0.6, 0.8]], [[[1.0, 0.0], [1.0, 1.0]]]),
    "square": (c.square, [[1.0, 2.0], [3.0, 4.0]], [[[1.0, 2.0]]]),
    "symmetric": (c.symmetric, [[1.0, 2.0], [2.0, 1.0]], [[[1.0, 2.0], [3.0, 1.0]], [[1.0, 2.0]]]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_constraint_lets_pass_what_lies_within_and_nothing_else(name):
    constraint, within, others = CASES[name]
    inside = ebb.tensor(within)
    assert inside.ndim == constraint.event_dim
    for value, expected in ((inside, True), *((ebb.tensor(one), False) for one in others)):
        found = constraint.check(value)
        assert isinstance(found, Tensor) and found.shape == () and found.item() is expected
    batch = inside.expand(2, 3, *inside.shape)
    assert constraint.check(batch).tolist() == [[True] * 3] * 2


def test_parts_have_constraints_of_their_own():
    parts = c.cat([c.positive, c.boolean], dim=0, lengths=[2, 1])
    assert parts.check(ebb.tensor([0.5, -0.5, 1.0])).tolist() == [True, False, True]
    stack = c.stack([c.positive, c.real], dim=-1)
    assert stack.check(ebb.tensor([[-1.0, -1.0]])).tolist() == [[False, True]]


def test_what_depends_on_parameters_cannot_be_checked_alone():
    assert c.is_dependent(c.dependent) and not c.is_dependent(c.real)
    with pytest.raises(ValueError, match="a dependent constraint is known of a distribution only"):
        c.dependent.check(ebb.ones(1))
    assert str(c.interval(0.0, 2.0)) == "Interval(lower_bound=0.0, upper_bound=2.0)"


def test_a_dependent_property_is_of_a_function():
    text = r"^dependent_property: argument 'fn' must be callable, got int$"
    for make in (lambda: c.dependent_property(3), lambda: c.dependent_property(event_dim=1)(3)):
        with pytest.raises(TypeError, match=text):
            make()
