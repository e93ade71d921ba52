# tests/python/saved/test_saved_tensors.py -- hooks on what is saved for backward, and looking at
# it.
import gc
import os
import subprocess
import traceback
import weakref

import numpy as np
import pytest

import ebb
from ebb.autograd import graph
from tests.python.fresh import printed
from tests.python.held import live, live_without_garbage
from tests.python.leaves import leaf
from tests.python.threads import on_threads


class Counter:
    """Identity hooks that note what they are given."""

    def __init__(self):
        self.packed, self.unpacked = [], []

    def pack(self, value):
        self.packed.append(value)
        return value

    def unpack(self, value):
        self.unpacked.append(value)
        return value

    def hooks(self):
        return graph.saved_tensors_hooks(self.pack, self.unpack)


def test_a_numpy_round_trip_gives_the_same_gradients_and_packs_each_saved_buffer_once():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (x * w).exp().sum().backward()
    expected = x.grad.tolist(), w.grad.tolist()
    x.grad = w.grad = None
    packed = []

    def pack(value):
        packed.append(value.shape)
        return value.numpy().copy()

    with graph.saved_tensors_hooks(pack, ebb.from_numpy):
        y = (x * w).exp().sum()
    assert len(packed) == 3  # both factors, and the result of exp; sum keeps sizes only
    y.backward()
    assert (x.grad.tolist(), w.grad.tolist()) == expected


def test_metadata_and_python_numbers_are_not_packed():
    x, counter = leaf(1.0, 2.0), Counter()
    with counter.hooks():
        (x.reshape(2, 1) * 3.0 + 1.0).sum()
    assert counter.packed == []


def test_hooks_apply_inside_the_block_only_and_nested_ones_restore_the_outer_pair():
    x, outer, inner = leaf(2.0), Counter(), Counter()
    with outer.hooks():
        _a = x.exp()
        with inner.hooks():
            _b = x.exp()
        _c = x.exp()
    _d = x.exp()
    assert len(inner.packed) == 1 and len(outer.packed) == 3


def test_nested_hooks_compose_innermost_first():
    x = leaf(3.0)
    log = []

    def hooks(name, factor):
        def pack(value):
            log.append(("pack", name, value.item()))
            return value * factor

        def unpack(value):
            log.append(("unpack", name, value.item()))
            return value / factor

        return graph.saved_tensors_hooks(pack, unpack)

    with hooks("outer", 10.0), hooks("inner", 2.0):
        y = x * 1.0 * x.detach()
    y.backward()
    assert log == [("pack", "inner", 3.0), ("pack", "outer", 6.0),
                   ("unpack", "outer", 60.0), ("unpack", "inner", 6.0)]  # fmt: skip
    assert x.grad.item() == 3.0


def test_outer_hooks_are_not_given_what_is_no_tensor():
    x, outer = leaf(3.0), Counter()
    with outer.hooks(), graph.saved_tensors_hooks(lambda t: t.tolist(), ebb.tensor):
        y = x.exp()
    assert outer.packed == []
    y.backward()
    assert outer.unpacked == []


def test_unpack_may_run_many_times_with_retain_graph():
    x, counter = leaf(2.0), Counter()
    with counter.hooks():
        y = x.exp()
    y.backward(retain_graph=True)
    y.backward()
    assert len(counter.packed) == 1 and len(counter.unpacked) == 2


def test_hooks_run_without_recording_and_get_detached_tensors():
    x, seen = leaf(2.0), []

    def pack(value):
        seen.append((value.requires_grad, ebb.is_grad_enabled(), (value * 2).requires_grad))
        return value

    def unpack(value):
        seen.append((value.requires_grad, ebb.is_grad_enabled(), (value * 2).requires_grad))
        return value

    with graph.saved_tensors_hooks(pack, unpack):
        y = x.exp()
    ebb.autograd.grad(y, x, create_graph=True)
    assert set(seen) == {(False, False, False)}


