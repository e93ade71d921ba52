# tests/python/autograd/test_modes.py -- grad mode and inference mode: blocks, decorators, threads,
# refusals.
import asyncio
import inspect

import pytest

import ebb
from ebb.autograd import grad
from tests.python.leaves import leaf
from tests.python.threads import on_threads

MODES = [
    (ebb.no_grad, False),
    (ebb.enable_grad, True),
    (lambda: ebb.set_grad_enabled(False), False),
    (ebb.inference_mode, False),
]


def is_on():
    return ebb.is_grad_enabled()


@pytest.mark.parametrize(("mode", "inside"), MODES)
def test_blocks_nest_and_put_the_mode_back(mode, inside):
    for outer in (True, False):
        with ebb.set_grad_enabled(outer):
            with mode():
                assert is_on() == inside
                with ebb.enable_grad():
                    assert is_on()
                assert is_on() == inside
            assert is_on() == outer
    assert is_on() and not ebb.is_inference_mode_enabled()


@pytest.mark.parametrize(("mode", "inside"), MODES)
def test_exceptions_put_the_mode_back(mode, inside):
    with pytest.raises(KeyError), mode():
        raise KeyError
    assert is_on() and not ebb.is_inference_mode_enabled()


DECORATORS = (
    ebb.no_grad,
    ebb.no_grad(),
    ebb.inference_mode,
    ebb.inference_mode(),
    ebb.inference_mode(mode=True),
)


@pytest.mark.parametrize("decorate", DECORATORS)
def test_decorators_work_with_and_without_parentheses(decorate):
    @decorate
    def function(value):
        """Say so."""
        return value, is_on()

    assert function(3) == (3, False) and is_on()
    assert function.__name__ == "function" and function.__doc__ == "Say so."


def test_set_grad_enabled_as_a_decorator_does_not_leak():
    @ebb.set_grad_enabled(False)
    def function():
        return is_on()

    assert is_on() and function() is False and is_on()


def test_one_object_may_be_entered_again():
    mode = ebb.no_grad()
    with mode:
        with ebb.enable_grad(), mode:
            assert not is_on()
        assert not is_on()
    assert is_on()


def test_generators_switch_at_each_step():
    @ebb.no_grad()
    def steps():
        received = yield is_on()
        try:
            yield received, is_on()
        except KeyError:
            yield "thrown", is_on()
        return "end"

    run = steps()
    assert next(run) is False and is_on()
    assert run.send(5) == (5, False) and is_on()
    assert run.throw(KeyError()) == ("thrown", False) and is_on()
    with pytest.raises(StopIteration, match="end"):
        next(run)


def test_closing_a_generator_runs_its_end_in_the_mode():
    seen = []

    @ebb.inference_mode()
    def steps():
        try:
            yield 1
        finally:
            seen.append(ebb.is_inference_mode_enabled())

    run = steps()
    next(run)
    run.close()
    assert seen == [True] and is_on()


def test_coroutines_switch_at_each_step():
    @ebb.no_grad()
    async def inside():
        before = is_on()
        await asyncio.sleep(0)
        return before, is_on()

    async def outside():
        task = asyncio.ensure_future(inside())
        await asyncio.sleep(0)
        seen = is_on()
        return seen, await task

    assert inspect.iscoroutinefunction(inside)
    assert asyncio.run(outside()) == (True, (False, False))


def test_asynchronous_generators_switch_at_each_step():
    @ebb.no_grad()
    async def steps():
        received = yield is_on()
        await asyncio.sleep(0)
        try:
            yield received, is_on()
        except KeyError:
            yield "thrown", is_on()

    async def run():
        inner = steps()
        seen = [await inner.asend(None), is_on(), await inner.asend(5), is_on()]
        seen += [await inner.athrow(KeyError()), is_on()]
        return seen, [item async for item in steps()]

    seen, items = asyncio.run(run())
    assert seen == [False, True, (5, False), True, ("thrown", False), True]
    assert items == [False, (None, False)]


def test_decorating_a_class_warns():
    with pytest.warns(FutureWarning, match="only its __init__ runs in the mode"):

        @ebb.no_grad()
        class Thing:
            def __init__(self):
                self.inside = is_on()

    assert Thing().inside is False


