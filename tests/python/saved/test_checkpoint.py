# tests/python/saved/test_checkpoint.py -- functions whose saved values are computed again in
# backward.
import contextlib
import math

import pytest

import ebb
from ebb import nn
from ebb.autograd import graph
from ebb.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)
from tests.python.fresh import printed
from tests.python.held import live, live_without_garbage
from tests.python.leaves import leaf
from tests.python.threads import on_threads


class Counted:
    """A function that counts its calls and how far they got."""

    def __init__(self):
        self.calls = self.finished = 0

    def __call__(self, x):
        self.calls += 1
        y = x.sin().exp()
        y = y + 1.0  # saves nothing: a recomputation stops before
        self.finished += 1
        return y


def test_gradients_are_those_without_a_checkpoint():
    x, again = leaf(1.0, 2.0), leaf(1.0, 2.0)
    function = Counted()
    y = checkpoint(function, x)
    assert y.tolist() == again.sin().exp().add(1.0).tolist()
    y.sum().backward()
    function(again).sum().backward()
    assert x.grad.tolist() == again.grad.tolist()


def test_a_recomputation_stops_once_all_is_there():
    x, function = leaf(1.0), Counted()
    checkpoint(function, x).backward()
    assert (function.calls, function.finished) == (2, 1)


@pytest.mark.parametrize("how", ["argument", "context"])
def test_early_stop_can_be_switched_off(how):
    x, function = leaf(1.0), Counted()
    if how == "argument":
        y = checkpoint(function, x, early_stop=False)
    else:
        with set_checkpoint_early_stop(False):
            y = checkpoint(function, x)
    y.backward()
    assert (function.calls, function.finished) == (2, 2)
    assert x.grad.item() == pytest.approx(0.5403 * 2.3198, rel=1e-3)


def test_early_stop_passes_handlers_of_the_function():
    def careless(x):
        try:
            return x.sin().exp()
        except Exception:
            return x

    x = leaf(1.0)
    checkpoint(careless, x).backward()
    assert x.grad.item() == pytest.approx(0.5403 * 2.3198, rel=1e-3)


def test_nothing_is_kept_between_forward_and_backward():
    x = ebb.ones(1000, requires_grad=True)
    y = checkpoint(lambda t: t.sin().exp().sin().exp(), x)
    assert graph.saved_bytes(y) <= 8000  # x itself, as the input


def test_keyword_arguments_and_other_arguments_pass_through():
    x, w = leaf(2.0), leaf(5.0)

    def function(a, number, *, factor, label=None):
        assert label == "text" and number == 3
        return {"result": (a * factor * number).sin()}

    y = checkpoint(function, x, 3, factor=w, label="text")["result"]
    y.backward()
    expected = ebb.tensor([30.0]).cos().item()
    assert x.grad.item() == pytest.approx(15 * expected)
    assert w.grad.item() == pytest.approx(6 * expected)


def test_grad_and_inputs_work():
    x, w = leaf(2.0), leaf(3.0)
    (gradient,) = ebb.autograd.grad(checkpoint(lambda t: (t * w).exp(), x), w)
    assert gradient.item() == pytest.approx(2.0 * ebb.tensor(6.0).exp().item())
    checkpoint(lambda t: (t * w).exp(), x).backward(inputs=[x])
    assert w.grad is None and x.grad is not None


def test_second_derivatives_work():
    x = leaf(2.0)
    y = checkpoint(lambda t: t * t * t, x)
    (first,) = ebb.autograd.grad(y, x, create_graph=True)
    (second,) = ebb.autograd.grad(first, x, create_graph=True)
    second.backward()
    assert (first.item(), second.item(), x.grad.item()) == (12.0, 12.0, 6.0)


def test_each_run_computes_again():
    x, function = leaf(1.0), Counted()
    y = checkpoint(function, x)
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    assert function.calls == 3
    assert x.grad.item() == pytest.approx(2 * 0.5403 * 2.3198, rel=1e-3)


