# tests/python/autograd/test_views.py -- views and in-place writes with gradients, as a user writes
# them.
#
# Random programs are in test_views_random.py, lifetimes in test_views_lifetime.py.
"""Views, in-place writes, assignment to an indexed tensor."""

import numpy as np
import pytest

import ebb
from tests.cases import by_family, each_of
from tests.python.held import live, live_without_garbage
from tests.python.ops.op_rows import Array, call, load_rows, make_arguments


def leaf(*values):
    return ebb.tensor(values, dtype=ebb.float64, requires_grad=True)


def matrix():
    return ebb.tensor(np.arange(12.0).reshape(3, 4) / 10 + 0.1, requires_grad=True)


# --- what a user writes ---


def test_an_item_may_be_assigned_and_read_back():
    x, w = matrix(), leaf(5.0)
    y = x * 2
    y[1] = w
    y[0, 1:3] = y[2, 0]
    y.sum().backward()
    assert w.grad.tolist() == [4.0]
    assert x.grad.tolist() == [[2, 0, 0, 2], [0, 0, 0, 0], [6, 2, 2, 2]]


def test_a_mask_may_be_assigned():
    x, w = leaf(1, 2, 3), leaf(5.0)
    y = x * 2
    y[y > 3] = w
    y.sum().backward()
    assert x.grad.tolist() == [2, 0, 0] and w.grad.tolist() == [2]


def test_a_slice_may_be_added_to():
    x, w = leaf(1, 2, 3, 4), leaf(5, 6)
    y = x * 2
    y[1:3].add_(w * w)
    assert y.tolist() == [2, 29, 42, 8]
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2, 2] and w.grad.tolist() == [10, 12]


def test_augmented_assignment_writes_once_through_the_view():
    x, w = leaf(1, 2, 3), leaf(5.0)
    y = x * 2
    y[1] += w[0]
    y[1:] *= 3
    y.sum().backward()
    assert x.grad.tolist() == [2, 6, 6] and w.grad.tolist() == [3]


def test_a_transpose_may_be_multiplied():
    x, w = matrix(), leaf(1, 2, 3)
    y = x * 1
    y.t().mul_(w)
    y.sum().backward()
    assert x.grad.tolist() == [[1] * 4, [2] * 4, [3] * 4]
    np.testing.assert_allclose(w.grad.numpy(), x.detach().numpy().sum(1))


def test_every_second_element_of_a_flat_view_may_be_written():
    x, w = matrix(), leaf(*range(6))
    y = x * 1
    y.view(-1)[::2].copy_(w)
    (y * y).sum().backward()
    assert x.grad[:, ::2].tolist() == [[0, 0]] * 3 and w.grad.tolist() == [0, 2, 4, 6, 8, 10]


@pytest.mark.parametrize(
    "views",
    [
        lambda y: y[1:].t()[::2].diagonal(),
        lambda y: y.view(4, 3).unsqueeze(0).transpose(1, 2)[0, 1:],
        lambda y: y.split([1, 2])[1].unbind(1)[2],
        lambda y: y.chunk(2, 1)[1].reshape(3, 2, 1).squeeze(-1)[:, 1],
        lambda y: y.as_strided((2, 3), (5, 1), 1),
    ],
)
def test_chains_of_views_may_be_written(views):
    x = matrix()

    def program(x):
        y = x * 2
        part = views(y)
        part.mul_(x[0, 0])
        part.add_(part.clone().sin())
        return y, part

    places = views(ebb.tensor(np.arange(12).reshape(3, 4))).numpy().copy()

    def expected(x):
        y = (x * 2).reshape(-1)
        at = ebb.tensor(places.reshape(-1))
        part = y.index_select(0, at) * x[0, 0]
        part = part + part.sin()
        return y.index_copy(0, at, part).reshape(3, 4), part.reshape(places.shape)

    for one, other in zip(program(x), expected(x), strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy())
        (first,) = ebb.autograd.grad((one * one).sum(), x, retain_graph=True)
        (second,) = ebb.autograd.grad((other * other).sum(), x, retain_graph=True)
        np.testing.assert_allclose(first.numpy(), second.numpy())
    assert ebb.autograd.gradcheck(program, x) and ebb.autograd.gradgradcheck(program, x)