def test_modes_belong_to_a_thread():
    seen = []
    with ebb.inference_mode():
        on_threads(lambda: seen.append((is_on(), ebb.is_inference_mode_enabled())))
    assert seen == [(True, False)]


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError, match=r"inference_mode.*needs a bool 'mode'"):
        ebb.inference_mode(3)
    with pytest.raises(TypeError, match=r"no_grad.*needs no argument"):
        ebb.no_grad(3)
    with pytest.raises(ValueError, match="needs to be entered before it is left"):
        ebb.no_grad().__exit__(None, None, None)


def test_tensors_made_in_inference_mode_are_marked():
    x = leaf(1.0)
    with ebb.inference_mode():
        made = [ebb.ones(2), x * 2, ebb.tensor([1.0]), ebb.rand(2)]
        view = x.reshape(1, 1)
        assert ebb.is_inference_mode_enabled()
    assert all(tensor.is_inference() for tensor in made)
    assert not any(tensor.requires_grad for tensor in made)
    assert not view.is_inference() and not x.is_inference()
    assert made[0].reshape(2, 1).is_inference() and made[0].detach().is_inference()
    assert not made[0].clone().is_inference() and not (made[0] * 2).is_inference()


def test_inference_mode_stays_off_the_record_under_enable_grad():
    x = leaf(1.0)
    with ebb.inference_mode(), ebb.enable_grad():
        assert not (x * 2).requires_grad


def test_inference_mode_false_records_inside_another():
    x = leaf(1.0)
    with ebb.inference_mode():
        with ebb.inference_mode(False):
            y = x * 2
            assert y.requires_grad and not y.is_inference()
        assert ebb.is_inference_mode_enabled()
    y.sum().backward()
    assert x.grad.tolist() == [2.0]


def make_in_inference_mode():
    with ebb.inference_mode():
        return ebb.ones(2)


def test_inference_tensors_cannot_be_saved_for_backward():
    x, other = leaf(1.0, 2.0), make_in_inference_mode()
    with pytest.raises(RuntimeError, match=r"(?s)not made in inference mode.*clone"):
        x * other
    (x * other.clone()).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    assert (x + other).requires_grad  # saves nothing


def test_inference_tensors_cannot_require_a_gradient():
    other = make_in_inference_mode()
    with pytest.raises(RuntimeError, match=r"requires_grad_: needs a tensor that was not made in"):
        other.requires_grad_()
    with ebb.inference_mode():
        other.requires_grad_()
        assert not (other * 2).requires_grad


def test_inference_tensors_cannot_be_written_with_a_gradient():
    x, other = leaf(1.0, 2.0), make_in_inference_mode()
    with pytest.raises(RuntimeError, match=r"made in inference mode must not be written with"):
        other.add_(x)
    other.add_(1)
    with ebb.inference_mode():
        other.add_(x)
    assert other.tolist() == [3.0, 4.0]


def test_gradients_computed_in_inference_mode_are_ordinary_tensors():
    x = leaf(1.0)
    y = (x * x).sum()
    with ebb.inference_mode():
        (gradient,) = grad(y, x, retain_graph=True)
        y.backward()
    assert not gradient.is_inference() and not x.grad.is_inference()
    assert x.grad.tolist() == [2.0]


def test_no_grad_in_place_on_a_leaf_still_raises_the_version():
    x = leaf(1.0)
    with ebb.no_grad():
        x.add_(1)
    assert x._version == 1 and x.requires_grad


@pytest.mark.filterwarnings("ignore:.*needs a function, got the class:FutureWarning")
@pytest.mark.parametrize("mode", [ebb.no_grad, ebb.enable_grad, ebb.inference_mode])
@pytest.mark.parametrize("made", [False, True])
def test_a_class_that_cannot_be_decorated_is_refused_by_the_modes_name(mode, made):
    decorate = mode() if made else mode
    with pytest.raises(TypeError, match=f"^{mode.__name__}: needs a class written in Python"):
        decorate(object)


def test_a_view_of_a_leaf_is_written_in_inference_mode_whatever_the_grad_mode():
    x = ebb.ones(2, requires_grad=True)
    with ebb.inference_mode():
        view = x[:1]
        with ebb.enable_grad():  # nothing is recorded all the same
            view.mul_(3)
    assert x.tolist() == [3.0, 1.0] and x.is_leaf