def test_detached_parts_and_no_grad_inside_work():
    x = leaf(2.0)

    def function(t):
        with ebb.no_grad():
            scale = t * 10.0
        return (t * scale).exp() * t.detach()

    for run in (function, lambda t: checkpoint(function, t)):
        x.grad = None
        y = run(x * 0.1)
        y.backward()
        if run is function:
            expected = x.grad.item()
    assert x.grad.item() == expected


def test_tensor_hooks_inside_fire_once_with_the_gradient():
    x, seen = leaf(2.0), []
    if not hasattr(x, "register_hook"):
        pytest.skip("no tensor hooks yet")

    def function(t):
        y = t * t
        y.register_hook(lambda grad: seen.append(grad.item()))
        return y.exp()

    checkpoint(function, x).backward()
    assert len(seen) == 1


def test_checkpoints_nest():
    calls = []

    def inner(t):
        calls.append("inner")
        return t.sin().exp()

    def outer(t):
        calls.append("outer")
        return checkpoint(inner, t.cos()).sin()

    x, again = leaf(0.5), leaf(0.5)
    checkpoint(outer, x).backward()
    again.cos().sin().exp().sin().backward()
    assert x.grad.item() == again.grad.item()
    assert calls.count("outer") == 2 and calls.count("inner") == 3


def test_the_input_of_an_inner_checkpoint_is_not_kept_by_the_outer_one():
    x = ebb.ones(10_000, requires_grad=True)

    def outer(t):
        for _ in range(20):
            t = checkpoint(lambda u: u.sin().exp().sin(), t)
        return t

    before = live_without_garbage()
    y = checkpoint(outer, x)
    assert live() - before < 3 * 40_000
    y.sum().backward()
    z = ebb.ones(10_000, requires_grad=True)
    w = z
    for _ in range(20):
        w = w.sin().exp().sin()
    w.sum().backward()
    assert x.grad.tolist() == z.grad.tolist()


def test_random_numbers_are_drawn_again_without_disturbing_the_sequence():
    x = ebb.ones(100, requires_grad=True)
    ebb.manual_seed(7)
    y = checkpoint(lambda t: nn.functional.dropout(t, 0.5) * t, x)
    between = ebb.get_rng_state().tolist()
    y.sum().backward()
    assert ebb.get_rng_state().tolist() == between
    assert x.grad.tolist() == [2 * value for value in y.tolist()]  # d(m x^2)/dx = 2 m x at 1


def test_other_random_numbers_are_drawn_if_the_state_is_not_kept():
    x = ebb.ones(100, requires_grad=True)
    ebb.manual_seed(7)
    y = checkpoint(lambda t: nn.functional.dropout(t, 0.5) * t, x, preserve_rng_state=False)
    between = ebb.get_rng_state().tolist()
    y.sum().backward()
    assert ebb.get_rng_state().tolist() != between


def test_the_default_dtype_of_the_first_call_is_put_back():
    x = leaf(2.0)
    ebb.set_default_dtype(ebb.float64)
    try:
        y = checkpoint(lambda t: t.double() * ebb.ones(1).exp() * t, x)
    finally:
        ebb.set_default_dtype(ebb.float32)
    y.sum().backward()
    assert ebb.get_default_dtype() is ebb.float32


def test_backward_under_no_grad_still_recomputes():
    x = leaf(1.0)
    y = checkpoint(Counted(), x)
    with ebb.no_grad():
        y.backward()
    assert x.grad is not None


def test_under_no_grad_the_function_is_just_called():
    x, function = leaf(1.0), Counted()
    with ebb.no_grad():
        y = checkpoint(function, x)
    assert not y.requires_grad and function.calls == 1


def test_a_different_number_of_saved_tensors_is_an_error():
    calls = []

    def function(t):
        calls.append(1)
        return t.sin().exp().sin() if len(calls) == 1 else t.sin()

    x = leaf(1.0)
    y = checkpoint(function, x)
    with pytest.raises(CheckpointError, match="a different number of tensors was saved: 3 in the "
                                              "forward pass, 1 in the recomputation"):  # fmt: skip
        y.backward()