@pytest.mark.parametrize(
    "write",
    [
        lambda part, w: part.copy_(w),
        lambda part, w: part.add_(w),
        lambda part, w: part.mul_(w),
        lambda part, w: part.fill_(3.0),
        lambda part, w: part.zero_(),
        lambda part, w: part.sin_(),
        lambda part, w: part.masked_fill_(ebb.tensor([True, False]), 2.0),
        lambda part, w: part.index_put_([ebb.tensor([1])], w[:1]),
        lambda part, w: part.index_add_(0, ebb.tensor([0, 0]), w),
        lambda part, w: part.scatter_(0, ebb.tensor([1]), w),
    ],
)
def test_ops_that_write_may_write_views(write):
    def program(x, w):
        y = x * x
        part = y[1:3]
        write(part, w)
        return y * y

    inputs = (leaf(1, 2, 3, 4), leaf(0.5, 0.25))
    assert ebb.autograd.gradcheck(program, inputs) and ebb.autograd.gradgradcheck(program, inputs)


def test_mixed_keys_may_be_assigned_with_a_gradient():
    def program(x, w):
        y = x * 1
        y[1:, [0, 2]] = w.view(2, 1)
        y[ebb.tensor([0]), 1:3] = w
        return y

    inputs = (matrix(), leaf(7, 8))
    assert program(*inputs)[2].tolist() == [8, 0.1 + 0.9, 8, 0.1 + 1.1]
    assert ebb.autograd.gradcheck(program, inputs) and ebb.autograd.gradgradcheck(program, inputs)


def test_a_view_without_elements_may_be_written():
    x, w = leaf(1, 2), leaf(3)
    y = x * 2
    y[1:1].mul_(w)
    y.view(2, 1)[:, :0].add_(w)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2] and w.grad.tolist() == [0]


def test_gradients_may_be_restricted_to_inputs_behind_a_write():
    x, w = leaf(1, 2), leaf(3)
    y = x * 2
    y[:1].mul_(w)
    dx, dw = ebb.autograd.grad(y.sum(), [x, w], retain_graph=True)
    assert dx.tolist() == [6, 2] and dw.tolist() == [2]
    (dw,) = ebb.autograd.grad(y.sum(), w, retain_graph=True)
    assert dw.tolist() == [2]
    (dx,) = ebb.autograd.grad(y.sum(), x)
    assert dx.tolist() == [6, 2] and x.grad is None


def test_a_recurrence_written_row_by_row_equals_one_that_is_stacked():
    def run(write):
        w, state, rows = leaf(0.9), ebb.ones(8, dtype=ebb.float64), []
        out = ebb.zeros(500, 8, dtype=ebb.float64)
        for t in range(500):
            state = (state * w).clamp(max=2.0)
            if write:
                out[t].copy_(state)
            rows.append(state)
        total = out.sum() if write else ebb.stack(rows).sum()
        total.backward()
        return total.item(), w.grad.tolist()

    assert run(write=True) == run(write=False)


def test_a_thousand_steps_take_memory_in_proportion():
    def peak(steps):
        x = ebb.ones(64, requires_grad=True)
        out = ebb.zeros(steps, 64)
        before = live_without_garbage()
        for t in range(steps):
            out[t].copy_(x * t)
        used = live() - before
        out.sum().backward()
        return used

    assert peak(1000) < 12 * peak(100)


# --- histories ---


def test_views_and_bases_know_each_other():
    y = matrix() * 1
    part = y[1:].t()
    assert part._base is y and part._is_view() and y._base is None and not y._is_view()
    assert part.detach()._base is None and part.clone()._base is None