def test_an_operation_inside_a_hook_is_not_packed_again():
    x = leaf(2.0)
    depth = []

    def pack(value):
        depth.append(1)
        with ebb.enable_grad():
            return (value.requires_grad_() * 2.0).exp().log().detach() / 2.0

    with graph.saved_tensors_hooks(pack, lambda value: value):
        y = x * x
    assert len(depth) == 2
    y.backward()
    assert x.grad.item() == pytest.approx(4.0)


@pytest.mark.parametrize("wrong, error, text", [
    (lambda value: ebb.ones(3), ValueError, r"must return the shape saved, \[2\], got \[3\]"),
    (lambda value: value.double(), TypeError, "must return the dtype saved, float32, got float64"),
    (lambda value: "text", TypeError, "unpack_hook is expected to be a Tensor, got str"),
    (lambda value: None, TypeError, "is expected to be a Tensor, got NoneType"),
])  # fmt: skip
def test_what_unpack_returns_must_look_like_what_was_saved(wrong, error, text):
    x = leaf(1.0, 2.0)
    with graph.saved_tensors_hooks(lambda value: value, wrong):
        y = x.exp().sum()
    with pytest.raises(error, match=text):
        y.backward()
    assert x.grad is None


def test_a_pack_hook_that_writes_to_its_input_is_refused():
    x = leaf(1.0)

    def pack(value):
        return value.mul_(2.0)

    refused = pytest.raises(RuntimeError, match="a pack hook must leave what it is given")
    with graph.saved_tensors_hooks(pack, lambda value: value), refused:
        x.exp()


class OwnError(Exception):
    pass


def fail(value):
    raise OwnError("from the hook")


def test_exceptions_of_hooks_keep_class_and_traceback():
    x = leaf(1.0)
    hooks = graph.saved_tensors_hooks(fail, lambda value: value)
    with hooks, pytest.raises(OwnError, match="from the hook") as caught:
        x.exp()
    with graph.saved_tensors_hooks(lambda value: value, fail):
        y = x.exp()
    with pytest.raises(OwnError, match="from the hook") as caught_later:
        y.backward()
    for one in (caught, caught_later):
        assert "fail" in [frame.name for frame in traceback.extract_tb(one.value.__traceback__)]
    assert x.grad is None


def test_a_run_whose_hook_failed_can_be_repeated():
    x, fails = leaf(2.0), [True]

    def unpack(value):
        if fails.pop() if fails else False:
            raise OwnError
        return value

    with graph.saved_tensors_hooks(lambda value: value, unpack):
        y = x.exp()
    with pytest.raises(OwnError):
        y.backward()
    y.backward()
    assert x.grad.item() == pytest.approx(np.exp(2.0))


def test_the_version_is_checked_when_hooks_keep_the_very_memory():
    x, factor = leaf(2.0), ebb.tensor([3.0])
    with Counter().hooks():
        y = x * factor
    factor.mul_(10.0)
    with pytest.raises(RuntimeError, match=r"needs 'other'.*modified in place by mul_"):
        y.backward()


def test_a_copy_made_by_a_hook_is_free_of_the_version_check():
    x, factor = leaf(2.0), ebb.tensor([3.0])
    with graph.saved_tensors_hooks(lambda value: value.clone(), lambda value: value):
        y = x * factor
    factor.mul_(10.0)
    y.backward()
    assert x.grad.tolist() == [3.0]


def test_memory_that_comes_to_lie_where_the_saved_tensor_was_is_no_stale_value():
    x = leaf(2.0)
    for _ in range(50):
        factor = ebb.tensor([3.0])
        factor.add_(1.0)  # its version is above that of fresh memory
        with graph.saved_tensors_hooks(lambda value: value.tolist(), ebb.tensor):
            y = x * factor
        del factor
        y.backward()
    assert x.grad.tolist() == [200.0]