def test_more_saved_tensors_are_an_error_without_early_stop():
    calls = []

    def function(t):
        calls.append(1)
        return t.sin() if len(calls) == 1 else t.sin().exp().sin()

    x = leaf(1.0)
    y = checkpoint(function, x, early_stop=False)
    with pytest.raises(CheckpointError, match="trying to save more tensors during recomputation"):
        y.backward()


def changing_shape():
    calls = []

    def function(t):
        calls.append(1)
        return (t if len(calls) == 1 else ebb.cat([t, t])).sin().exp().sum()

    return function


def test_different_metadata_is_an_error_that_names_positions():
    x = leaf(1.0, 2.0)
    y = checkpoint(changing_shape(), x)
    with pytest.raises(RuntimeError, match=r"different metadata:\n  tensor at position 0: saved "
                       r"float32 \[2\] on cpu, recomputed float32 \[4\] on cpu\n  tensor at "
                       r"position 1"):  # fmt: skip
        y.backward()


@pytest.mark.parametrize("early_stop", [True, False])
def test_another_op_of_the_same_shape_is_an_error_that_names_it_and_the_call(early_stop):
    calls = []

    def function(t):
        calls.append(1)
        return t.sin() if len(calls) == 1 else t.cos()

    y = checkpoint(function, leaf(1.0), early_stop=early_stop)
    with pytest.raises(
        CheckpointError,
        match=r"on cpu by SinBackward, recomputed float32 \[1\] on "
        r"cpu by CosBackward\n  by the call at \S*test_checkpoint.py:\d+ in test_ano",
    ):
        y.backward()


PAIRS = [
    (lambda t: t.sigmoid(), lambda t: t.tanh()),
    (lambda t: t * t, lambda t: t / t),
    (
        lambda t: ebb.nn.functional.layer_norm(t, (1,)),
        lambda t: ebb.nn.functional.rms_norm(t, (1,)),
    ),
    (lambda t: ebb.nn.functional.layer_norm(t, (1,)).sin(), lambda t: t.sin().exp().exp().exp()),
]


@pytest.mark.parametrize(("first", "again"), PAIRS + [pair[::-1] for pair in PAIRS])
def test_another_function_is_an_error(first, again):
    calls = []

    def function(t):
        calls.append(1)
        return (first if len(calls) == 1 else again)(t)

    y = checkpoint(function, leaf(1.0))
    with pytest.raises(
        CheckpointError, match="recomputation must save what the forward pass saved"
    ):
        y.backward()


def test_without_the_determinism_check_the_unpacked_shape_is_refused():
    x = leaf(1.0, 2.0)
    y = checkpoint(changing_shape(), x, determinism_check="none")
    with pytest.raises(ValueError, match=r"must return the shape saved, \[2\], got \[4\]"):
        y.backward()


def test_an_argument_that_was_written_to_is_an_error():
    x = leaf(1.0)
    a = x * 1.0
    y = checkpoint(lambda t: t.sin(), a)
    with ebb.no_grad():
        a.zero_()
    with pytest.raises(RuntimeError, match=r"needs 'an input'.*modified in place"):
        y.backward()


def test_a_saved_value_is_given_out_once_per_run():
    x = leaf(1.0)
    y = checkpoint(lambda t: t.sin() * 1.0, x)
    node = y.grad_fn.next_functions[0][0]
    errors = []

    def unpack(value):
        for _ in range(2):
            try:
                _ = node.saved_input
            except RuntimeError as error:
                errors.append(str(error))
        return value

    with graph.saved_tensors_hooks(lambda value: value.clone(), unpack):
        z = y.exp()
    with pytest.raises(RuntimeError, match="already unpacked once"):
        z.backward()
    assert len(errors) == 1 and "already unpacked once" in errors[0]


def test_a_look_outside_of_a_run_computes_each_time():
    x, function = leaf(1.0), Counted()
    y = checkpoint(function, x)
    node = y.grad_fn.next_functions[0][0]
    assert node.saved_out.item() == node.saved_out.item()
    assert function.calls == 3