def test_history_is_rewritten():
    x = leaf(1, 2, 3)
    y = x * 2
    old = y.grad_fn
    part = y[:2]
    before = part.grad_fn
    y[2:].mul_(2)
    assert y.grad_fn.name() == "WriteToViewBackward"
    assert y.grad_fn.next_functions[0][0] is old
    assert part.grad_fn is not before and part.grad_fn.name() == "AsStridedBackward"
    assert part.grad_fn.next_functions[0][0] is y.grad_fn
    assert part.grad_fn.location == before.location  # the line that made the view
    assert part.grad_fn is part.grad_fn


def test_what_was_computed_before_a_write_keeps_its_history():
    x = leaf(1, 2, 3)
    y = x * 2
    part = y[:2]
    early = part * 10
    part.mul_(3)
    (early.sum() + y.sum()).backward()
    assert x.grad.tolist() == [26, 26, 2]


def test_a_plain_buffer_and_its_views_start_to_require_grad():
    w = leaf(2.0)
    buffer = ebb.zeros(4, dtype=ebb.float64)
    front, back = buffer.split(2)
    assert front.is_leaf and front.grad_fn is None
    back.add_(w)
    assert buffer.requires_grad and front.requires_grad and not front.is_leaf
    (front.sum() + 3 * back.sum()).backward()
    assert w.grad.tolist() == [6]


def test_ops_of_every_kind_see_a_history_that_came_late():
    def late():
        buffer = ebb.zeros(2, 2, dtype=ebb.float64)
        part = buffer[0]
        buffer.add_(leaf(2.0))
        return part

    assert (late() + 1).requires_grad
    assert (1 - late()).requires_grad
    assert ebb.cat([ebb.zeros(2, dtype=ebb.float64), late()]).requires_grad
    assert late().view(2, 1).requires_grad
    assert late().max() is not None and late().max().requires_grad
    assert late().unbind()[0].requires_grad
    assert ebb.zeros(2, dtype=ebb.float64).add_(late()).requires_grad
    assert late().add_(1).requires_grad
    assert late().detach().requires_grad is False
    with pytest.raises(RuntimeError):
        ebb.add(late(), 1.0, out=ebb.zeros(2, dtype=ebb.float64))
    with pytest.raises(RuntimeError):
        late().numpy()


def test_a_leaf_made_after_its_views_does_not_change_them():
    x = ebb.zeros(3)
    part = x[:2]
    x.requires_grad_()
    assert not part.requires_grad and not (part * 2).requires_grad
    with pytest.raises(ebb.AutogradError, match="a view of one"):
        part.add_(1)


def test_writes_under_no_grad_change_values_only():
    x = leaf(1, 2, 3)
    y = x * 2
    part = y[:2]
    node = part.grad_fn
    with ebb.no_grad():
        y.mul_(10)
        part.add_(1)
    assert part.grad_fn is node and y.tolist() == [21, 41, 60]
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_integers_and_bools_have_views_without_history():
    index = ebb.tensor([[1, 2], [3, 4]])
    index[0].add_(1)
    index.t()[1] = 0
    assert index.tolist() == [[2, 0], [3, 0]] and index[0]._base is index


def test_stop_gradient_cuts_a_view():
    x = leaf(1, 2)
    y = (x * 2)[:1]
    y.stop_gradient = True
    assert y.is_leaf and not y.requires_grad and not y._is_view()


def test_data_and_detach_give_tensors_of_their_own():
    x = leaf(1, 2)
    y = x * 2
    y.detach()[0] = 7.0
    y.data[1] = 8.0
    assert y.tolist() == [7, 8] and y.grad_fn.name() == "MulScalarBackward"


def test_the_same_memory_seen_through_a_resized_base():
    x = leaf(1, 2, 3, 4)
    y = x * 1
    part = y[2:]
    y.data = y.data.view(4)
    y.mul_(2)
    part.sum().backward()
    assert x.grad.tolist() == [0, 0, 2, 2]


# --- refusals ---


