# tests/python/amp/test_remade_casts.py -- what autocast saves for backward: not the cast of what
# stays alive anyway.
import pytest

import ebb
from ebb.nn import functional
from tests.python.held import backward_threads, live_without_garbage

SIDE = 256
NARROW = SIDE * SIDE * 2  # bytes of a weight in bfloat16


def square(seed):
    ebb.manual_seed(seed)
    return ebb.rand(SIDE, SIDE).requires_grad_()


def run(step, **options):
    """What a step gives, and the memory that its graph holds."""
    before = live_without_garbage()
    with ebb.autocast("cpu", **options):
        out = step()
    return out, live_without_garbage() - before - out.nbytes


def test_a_graph_holds_no_cast_of_a_weight():
    x, weight = ebb.rand(2, SIDE).requires_grad_(), square(0)
    _, held = run(lambda: functional.linear(x, weight))
    assert held < NARROW // 4
    _, kept = run(lambda: functional.linear(x, weight), cache_enabled=False)
    assert kept >= NARROW


def test_a_graph_holds_the_result_of_softmax_once():
    scores, values = square(0), ebb.rand(SIDE, 2)
    _, held = run(lambda: functional.softmax(scores, -1) @ values)
    assert held < 2.6 * NARROW  # in float32 only


@pytest.mark.parametrize("narrow", [ebb.bfloat16, ebb.float16])
def test_gradients_of_remade_casts_are_those_of_kept_ones(narrow):
    def gradients(**options):
        weight, scores = square(1), square(2)
        with ebb.autocast("cpu", dtype=narrow, **options):
            out = functional.softmax(scores, -1) @ functional.linear(weight, weight)
            loss = (out.float() ** 2).mean()
        first = ebb.autograd.grad(loss, [weight, scores], create_graph=True)
        second = ebb.autograd.grad(sum((one**2).sum() for one in first), [weight, scores])
        return [one.detach().tolist() for one in (*first, *second)]

    assert gradients() == gradients(cache_enabled=False)


def casts_of(step):
    with ebb.profiler.profile() as profile, ebb.autocast("cpu"):
        step()
    return [one.name for one in profile.ranges].count("amp_cast")


def test_a_weight_is_kept_from_its_second_use_on():
    x, weight = ebb.rand(2, SIDE).bfloat16(), square(0)

    def uses(count):
        return lambda: [functional.linear(x, weight) for _ in range(count)]

    assert casts_of(uses(1)) == 1
    assert casts_of(uses(5)) == 2


def test_a_write_to_a_weight_whose_cast_is_to_be_remade_is_refused():
    x, weight = ebb.rand(2, SIDE).requires_grad_(), square(0)
    out, _ = run(lambda: functional.linear(x, weight).sum())
    with ebb.no_grad():
        weight.add_(1)
    wanted = "backward casts float32 .256, 256. to bfloat16 again and needs it as forward saw it"
    with pytest.raises(RuntimeError, match=wanted):
        out.backward()


def branch(seed, x, weight):
    for _ in range(60):
        x = (x * (1.0 + seed)).tanh()
    return functional.linear(x, weight).sum()


def test_remade_casts_leave_backward_its_threads(eager_teams):
    x = ebb.rand(60, SIDE).requires_grad_()
    out, _ = run(lambda: sum(branch(i, x, square(i)) for i in range(6)))
    before = backward_threads()["teams"]
    ebb.set_num_threads(4)
    out.backward()
    assert backward_threads()["teams"] > before