def test_exceptions_of_the_function_come_through():
    calls = []

    def function(t):
        calls.append(1)
        if len(calls) > 1:
            raise KeyError("second call")
        return t.sin()

    x = leaf(1.0)
    y = checkpoint(function, x)
    with pytest.raises(KeyError, match="second call"):
        y.backward()
    with pytest.raises(ZeroDivisionError):
        checkpoint(lambda t: 1 // 0, x)
    assert x.grad is None


def test_values_live_no_longer_than_the_run():
    x, w = ebb.ones(10_000, requires_grad=True), ebb.ones(10_000, requires_grad=True)
    y = checkpoint(lambda t: (t.sin().exp() * w).sum(), x)
    y.backward(inputs=[w], retain_graph=True)  # needs one of three saved values
    w.grad = None
    before = live_without_garbage()
    y.backward(inputs=[w], retain_graph=True)
    w.grad = None
    assert live() <= before


def test_peak_memory_falls_on_a_deep_chain():
    layers, size = 64, 40_000

    def peak(checkpointed):
        x = ebb.ones(size // 4, requires_grad=True)
        steps = [lambda t: t.sin()] * layers
        before = live_without_garbage()
        ebb.reset_peak_memory()
        if checkpointed:
            y = checkpoint_sequential(steps, 8, x)
        else:
            y = x
            for step in steps:
                y = step(y)
        y.sum().backward()
        return (ebb.memory_stats()["peak"] - before) / size, x.grad.tolist()

    plain, expected = peak(False)
    saved, gradient = peak(True)
    assert gradient == expected
    assert plain > layers and saved < 2 * 8 + 10  # 8 inputs of segments, one segment of 8


def test_two_runs_on_two_threads_have_values_of_their_own():
    x, function = leaf(1.0), Counted()
    y = checkpoint(function, x)
    on_threads(*[lambda: y.backward(retain_graph=True)] * 4)
    assert function.calls == 5
    assert x.grad.item() == pytest.approx(4 * 0.5403 * 2.3198, rel=1e-3)


def test_backward_inside_the_function_works():
    def function(t):
        u = t.detach().requires_grad_()
        (inner,) = ebb.autograd.grad(u.exp().sum(), u)
        return (t * inner).sin()

    x, again = leaf(0.5), leaf(0.5)
    checkpoint(function, x).backward()
    function(again).backward()
    assert x.grad.item() == again.grad.item()


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("create_graph", [True, False])
def test_the_function_may_differentiate_what_it_saved_so_far(early_stop, create_graph):
    def function(t):
        y = (t * t).sum()  # asked for before the function has saved all that it will
        (slope,) = ebb.autograd.grad(y, t, create_graph=create_graph)
        return slope * t.exp()

    x, again = leaf(0.5, 1.0), leaf(0.5, 1.0)
    checkpoint(function, x, early_stop=early_stop).sum().backward()
    function(again).sum().backward()
    assert x.grad.tolist() == again.grad.tolist()


def test_a_look_inside_of_a_run_finds_what_was_saved_since_the_last_look():
    looks = []

    def function(t):
        y = t * t
        looks.append(y.grad_fn.saved_self.tolist())
        z = y * 3 * y
        looks.append(z.grad_fn.saved_other.tolist())
        return z

    def hook(grad):
        with ebb.enable_grad():
            checkpoint(function, x)

    x = leaf(2.0)
    y = x * 1
    y.register_hook(hook)
    y.backward()
    assert looks[-2:] == [[2.0], [4.0]]


def test_user_hooks_inside_and_outside_compose_with_a_checkpoint():
    outer, inner = [], []

    def note(log):
        return graph.saved_tensors_hooks(lambda t: log.append(1) or t * 2.0, lambda t: t / 2.0)

    def function(t):
        with note(inner):
            return t.exp()

    x = leaf(0.5)
    with note(outer):
        y = checkpoint(function, x)
    assert (len(outer), len(inner)) == (1, 1)  # outside: the input only
    y.backward()
    assert x.grad.item() == pytest.approx(1.6487, rel=1e-4) and len(inner) == 2


def test_contexts_surround_the_calls():
    log = []

    @contextlib.contextmanager
    def named(name):
        log.append(name)
        yield

    x = leaf(1.0)
    y = checkpoint(lambda t: t.exp(), x, context_fn=lambda: (named("first"), named("again")))
    y.backward()
    assert log == ["first", "again"]


def test_the_reentrant_way_is_taken_as_the_other_and_told_once(monkeypatch):
    monkeypatch.setattr(ebb.utils.checkpoint, "_has_told_of_reentrant", False)
    x = leaf(2.0)
    with pytest.warns(UserWarning, match="use_reentrant=True runs as False does") as told:
        for _ in range(2):
            checkpoint(lambda t: t.exp(), x, use_reentrant=True).backward()
        checkpoint_sequential([Counted(), Counted()], 2, x, use_reentrant=True)
    assert len(told) == 1 and told[0].filename == __file__
    assert x.grad.item() == pytest.approx(2 * math.exp(2.0))


def test_bad_options_are_refused():
    x = leaf(1.0)
    with pytest.raises(ValueError, match="determinism_check must be 'default' or 'none'"):
        checkpoint(Counted(), x, determinism_check="strict")
    with pytest.raises(ValueError, match="segments must be from 1 to"):
        checkpoint_sequential([Counted()], 2, x)


def test_a_sequential_module_is_cut_into_segments():
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    x = ebb.randn(3, 4)
    model(x).sum().backward()
    expected = [one.grad.tolist() for one in model.parameters()]
    for segments in (1, 2, 3, 5):
        for one in model.parameters():
            one.grad = None
        checkpoint_sequential(model, segments, x, use_reentrant=False).sum().backward()
        assert [one.grad.tolist() for one in model.parameters()] == expected


def test_ten_thousand_checkpoints_leak_nothing():
    x = leaf(1.0)

    def once():
        y = checkpoint(lambda t: t.sin().exp(), x)
        ebb.autograd.grad(y, x)

    once()
    before = live_without_garbage()
    for _ in range(10_000):
        once()
    assert live_without_garbage() == before


def test_a_checkpoint_with_create_graph_leaks_nothing():
    x = leaf(1.0)

    def once():
        y = checkpoint(lambda t: t.sin().exp(), x)
        y.backward(create_graph=True)
        x.grad = None

    once()
    before = live_without_garbage()
    for _ in range(100):
        once()
    assert live_without_garbage() == before


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("early_stop", [True, False])
def test_a_call_may_capture_all_its_tensors(count, early_stop):
    # A list sized by the node's edges (at least one) and walked by the arguments, or the reverse,
    # reads outside of its memory: malloc that fills what it gives makes that show.
    program = f"""
    import ebb
    from ebb.utils.checkpoint import checkpoint

    w = ebb.ones(3, requires_grad=True)
    tensors = [ebb.ones(3, requires_grad=True) for _ in range({count})]
    for _ in range(20):
        y = checkpoint(lambda *more: sum(more, (w * 2).sin()), *tensors, early_stop={early_stop})
        y.grad_fn.list_saved()
        y.sum().backward()
    assert all(tensor.grad.tolist() == [20.0] * 3 for tensor in tensors)
    """
    printed(program, GLIBC_TUNABLES="glibc.malloc.tcache_count=0", MALLOC_PERTURB_="85")


def test_a_tensor_that_asks_for_a_gradient_after_the_call_that_read_it_is_told_of():
    x, w = ebb.tensor([2.0, 3.0], requires_grad=True), ebb.tensor([0.5, 0.25])
    y = checkpoint(lambda a: (a * w).sin() * w, x)
    w.requires_grad_()
    with pytest.raises(RuntimeError, match="what it reads must require gradients in both calls or"):
        y.sum().backward()
    assert x.grad is None and w.grad is None