def refused(call, *parts):
    with pytest.raises(ebb.AutogradError) as caught:
        call()
    text = str(caught.value)
    for part in parts:
        assert part in text, text
    return text


def test_a_view_of_a_leaf_is_refused_with_both_lines():
    x = leaf(1, 2)
    part = x[:1]
    text = refused(lambda: part.add_(1), "add_: a leaf that requires a gradient", "a view of one")
    assert text.count("test_views.py") == 2
    refused(lambda: x[0:1].__setitem__(0, 1.0), "a leaf that requires a gradient")
    assert x.tolist() == [1, 2]


def test_a_view_made_under_no_grad_is_refused_with_both_lines():
    w = leaf(2.0)
    buffer = ebb.zeros(4, dtype=ebb.float64)
    with ebb.no_grad():
        part = buffer[:2]
    text = refused(lambda: part.mul_(w), "mul_: ", "got a view made under no_grad")
    assert text.count("test_views.py") == 2
    refused(lambda: part[0:1].mul_(w), "under no_grad")
    part.mul_(2.0)  # no gradient is involved
    with ebb.no_grad():
        part.mul_(w.detach())


def test_a_view_of_a_leaf_made_under_no_grad_is_refused_in_grad_mode():
    x = leaf(1, 2)
    with ebb.no_grad():
        part = x[:1]
    refused(lambda: part.add_(1.0), "a leaf that requires a gradient", "a view of one")
    with ebb.no_grad():
        part.add_(1.0)
    assert x.tolist() == [2, 2]


def test_a_view_made_under_no_grad_may_not_be_used_after_a_write():
    buffer = ebb.zeros(2, dtype=ebb.float64)
    with ebb.no_grad():
        part = buffer[:1]
    buffer.add_(leaf(2.0))
    refused(lambda: part * 2, "must not be written with a gradient before the view is used")
    with ebb.no_grad():
        assert (part * 2).tolist() == [4]


def test_detach_in_place_refuses_views():
    y = leaf(1, 2) * 2
    refused(lambda: y[:1].detach_(), "detach_: needs a tensor that is no view")
    assert y.detach_() is y and y.is_leaf


def test_detaching_a_base_does_not_detach_its_views():
    x = leaf(1, 2)
    y = x * 2
    part = y[:1]
    y.detach_()
    assert not y.requires_grad and part.requires_grad
    part.sum().backward()
    assert x.grad.tolist() == [2, 0]
    y.fill_(1.0)
    assert not part.requires_grad


def test_a_view_that_is_no_leaf_any_more_follows_its_base():
    w, base = leaf(3.0), ebb.ones(4)
    view = base[1:3].requires_grad_()
    (view * 2).sum().backward()
    view.requires_grad_(False)
    assert view.is_leaf and not view.requires_grad
    base.mul_(w)
    assert view.requires_grad and not view.is_leaf and view.grad.tolist() == [2, 2]
    (view * view).sum().backward()
    assert w.grad.tolist() == [12] and view.grad.tolist() == [2, 2]  # d(2 w^2)/dw


def test_a_view_that_is_a_leaf_again_shows_values():
    w, base = leaf(3.0), ebb.ones(2)
    view = base[:1].requires_grad_().requires_grad_(False).requires_grad_()
    base.mul_(w.detach())
    (view * 5).sum().backward()
    assert view.is_leaf and view.grad.tolist() == [5]


def test_a_graph_made_while_a_view_was_a_leaf_adds_nothing_to_it_later():
    view = ebb.ones(4)[1:3].requires_grad_()
    y = (view * 2).sum()
    y.backward(retain_graph=True)
    view.requires_grad_(False)
    y.backward()
    assert view.grad.tolist() == [2, 2] and not (view * 2).requires_grad


def test_what_was_saved_is_stale_after_a_write_to_its_part_only():
    x = leaf(1, 2, 3)
    y = x * 2
    square = y[:2] * y[:2]
    y[2:].fill_(0)
    square.sum().backward()
    assert x.grad.tolist() == [8, 16, 0]
    y = x * 2
    square = y[:2] * y[:2]
    y[1:].fill_(0)
    with pytest.raises(ebb.AutogradError, match="modified in place by fill_"):
        square.sum().backward()