def test_in_place_recordings_are_packed():
    x, counter = leaf(2.0), Counter()
    with counter.hooks():
        y = x * 3.0
        y.mul_(ebb.tensor([2.0]))
        y.exp_()
    assert len(counter.packed) == 2  # the factor, and the result of exp_
    y.backward()
    other = leaf(2.0)
    (other * 6.0).exp().backward()
    assert x.grad.tolist() == other.grad.tolist()


def test_an_in_place_operation_packs_what_it_saves_before_it_writes():
    x = leaf(2.0)
    with graph.saved_tensors_hooks(lambda value: value.clone(), lambda value: value):
        y = x * 3.0
        y.mul_(y)
    y.sum().backward()
    assert x.grad.tolist() == [36.0]  # d(9 x^2)/dx


def test_operations_with_several_results_are_packed():
    x, counter = leaf(3.0, 1.0, 2.0), Counter()
    with counter.hooks():
        values, _index = x.sort()
    (values * ebb.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert len(counter.packed) == 1 and len(counter.unpacked) == 1
    assert x.grad.tolist() == [100.0, 1.0, 10.0]


def test_second_derivatives_flow_through_unpacked_values():
    x = leaf(2.0)
    with graph.saved_tensors_hooks(lambda value: value.numpy().copy(), ebb.from_numpy):
        y = x * x * x
        (first,) = ebb.autograd.grad(y, x, create_graph=True)
    first.backward()
    assert x.grad.item() == 12.0


def test_an_unpacked_leaf_and_an_unpacked_result_keep_their_history():
    x = leaf(2.0)
    with graph.saved_tensors_hooks(lambda value: value.clone(), lambda value: value):
        squared, power = x * x, x.exp()
    assert squared.grad_fn.saved_input.requires_grad
    assert squared.grad_fn.saved_input.grad_fn is None or squared.grad_fn.saved_input.is_leaf
    assert power.grad_fn.saved_out.grad_fn is power.grad_fn


class Packed:
    """What a hook returns; weak references can see it die."""

    def __init__(self, value):
        self.value = value


def packed_graph(function):
    alive = []

    def pack(value):
        one = Packed(value.clone())
        alive.append(weakref.ref(one))
        return one

    with graph.saved_tensors_hooks(pack, lambda one: one.value):
        return function(), alive


def test_packed_objects_are_released_with_the_graph():
    x = leaf(2.0)
    y, alive = packed_graph(lambda: x.exp() * x)
    assert len(alive) == 3 and all(one() is not None for one in alive)
    del y
    assert all(one() is None for one in alive)


def test_packed_objects_are_released_by_a_run():
    x = leaf(2.0)
    y, alive = packed_graph(lambda: x.exp() * x)
    y.backward()
    assert all(one() is None for one in alive)
    with pytest.raises(RuntimeError, match="to run backward a second time"):
        y.backward()


def test_packed_objects_are_released_during_a_run():
    x, live = leaf(2.0), []
    y, alive = packed_graph(lambda: x.exp().exp().exp().exp())
    z, _ = packed_graph(lambda: y)
    z.backward()
    assert len(alive) == 4 and not live

    def pack(value):
        one = Packed(value)
        alive.append(weakref.ref(one))
        return one

    def unpack(one):
        live.append(sum(ref() is not None for ref in alive))
        return one.value

    alive.clear()
    with graph.saved_tensors_hooks(pack, unpack):
        y = x
        for _ in range(10):
            y = y.sin()
    y.backward()
    assert live[0] == 10 and live[-1] <= 3


def test_packed_objects_are_released_under_the_gil_by_threads_that_do_not_hold_it():
    x = leaf(2.0)
    died_on = []

    class Noisy:
        def __init__(self, value):
            self.value = value

        def __del__(self):
            died_on.append(self.value.tolist())

    with graph.saved_tensors_hooks(Noisy, lambda one: one.value):
        graphs = [x.exp() for _ in range(20)]
    on_threads(*(one.backward for one in graphs))
    del graphs
    assert len(died_on) == 20


def test_threads_have_stacks_of_their_own():
    x, counter, count = leaf(2.0), Counter(), []
    with counter.hooks():
        on_threads(lambda: count.append(x.exp()))
    assert counter.packed == [] and len(count) == 1


def test_two_threads_run_one_packed_graph_at_a_time():
    x, counter = leaf(2.0), Counter()
    with counter.hooks():
        y = x
        for _ in range(50):
            y = y.sin()
    on_threads(*[lambda: y.backward(retain_graph=True)] * 4)
    once = leaf(2.0)
    z = once
    for _ in range(50):
        z = z.sin()
    z.backward()
    assert x.grad.item() == pytest.approx(4 * once.grad.item())
    assert len(counter.unpacked) == 200


def test_an_output_saved_by_its_own_operation_makes_no_cycle():
    gc.collect()
    gc.disable()
    try:
        before = live_without_garbage()
        for hooks in (None, Counter().hooks()):
            x = ebb.ones(1000, requires_grad=True)
            if hooks is None:
                y = x.exp()
            else:
                with graph.saved_tensors_hooks(lambda value: value, lambda value: value):
                    y = x.exp()
            assert y.requires_grad
            del x, y
            assert live() <= before
    finally:
        gc.enable()


def test_hooks_must_be_callable():
    with pytest.raises(TypeError, match=r"^saved_tensors_hooks: argument 'pack_hook' must be"):
        graph.saved_tensors_hooks(1, lambda value: value)
    hooks = graph.saved_tensors_hooks(abs, abs)
    hooks.pack_hook = 1
    text = "needs two functions, pack_hook and unpack_hook, got int"
    with pytest.raises(TypeError, match=text), hooks:
        pass


def test_disabled_hooks_raise_the_message_and_nest():
    x = leaf(1.0)
    hooks = Counter().hooks()
    with graph.disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"), hooks:
            pass
        inner = graph.disable_saved_tensors_hooks("nor here")
        with inner, pytest.raises(RuntimeError, match="nor here"), hooks:
            pass
        with pytest.raises(RuntimeError, match="not here"), graph.save_on_cpu():
            pass
        x.exp().backward()
    late = graph.disable_saved_tensors_hooks("too late")
    with hooks, pytest.raises(RuntimeError, match="needs no hooks to be installed"), late:
        pass
    with hooks:
        pass


def test_save_on_cpu_keeps_a_copy():
    x, factor = leaf(2.0), ebb.tensor([3.0])
    with graph.save_on_cpu(pin_memory=True):
        y = x * factor
    assert y.grad_fn.saved_other.device == factor.device
    factor.zero_()
    y.backward()
    assert x.grad.tolist() == [3.0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_save_on_disk_keeps_files_until_the_graph_lets_go(tmp_path, dtype):
    x = ebb.ones([2, 3], dtype=getattr(ebb, dtype), requires_grad=True)
    with graph.save_on_disk(tmp_path):
        y = (x.exp() * x).sum()
    assert len(list(tmp_path.iterdir())) == 3
    y.backward(retain_graph=True)
    first = x.grad.tolist()
    y.backward()
    assert np.allclose(np.array(x.grad.tolist()), 2 * np.array(first))
    assert list(tmp_path.iterdir()) == []


def test_save_on_disk_reports_a_folder_that_is_missing(tmp_path):
    x = leaf(1.0)
    with graph.save_on_disk(tmp_path / "missing"), pytest.raises(FileNotFoundError):
        x.exp()


def test_files_on_disk_go_with_the_process(tmp_path):
    code = (
        "import ebb, sys\n"
        "x = ebb.ones(3, requires_grad=True)\n"
        "with ebb.autograd.graph.save_on_disk(sys.argv[1]):\n"
        "    y = x.exp()\n"
        "import os; assert len(os.listdir(sys.argv[1])) == 1\n"
    )
    printed(code, tmp_path)
    assert os.listdir(tmp_path) == []


def test_saved_tensors_may_be_mutated_where_that_is_allowed():
    x = leaf(3.0)
    with graph.allow_mutation_on_saved_tensors():
        a = x.clone()
        y = a * a + a.exp()
        a.mul_(10.0)
        a.zero_()
    y.backward()
    assert x.grad.item() == pytest.approx(6.0 + np.exp(3.0))


def test_a_mutation_after_the_block_is_allowed_too():
    x, factor = leaf(3.0), ebb.tensor([2.0])
    with graph.allow_mutation_on_saved_tensors():
        y = x * factor
    factor.fill_(100.0)
    y.backward()
    assert x.grad.tolist() == [2.0]


def test_a_mutation_through_a_view_or_an_out_form_is_seen():
    x, factor = leaf(3.0, 4.0), ebb.tensor([2.0, 5.0])
    with graph.allow_mutation_on_saved_tensors():
        y = (x * factor).sum()
        factor.detach()[0] = 100.0
        factor.view(2, 1).copy_(ebb.ones(2, 1))
        ebb.neg(factor, out=factor)
    y.backward()
    assert x.grad.tolist() == [2.0, 5.0]


def test_one_copy_is_made_per_version_and_none_without_mutation():
    factor = ebb.ones(1000)
    x = ebb.ones(1000, requires_grad=True)
    with graph.allow_mutation_on_saved_tensors():
        results = [x * factor for _ in range(10)]
        before = live_without_garbage()
        factor.mul_(2.0)
        assert live() - before < 2 * 4096
        results += [x * factor for _ in range(10)]
    ebb.stack(results).sum().backward()
    assert x.grad.tolist() == [30.0] * 1000


def test_contexts_that_allow_mutation_cannot_be_nested():
    inner = graph.allow_mutation_on_saved_tensors()
    refused = pytest.raises(RuntimeError, match="cannot be nested")
    with graph.allow_mutation_on_saved_tensors(), refused, inner:
        pass
    with graph.allow_mutation_on_saved_tensors():
        pass


def test_writing_what_a_gradient_does_not_need_raises_nothing():
    x, term = leaf(2.0), ebb.tensor([3.0])
    y = (x + term) * 2.0
    term.zero_()
    y.backward()
    assert x.grad.tolist() == [2.0]


def test_a_write_before_saving_is_harmless():
    x, factor = leaf(2.0), ebb.tensor([3.0])
    factor.mul_(2.0)
    (x * factor).backward()
    assert x.grad.tolist() == [6.0]


def test_a_saved_leaf_keeps_no_accumulation_node_or_gradient_alive():
    x = ebb.ones(1000, requires_grad=True)
    with graph.saved_tensors_hooks(lambda value: value, lambda value: value):
        y = x * x
    y.sum().backward(retain_graph=True)
    before = live_without_garbage()
    del x
    assert before - live() >= 4000  # its gradient went; its elements are saved


def test_the_library_does_not_need_python():
    build = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(ebb._C.__file__))))
    library = os.path.join(build, "lib", "libebb.so")
    if not os.path.exists(library):
        pytest.skip("an installed package has no separate library")
    listed = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    assert "libpython" not in listed


def test_forward_mode_passes_through_packed_values():
    forward = ebb.autograd.forward_ad
    tangents = []
    for hooks in (None, graph.saved_tensors_hooks(lambda t: t.numpy().copy(), ebb.from_numpy)):
        x = leaf(0.5)
        with forward.dual_level():
            dual = forward.make_dual(x, ebb.tensor([2.0]))
            if hooks is None:
                y = dual.exp() * dual
            else:
                with hooks:
                    y = dual.exp() * dual
            (gradient,) = ebb.autograd.grad(y, x, create_graph=True)
            tangents.append(forward.unpack_dual(gradient).tangent.item())
    assert tangents[1] == tangents[0] == pytest.approx(2.0 * 2.5 * 1.6487, rel=1e-3)
