# tests/python/autograd/test_trace_cuts.py -- ways of values through cuts, as trace_cuts() notes
# them.
"""Each kind of cut, what leaves as a number, and that notes keep nothing alive."""

import gc

import numpy as np
import pytest

import ebb
from tests.python.held import live_without_garbage
from tests.python.lines import line
from tests.python.threads import on_threads


@pytest.fixture(autouse=True)
def no_notes():
    """Notes of other tests must not answer."""
    ebb.autograd.forget_cuts()


def leaf(values=(1.0, 2.0)) -> ebb.Tensor:
    """Return a leaf that requires a gradient."""
    return ebb.tensor(list(values), requires_grad=True)


def ops(steps) -> list[str]:
    return [step.op for step in steps]


def test_the_way_through_detach_is_shown_with_lines_and_modules():
    class Net(ebb.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = ebb.nn.Linear(2, 2)

        def forward(self, x):
            return self.encoder(x).detach()

    net, head = Net(), leaf()
    with ebb.trace_cuts():
        at = line() + 1
        h = net(ebb.ones(1, 2)) * 3.0
        loss = (h * head).sum()
    found = ebb.explain(loss, "encoder.weight", names=net)
    assert (found.reason, found.gets_gradient) == ("cut", False)
    assert ops(found.trail) == ["LinearBackward", "detach", "mul", "MulBackward", "SumBackward"]
    kinds = ["recorded", "unrecorded", "unrecorded", "recorded", "recorded"]
    assert [step.kind for step in found.trail] == kinds
    assert [(step.op, step.cut) for step in found.cuts] == [("detach", "detached")]
    assert not found.cuts_are_candidates
    assert found.location.function.endswith("forward")
    assert found.trail[2].location.line == at
    assert found.trail[0].module == "encoder"
    text = str(found)
    assert text.startswith("encoder.weight gets no gradient: its values reach the output, but")
    assert "<- cut here: detached" in text
    assert ebb.explain(loss, net)["encoder.bias"].step.op == "detach"


def under_no_grad(w):
    with ebb.no_grad():
        return w * 2.0


def by_data(w):
    return (w * 2.0).data


def by_detach_in_place(w):
    return (w * 2.0).detach_()


def by_cast(w):
    return (w * 2.0).round().long().float()


def by_comparison(w):
    return (w > 1.0).float()


def by_argmax(w):
    return w.argmax().float()


def by_index(w):
    return w.sort()[1].float()


def by_where_of_a_comparison(w):
    return ebb.where(w > 1.0, ebb.ones(2), ebb.zeros(2))


def by_inference_mode(w):
    with ebb.inference_mode():
        kept = w * 2.0
    return kept.clone()


CUTS = {
    under_no_grad: ("mul", "no_grad"),
    by_data: ("data", "detached"),
    by_detach_in_place: ("detach_", "detached"),
    by_cast: ("cast", "not_differentiable"),
    by_comparison: ("greater", "not_differentiable"),
    by_argmax: ("argmax", "not_differentiable"),
    by_index: ("sort", "not_differentiable"),
    by_where_of_a_comparison: ("greater", "not_differentiable"),
    by_inference_mode: ("mul", "no_grad"),
}


@pytest.mark.parametrize("cut", CUTS)
def test_each_kind_of_cut_is_named_with_its_line(cut):
    w, v = leaf(), leaf()
    with ebb.trace_cuts():
        loss = (cut(w) + v).sum()
    found = ebb.explain(loss, w)
    assert found.reason == "cut"
    assert [(step.op, step.cut) for step in found.cuts] == [CUTS[cut]]
    first = cut.__code__.co_firstlineno
    assert first < found.location.line <= first + 3


@pytest.mark.parametrize("cut", CUTS)
def test_an_output_without_history_has_a_trail_too(cut):
    w = leaf()
    with ebb.trace_cuts():
        loss = cut(w).sum()
    found = ebb.explain(loss, w)
    assert found.reason == "cut"
    assert found.trail[-1].op == "sum"


def test_lists_of_operands_are_followed():
    w, v = leaf(), leaf()
    with ebb.trace_cuts():
        loss = ebb.cat([v, ebb.stack([w.detach(), ebb.ones(2)]).sum(0)]).sum()
    assert ops(ebb.explain(loss, w).trail) == [
        "detach", "stack", "sum", "CatBackward", "SumBackward",
    ]  # fmt: skip


def test_a_write_under_no_grad_to_a_recorded_tensor_is_a_cut():
    w, v = leaf(), leaf()
    with ebb.trace_cuts():
        y = v * v
        with ebb.no_grad():
            at = line() + 1
            y.mul_(w)
        loss = y.sum()
    found = ebb.explain(loss, w)
    assert found.reason == "cut"
    assert ops(found.trail) == ["mul_", "MulBackward", "SumBackward"]
    assert found.location.line == at
    assert ebb.explain(loss, v).gets_gradient


def test_a_write_under_no_grad_to_a_leaf_a_buffer_and_a_view_is_a_cut():
    w, v, buffer = leaf(), leaf(), ebb.zeros(2, 2)
    with ebb.trace_cuts():
        with ebb.no_grad():
            v.copy_(w)
            buffer[0].copy_(w)
        on_leaf, on_buffer = (v * v).sum(), (buffer * v.detach()).sum()
    assert ops(ebb.explain(on_leaf, w).trail) == [
        "copy_", "AccumulateGrad", "MulBackward", "SumBackward",
    ]  # fmt: skip
    assert ops(ebb.explain(on_buffer, w).trail)[0] == "copy_"


def test_a_recorded_write_to_a_detached_tensor_keeps_its_way():
    w, v = leaf(), leaf()
    with ebb.trace_cuts():
        h = (w * w).detach()
        h += v
        loss = h.sum()
    assert ops(ebb.explain(loss, w).trail) == [
        "MulBackward", "detach", "AddBackward", "SumBackward",
    ]  # fmt: skip


class Rounding(ebb.autograd.Function):
    """A function with an output that it marks."""

    @staticmethod
    def forward(ctx, x):
        whole = x.round()
        ctx.mark_non_differentiable(whole)
        return x * 2.0, whole

    @staticmethod
    def backward(ctx, grad, _):
        return grad * 2.0


def test_a_custom_function_that_marks_an_output_is_named():
    w, v = leaf(), leaf()
    with ebb.trace_cuts():
        twice, whole = Rounding.apply(w)
        with ebb.no_grad():
            unrecorded = Rounding.apply(w)[0]
    found = ebb.explain((whole * v).sum(), w)
    assert found.reason == "not_used"  # the last product was not traced
    with ebb.trace_cuts():
        loss, other = (whole * v).sum(), (unrecorded * v).sum()
    found = ebb.explain(loss, w)
    assert [(step.op, step.cut) for step in found.cuts] == [("Rounding", "not_differentiable")]
    assert ebb.explain(other, w).cuts[0].cut == "no_grad"
    assert ebb.explain(twice.sum(), w).gets_gradient


def test_all_cuts_are_listed_and_repeated_ones_counted():
    w, v = leaf(), leaf()
    with ebb.trace_cuts():
        loss = v.sum()
        for _ in range(3):
            loss = loss + (w * 2.0).detach().sum()
        loss = loss + w.data.sum()
    found = ebb.explain(loss, w)
    assert [(step.op, step.times) for step in found.cuts] == [("detach", 3), ("data", 1)]
    assert "all places where they were cut off:" in str(found)


def test_what_cuts_off_something_else_is_not_blamed():
    w, u, v = leaf(), leaf(), leaf()
    with ebb.trace_cuts():
        loss = (u.detach() * v).sum()
    assert ebb.explain(loss, u).reason == "cut"
    found = ebb.explain(loss, w)
    assert found.reason == "not_used"


def leave_item(w):
    return ebb.tensor(w.sum().item())


def leave_float(w):
    return ebb.tensor([float(w.sum())])


def leave_list(w):
    return ebb.tensor(w.tolist())


def leave_numpy(w):
    return ebb.from_numpy(w.detach().numpy() * 2.0)


def leave_asarray(w):
    return ebb.tensor(np.asarray(w.detach()))


def leave_in_a_list(w):
    return ebb.tensor([w.sum(), 1.0])


LEAVES = {
    leave_item: "item",
    leave_float: "item",
    leave_list: "tolist",
    leave_numpy: "numpy",
    leave_asarray: "numpy",
    leave_in_a_list: "tensor",
}


@pytest.mark.parametrize("leave", LEAVES)
def test_what_leaves_as_numbers_is_told_with_what_may_have_come_of_it(leave):
    w, v = leaf(), leaf()
    with ebb.trace_cuts():
        loss = (leave(w).sum() * v).sum()
    found = ebb.explain(loss, w)
    assert found.reason == "left"
    assert LEAVES[leave] in ops(found.left)
    inside = range(leave.__code__.co_firstlineno, leave.__code__.co_firstlineno + 2)
    assert found.location.line in inside
    assert found.entered
    assert found.entered[0].location.line in inside
    assert "became numbers" in str(found)
    assert "tensors made from numbers went into the output" in str(found)


def test_a_number_that_goes_in_as_a_number_has_no_candidate():
    w, v = leaf(), leaf()
    with ebb.trace_cuts():
        loss = (w.sum().item() * v).sum()
    found = ebb.explain(loss, w)
    assert (found.reason, found.entered) == ("left", [])
    assert "no tensor made from numbers is known to go into the output" in str(found)


# The mode.


def test_off_nothing_is_noted():
    w = leaf()
    (w.detach() * w).sum().backward()
    assert ebb._C._cut_notes()[0] == 0


def test_it_is_a_context_manager_a_decorator_and_a_switch():
    w, v = leaf(), leaf()

    @ebb.trace_cuts()
    def decorated():
        return (w.exp().detach() * v).sum()

    assert ebb.explain(decorated(), w).reason == "cut"
    assert ebb.explain((w.exp().detach() * v).sum(), w).reason == "not_used"
    with ebb.autograd.set_trace_cuts(True):
        loss = (w.exp().detach() * v).sum()
        with ebb.trace_cuts(False):
            untraced = (w.exp().detach() * v).sum()
    assert ebb.explain(loss, w).reason == "cut"
    assert ebb.explain(untraced, w).reason == "not_used"


def test_results_and_gradients_are_the_same_while_traced():
    def step():
        w, v = leaf(), leaf([3.0, 4.0])
        loss = ((w * v).detach() * v + ebb.cat([w, v])[:2]).sum()
        loss.backward()
        return loss.item(), w.grad.tolist(), v.grad.tolist()

    plain = step()
    with ebb.trace_cuts():
        assert step() == plain


def test_errors_still_name_the_line_of_a_traced_cut():
    w = leaf()
    with ebb.trace_cuts():
        at = line() + 1
        loss = w.detach().sum()
    with pytest.raises(ebb.errors.AutogradError, match=rf"detach\(\) at .*:{at}"):
        loss.backward()
    ebb.autograd.forget_cuts()
    with pytest.raises(ebb.errors.AutogradError, match=r"detach\(\) at an unknown place"):
        loss.backward()


def test_notes_keep_no_tensor_alive():
    before = live_without_garbage()
    with ebb.trace_cuts():
        w, v = ebb.ones(1000, requires_grad=True), ebb.ones(1000, requires_grad=True)
        h = (w.exp() * w).detach()
        loss = (h * v).sum()
        kept = loss.item(), v.copy_
        del kept
    notes = ebb._C._cut_notes()[0]
    assert notes > 0
    del w, v, h, loss
    assert live_without_garbage() <= before


def test_a_leaf_that_took_the_place_of_a_dead_one_is_not_taken_for_it():
    v = leaf()
    with ebb.trace_cuts():
        loss = v.sum()
        for _ in range(50):
            w = leaf()
            loss = loss + w.detach().sum()
            del w
    for _ in range(50):
        assert ebb.explain(loss, leaf()).reason == "not_used"


def test_the_graph_that_was_cut_off_may_be_gone():
    w, v = leaf(), leaf()
    with ebb.trace_cuts():
        h = w.exp().sin().detach()
        gc.collect()
        loss = (h * v).sum()
    del h
    assert ops(ebb.explain(loss, w).trail)[:3] == ["ExpBackward", "SinBackward", "detach"]


def test_memory_is_bounded_and_old_notes_are_forgotten():
    w, v = leaf(), leaf()
    with ebb.trace_cuts():
        early = (w.exp().detach() * v).sum()
        cut = w.detach()
        for _ in range(300_000):
            cut = cut.neg()
        late = (cut * v).sum()
    count, size = ebb._C._cut_notes()
    assert count <= 1 << 18
    assert size <= 32 << 20
    assert ebb.explain(early, w).reason == "not_used"
    assert ebb.explain(late, v).gets_gradient
    ebb.autograd.forget_cuts()
    assert ebb._C._cut_notes() == (0, 0)


def test_threads_note_side_by_side():
    results = []

    def work():
        w, v = leaf(), leaf()
        with ebb.trace_cuts():
            for _ in range(200):
                loss = ((w * w).detach() * v).sum()
        results.append(ops(ebb.explain(loss, w).trail))

    on_threads(*[work] * 4)
    assert results == [["MulBackward", "detach", "MulBackward", "SumBackward"]] * 4


def test_backward_inside_is_not_noted():
    w = leaf()
    with ebb.trace_cuts():
        loss = (w.exp() * w).sum()
        loss.backward(retain_graph=True)
        assert ebb._C._cut_notes()[0] == 0