# --- kept gradients ---


def test_retained_gradients_move_to_what_the_tensor_is_now():
    x = leaf(1, 2)
    y = x * 3
    part = y[:1]
    y.retain_grad()
    part.retain_grad()
    part.mul_(5)
    (y.sum() + part.sum() * 2).backward()
    assert part.grad.tolist() == [2] and y.grad.tolist() == [3, 1]
    assert x.grad.tolist() == [45, 3]


def test_gradients_given_back_may_be_written():
    x, w = matrix(), leaf(2.0)
    (x.t() * 3).sum().backward()
    x.grad.view(-1)[0] = 7.0
    assert x.grad[0, 0].item() == 7
    (grad,) = ebb.autograd.grad((x.view(-1) * 2).sum(), x)
    grad.mul_(w)
    assert grad.requires_grad


class FirstRow(ebb.autograd.Function):
    """Returns a view of its input, or of a copy that it made."""

    @staticmethod
    def forward(ctx, x, copies):
        return (x.clone() if copies else x)[0]

    @staticmethod
    def backward(ctx, grad):
        out = ebb.zeros(3, 4, dtype=ebb.float64)
        out[0] = grad
        return out, None


def test_a_view_that_a_custom_function_returned_is_refused():
    y = matrix() * 1
    row = FirstRow.apply(y, False)
    assert row._base is y and row.grad_fn.name() == "FirstRowBackward"
    refused(lambda: row.mul_(2), "mul_: ", "got a view returned by a custom Function")
    y.mul_(2)
    refused(lambda: row * 2, "a view returned by a custom Function")


def test_a_custom_function_may_return_a_view_of_what_it_made():
    x = matrix()
    row = FirstRow.apply(x, True)
    assert row._base is None
    row.mul_(2)
    row[:2].add_(x[2, :2])
    row.sum().backward()
    assert x.grad.tolist() == [[2] * 4, [0] * 4, [1, 1, 0, 0]]


def results_of(row, case, dtype):
    """The main operand of a call, and the results that have elements."""
    arguments = make_arguments(row, case, dtype)
    results = call(row, arguments)
    results = results if isinstance(results, tuple | list) else [results]
    return arguments[row.main], [one for one in results if isinstance(one, ebb.Tensor)]


def starts_within(result, operand):
    return operand.data_ptr() <= result.data_ptr() < operand.data_ptr() + operand.nbytes


WITH_RESULTS = [row for row in load_rows() if "inputs" in row.test and not row.is_inplace]


@each_of([row for row in WITH_RESULTS if row.main], by_family)
def test_the_table_says_which_ops_give_views(row):
    dtype = next((one for one in ("float64", "complex128") if one in row.dtypes), None)
    for case in row.cases() if dtype else ():
        if not isinstance(case.arguments[row.main], Array):
            continue
        operand, results = results_of(row, case, dtype)
        for result in results:
            # An op with nothing to do may give back its operand, as PyTorch's do.
            if result is operand or 0 in (result.numel(), operand.numel()):
                continue
            is_view = row.data["cost"] == "view" or (
                row.data["cost"] == "copy" and operand.is_contiguous()
            )
            assert starts_within(result, operand) == is_view, case


def test_gradients_pass_a_write_into_an_empty_view_behind_the_memory():
    x = ebb.zeros(0, 3, requires_grad=True)
    value = ebb.zeros(0, requires_grad=True)
    y = x * 1
    y[:, 1] = value
    assert ebb.autograd.grad(y.sum(), [x, value])[1].shape == (0,)
    assert ebb.as_strided(ebb.zeros(1), (0,), (1,), 2).shape == (0,)
    with pytest.raises(ValueError, match="as_strided: the region must lie within 1 elements"):
        ebb.as_strided(ebb.zeros(1), (0,), (1,), 2**62)
