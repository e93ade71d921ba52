# tests/python/autograd/test_forward_mode.py -- dual tensors: levels, views, writes, mixed modes,
# programs.
import math
import random

import numpy as np
import pytest

import ebb
import ebb.autograd.forward_ad as fwAD
from ebb.autograd.forward_ad import dual_level, make_dual, unpack_dual
from tests.python.autograd.forward_support import difference, directional, tangent
from tests.python.held import live, live_without_garbage
from tests.python.threads import on_threads

f64 = ebb.float64


def t(*values, dtype=f64):
    return ebb.tensor(values[0] if len(values) == 1 else list(values), dtype=dtype)


# Values, history and what an op does with them.


def test_a_dual_shares_memory_and_version_with_its_primal():
    x = t(1.0, 2.0)
    with dual_level():
        d = make_dual(x, t(3.0, 4.0))
        assert d.data_ptr() == x.data_ptr()
        x.add_(1)
        assert d.tolist() == [2.0, 3.0]
        assert unpack_dual(d).primal.tolist() == [2.0, 3.0]


def test_the_tangent_is_used_as_it_is():
    direction = t(3.0, 4.0)
    with dual_level():
        d = make_dual(t(1.0, 2.0), direction)
        assert tangent(d).data_ptr() == direction.data_ptr()


def test_detach_drops_the_tangent_and_no_grad_does_not_stop_it():
    with dual_level(), ebb.no_grad():
        d = make_dual(t(2.0), t(1.0))
        assert tangent(d * d).item() == 4.0
        assert tangent(d.detach() * d).item() == 2.0
        result = d * 1
        result.detach_()
        assert tangent(result) is None and tangent(d).item() == 1.0


def test_comparisons_and_integers_have_no_tangent():
    with dual_level():
        d = make_dual(t(2.0, 3.0), t(1.0, 1.0))
        assert tangent(d > 2) is None
        assert tangent(d.to(ebb.int64)) is None
        assert tangent(ebb.zeros_like(d)) is None


def test_results_in_another_dtype_have_tangents_in_it():
    with dual_level():
        d = make_dual(t(2.0, dtype=ebb.float32), t(1.0, dtype=ebb.float64))
        assert tangent(d).dtype == ebb.float32
        assert tangent(d.to(f64)).dtype == f64
        assert tangent(d * t(3.0)).item() == 3.0


def test_random_ops_give_the_tangent_of_the_numbers_that_they_drew():
    ebb.manual_seed(3)
    x, step = ebb.randn([50], dtype=f64), ebb.randn([50], dtype=f64)
    with dual_level():
        out = ebb.nn.functional.dropout(make_dual(x, step), 0.4, True)
        kept = (out.detach() != 0).to(f64)
        assert ebb.allclose(tangent(out), step * kept / 0.6)
        assert tangent(ebb.bernoulli(make_dual(x.sigmoid(), step))).abs().sum().item() == 0


def test_out_forms_and_numbers_refuse_duals():
    with dual_level():
        d = make_dual(t(2.0), t(1.0))
        with pytest.raises(RuntimeError, match=r"exp: the out= form .* without tangents"):
            ebb.exp(d, out=t(0.0))
        with pytest.raises(RuntimeError, match="exp: the out= form"):
            ebb.exp(t(0.0), out=d)
        with pytest.raises(TypeError, match="must be number, got a Tensor that carries a tangent"):
            ebb.full([2], d)


def test_repr_shows_the_tangent():
    with dual_level():
        d = make_dual(t(2.0), t(1.0))
        assert "tangent=tensor(1., dtype=ebb.float64)" in repr(d)
    assert "tangent" not in repr(d)


# Levels.


def test_leaving_a_level_drops_its_tangents():
    with dual_level():
        d = make_dual(t(2.0), t(1.0))
        y = d * d
    assert unpack_dual(y) == (y, None)
    with dual_level():
        assert tangent(y) is None
        assert tangent(y * make_dual(t(2.0), t(1.0))).item() == 4.0


def test_a_level_is_left_when_an_exception_passes():
    with pytest.raises(KeyError), dual_level():
        raise KeyError
    with pytest.raises(RuntimeError, match="make_dual: needs a level of forward mode, got none"):
        make_dual(t(2.0), t(1.0))


def test_levels_are_left_in_reverse_order():
    outer = fwAD.enter_dual_level()
    inner_level = fwAD.enter_dual_level()
    assert inner_level > outer
    with pytest.raises(RuntimeError, match="exit_dual_level: needs the innermost level"):
        fwAD.exit_dual_level(level=outer)
    fwAD.exit_dual_level(level=inner_level)
    fwAD.exit_dual_level()
    with pytest.raises(RuntimeError, match="exit_dual_level: needs a level to leave, got none"):
        fwAD.exit_dual_level()


def test_make_dual_says_what_it_needs():
    with dual_level() as level:
        with pytest.raises(ValueError, match=r"tangent needs the shape \[2\] of the primal, got"):
            make_dual(t(1.0, 2.0), t(1.0))
        with pytest.raises(TypeError, match=r"'primal' needs a floating .* dtype, got int64"):
            make_dual(ebb.tensor([1]), t([1.0]))
        with pytest.raises(TypeError, match=r"'tangent' needs a floating .* dtype, got bool"):
            make_dual(t([1.0]), ebb.tensor([True]))
        with pytest.raises(TypeError, match=r"tangent of a real primal \(float64\) must be real"):
            make_dual(t([1.0]), ebb.tensor([1j]))
        with pytest.raises(TypeError, match="make_dual: 'tangent' must be Tensor, got float"):
            make_dual(t([1.0]), 1.0)
        d = make_dual(t(1.0), t(1.0))
        with pytest.raises(RuntimeError, match="'primal' must carry no tangent on this level"):
            make_dual(d, t(1.0))
        with pytest.raises(RuntimeError, match="'tangent' must carry no tangent on this level"):
            make_dual(t(1.0), d)
        with pytest.raises(RuntimeError, match="needs a level entered on this thread"):
            make_dual(t(1.0), t(1.0), level=level + 1)
        with pytest.raises(TypeError, match="'level' must be a level or None, got str"):
            make_dual(t(1.0), t(1.0), level="0")
        with pytest.raises(ValueError, match="'level' must be a level or None, got -1"):
            unpack_dual(d, level=-1)


def nth_derivative(func, x, order):
    if order == 0:
        return func(x)
    with dual_level():
        value = nth_derivative(func, make_dual(x, ebb.ones_like(x)), order - 1)
        return unpack_dual(value).tangent


@pytest.mark.parametrize(("order", "wanted"), [(1, math.cos), (3, lambda x: -math.cos(x))])
def test_nested_levels_give_higher_derivatives_of_sin(order, wanted):
    assert nth_derivative(ebb.sin, t(0.7), order).item() == pytest.approx(wanted(0.7), rel=1e-14)


def test_the_fifth_derivative_of_a_product():
    cube = lambda x: x * x * x * x * x * x  # noqa: E731
    assert nth_derivative(cube, t(2.0), 5).item() == pytest.approx(720 * 2.0)


def test_levels_do_not_confuse_perturbations():
    # d/dx (x * d/dy (x + y)) = 1, not 2.
    with dual_level():
        x = make_dual(t(1.0), t(1.0))
        with dual_level():
            y = make_dual(t(1.0), t(1.0))
            slope = tangent(x + y)
        assert tangent(x * slope).item() == 1.0


def test_an_outer_level_can_be_named_inside_an_inner_one():
    with dual_level() as outer:
        x = make_dual(t(3.0), t(1.0))
        with dual_level() as level:
            y = make_dual(x, t(2.0)) * x
            assert unpack_dual(y, level=level).tangent.item() == 6.0
            assert unpack_dual(y, level=outer).tangent.item() == 6.0
            assert unpack_dual(y, level=outer).primal.item() == 9.0
            late = make_dual(t(1.0), t(5.0), level=outer)
            assert tangent(late) is None
        assert tangent(late).item() == 5.0


# Views and writes.


def test_the_tangent_of_a_view_is_the_view_of_the_tangent():
    x, step = ebb.randn([3, 4], dtype=f64), ebb.randn([3, 4], dtype=f64)
    views = {
        "transpose": lambda a: a.transpose(0, 1),
        "slice": lambda a: a[1:, ::2],
        "reshape": lambda a: a.reshape(2, 6),
        "expand": lambda a: a[0].expand(2, 4),
        "chain": lambda a: a.t()[1:3],
        "diagonal": lambda a: a.diagonal(),
        "split": lambda a: a.split([1, 3], dim=1)[1],
        "unbind": lambda a: a.unbind(0)[2],
    }
    with dual_level():
        for name, view in views.items():
            d = make_dual(x, step)
            assert ebb.equal(tangent(view(d)), view(step)), name


def test_writes_through_a_view_are_seen_by_the_base():
    with dual_level():
        d = make_dual(t([[1.0, 2.0], [3.0, 4.0]]), t([[1.0, 0.0], [0.0, 1.0]]))
        d[0].mul_(3)
        assert tangent(d).tolist() == [[3.0, 0.0], [0.0, 1.0]]
        d.t()[0, 1].zero_()
        assert tangent(d).tolist() == [[3.0, 0.0], [0.0, 1.0]]
        d.t()[1].copy_(make_dual(t(7.0, 8.0), t(5.0, 6.0)))
        assert tangent(d).tolist() == [[3.0, 5.0], [0.0, 6.0]]
        assert d.tolist() == [[3.0, 7.0], [0.0, 8.0]]


def test_writes_to_the_base_are_seen_by_its_views():
    with dual_level():
        d = make_dual(t(1.0, 2.0, 3.0), t(1.0, 1.0, 1.0)) * 1
        tail = d[1:]
        d.mul_(d)
        assert tangent(tail).tolist() == [4.0, 6.0]
        d.fill_(0)
        assert tangent(tail).tolist() == [0.0, 0.0]


def test_views_of_a_strided_base_share_its_tangent():
    with dual_level():
        base = make_dual(ebb.randn([4, 3], dtype=f64).t(), ebb.ones([3, 4], dtype=f64))
        row = base.t().reshape(12)
        row[:2].mul_(5)
        assert tangent(base)[:2, 0].tolist() == [5.0, 5.0]


def test_writing_leaves_the_given_tangent_alone():
    direction = t(1.0, 1.0)
    with dual_level():
        d = make_dual(t(1.0, 2.0), direction)
        head = d[:1]
        d.mul_(4)
        assert tangent(head).tolist() == [4.0]
    assert direction.tolist() == [1.0, 1.0]


def test_a_write_does_not_reach_the_tangent_of_an_operand():
    with dual_level():
        d = make_dual(t(1.0, 2.0), t(1.0, 1.0))
        y = d + 1  # its tangent may be that of d
        y.mul_(3)
        assert tangent(d).tolist() == [1.0, 1.0]
        assert tangent(y).tolist() == [3.0, 3.0]


def test_a_buffer_gets_a_tangent_by_being_written():
    with dual_level():
        d = make_dual(t(1.0, 2.0, 3.0), t(1.0, 1.0, 1.0))
        buffer = ebb.zeros([3], dtype=f64)
        for i in range(3):
            buffer[i] = d[i] * d[i]
        assert tangent(buffer).tolist() == [2.0, 4.0, 6.0]
        buffer[ebb.tensor([0, 2])] = d[:2]
        assert tangent(buffer).tolist() == [1.0, 4.0, 1.0]
        buffer.zero_()
        assert tangent(buffer).tolist() == [0.0, 0.0, 0.0]


def test_assignment_by_tensors_and_masks_carries_tangents():
    x, step = ebb.randn([4, 3], dtype=f64), ebb.randn([4, 3], dtype=f64)
    for key in (ebb.tensor([2, 0]), x > 0, (slice(1, 3), ebb.tensor([0, 2]))):
        with dual_level():
            d = make_dual(x, step).clone()
            d[key] = d[key] * 2
            assert ebb.allclose(tangent(d)[key], step[key] * 2)
            buffer = ebb.zeros([4, 3], dtype=f64)
            buffer[key] = make_dual(x[key].clone(), step[key])
            assert ebb.equal(tangent(buffer)[key], step[key])
    assert x.tolist() == x.detach().tolist()


def test_views_that_were_there_see_the_first_tangent():
    with dual_level():
        d = make_dual(t(1.0, 2.0), t(10.0, 100.0))
        buffer = ebb.zeros([2], dtype=f64)
        head, reversed_pair = buffer[:1], buffer.reshape(2, 1).t()
        buffer.add_(d * d)
        assert tangent(buffer).tolist() == [20.0, 400.0]
        assert tangent(head).tolist() == [20.0]
        assert tangent(reversed_pair * 2).tolist() == [[40.0, 800.0]]
        head.mul_(3)
        assert tangent(buffer).tolist() == [60.0, 400.0]
        assert tangent(reversed_pair).tolist() == [[60.0, 400.0]]
        assert tangent(buffer.detach()) is None


def test_views_that_were_there_see_a_write_of_another_view():
    x = t(2.0).requires_grad_()
    with dual_level():
        d = make_dual(x, t(1.0))
        grid = ebb.zeros([2, 3], dtype=f64)
        column, row, untouched = grid[:, 1], grid[1], grid[:, 0]
        row[1].copy_(d * d * d)
        assert tangent(column).tolist() == [0.0, 12.0]
        assert tangent(untouched).tolist() == [0.0, 0.0]
        assert tangent(row.sum() * 2).item() == 24.0
        (slope,) = ebb.autograd.grad(tangent(column).sum(), x, retain_graph=True)  # of 3 x^2
        assert slope.item() == 12.0
        (slope,) = ebb.autograd.grad((column * 2).sum(), x)
        assert slope.item() == 24.0


def test_views_that_were_there_see_first_tangents_on_every_level():
    with dual_level() as outer:
        d = make_dual(t(3.0), t(1.0))
        with dual_level():
            buffer = ebb.zeros([3, 2], dtype=f64).t()
            first, second = buffer[0], buffer[:, 1]
            buffer[0, 1].copy_(make_dual(d, t(1.0)) ** 3)
            for view, place in ((first, 1), (second, 0)):
                inner = tangent(view)
                assert inner[place].item() == 27.0 and inner.sum().item() == 27.0
                assert unpack_dual(inner, level=outer).tangent[place].item() == 18.0
        assert unpack_dual(first).tangent[1].item() == 27.0


def test_the_primal_of_a_first_tangent_has_none():
    with dual_level():
        buffer = ebb.zeros([2], dtype=f64)
        head = buffer[:1]
        buffer.copy_(make_dual(t(1.0, 2.0), t(1.0, 1.0)))
        primal = unpack_dual(buffer).primal
        assert tangent(primal * 1) is None and tangent(primal) is None
        assert tangent(head).tolist() == [1.0]
    assert unpack_dual(head).tangent is None and (head * 2).tolist() == [2.0]


@pytest.mark.parametrize("seed", range(20))
def test_programs_of_views_and_writes_agree_with_finite_differences(seed):
    rng = random.Random(seed)
    steps = [(rng.randrange(6), rng.randrange(4), rng.randrange(4)) for _ in range(6)]

    def program(x):
        buffer = ebb.zeros([2, 3], dtype=f64) + 0.5
        if seed % 2:
            buffer = ebb.zeros([3, 2], dtype=f64).t().add_(0.5)
        views = [buffer, buffer[1], buffer[:, 1], buffer.t()]
        for kind, source, target in steps:
            view = views[target]
            if kind == 0:
                view.mul_(x.sum())
            elif kind == 1:
                view.add_(views[source].sin().sum())
            elif kind == 2:
                view.copy_(x.prod().expand(view.shape))
            elif kind == 3:
                view[0].fill_(1.5)
            elif kind == 4:
                view.sin_()
            else:
                view.select(0, 0).add_(x[0] * x[1])
        return ebb.cat([view.reshape(-1) for view in views])

    x, v = t(0.7, -0.4), t(0.3, 0.8)
    with dual_level():
        measured = tangent(program(make_dual(x, v)))
    step = 1e-6
    expected = (program(x + v * step) - program(x - v * step)) / (2 * step)
    measured = ebb.zeros_like(expected) if measured is None else measured
    assert ebb.allclose(measured, expected, rtol=1e-5, atol=1e-7)


def test_a_write_that_its_views_could_not_see_is_refused():
    x = t(1.0, 2.0).requires_grad_()
    with dual_level():
        d = make_dual(t(1.0, 2.0), t(1.0, 1.0))
        buffer = x * 2  # views of what has a history do not look again
        head = buffer[:1]
        with pytest.raises(NotImplementedError, match=r"forward mode: .* with a history"):
            buffer.add_(d)
        del head
        buffer = x * 2
        buffer.add_(d)
        assert tangent(buffer).tolist() == [1.0, 1.0]


def test_a_view_that_is_written_gives_its_base_a_tangent():
    x = t(1.0, 2.0).requires_grad_()
    with dual_level():
        d = make_dual(x, t(10.0, 100.0))
        buffer = ebb.zeros([2, 3], dtype=f64)
        column = buffer.t()[1]
        column.copy_(d * d)
        assert tangent(buffer).tolist() == [[0.0, 20.0, 0.0], [0.0, 400.0, 0.0]]
        row = buffer[1]
        assert tangent(row).tolist() == [0.0, 400.0, 0.0]
        buffer.mul_(2)
        assert tangent(column).tolist() == [40.0, 800.0] and tangent(row)[1].item() == 800.0
        column.zero_()
        assert tangent(buffer).abs().sum().item() == 0.0
        transposed = ebb.zeros([2, 2], dtype=f64).t().contiguous().t().clone()
        transposed[1].add_(d * d)
        (slope,) = ebb.autograd.grad(tangent(transposed).sum(), x)  # of 2 x dx
        assert slope.tolist() == [20.0, 200.0]


def test_a_view_gets_tangents_on_every_level():
    with dual_level() as outer:
        d = make_dual(t(3.0), t(1.0))
        with dual_level():
            buffer = ebb.zeros([2], dtype=f64)
            buffer[1].copy_(make_dual(d, t(1.0)) ** 3)
            inner = tangent(buffer)
            assert inner.tolist() == [0.0, 27.0]
            assert unpack_dual(inner, level=outer).tangent.tolist() == [0.0, 18.0]


def test_the_primal_of_a_dual_tensor_gets_no_tangent_by_a_write():
    with dual_level():
        d = make_dual(t(1.0), t(1.0))
        primal = unpack_dual(make_dual(t(1.0), t(1.0)) * 1).primal
        with pytest.raises(NotImplementedError, match=r"primal of a dual"):
            primal.add_(d)


def test_self_as_both_operands_of_a_write():
    with dual_level():
        d = make_dual(t(3.0), t(1.0)) * 1
        d.mul_(d)
        assert (d.item(), tangent(d).item()) == (9.0, 6.0)


# Forward over reverse and reverse over forward.


def test_forward_over_reverse_sees_values_saved_before_and_copies_of_what_was_written():
    x = t(0.5, 0.7).requires_grad_()
    with dual_level():
        d = make_dual(x, t(1.0, 0.0))
        y = d * 2
        y.mul_(d)
        y.exp_()
        (grad,) = ebb.autograd.grad(y.sum(), x)
        # y = exp(2xx), y' = 4x y, y'' = (4 + 16xx) y
        assert tangent(grad).tolist() == pytest.approx([8 * math.exp(0.5), 0.0])


def test_gradients_that_are_summed_or_accumulated_keep_their_tangents():
    x = t(0.5, 0.7).requires_grad_()
    with dual_level():
        d = make_dual(x, t(1.0, 1.0))
        for _ in range(2):
            (d * d * d + d * d).sum().backward()
        assert tangent(x.grad).tolist() == pytest.approx([2 * (6 * 0.5 + 2), 2 * (6 * 0.7 + 2)])
    assert x.grad.tolist() == pytest.approx([2 * (0.75 + 1.0), 2 * (3 * 0.49 + 1.4)])


def test_reverse_over_forward_reaches_the_tangent_too():
    x, v = t(0.5).requires_grad_(), t(2.0).requires_grad_()
    with dual_level():
        slope = tangent(ebb.sin(make_dual(x, v)))
        by_x, by_v = ebb.autograd.grad(slope, [x, v])
    assert by_x.item() == pytest.approx(-math.sin(0.5) * 2)
    assert by_v.item() == pytest.approx(math.cos(0.5))


def test_forward_over_forward_over_reverse():
    x = t(0.5).requires_grad_()
    with dual_level() as outer:
        with dual_level():
            d = make_dual(make_dual(x, t(1.0), level=outer), t(1.0))
            (grad,) = ebb.autograd.grad(ebb.exp(d * d), x)
            second = tangent(grad)
        third = tangent(second)
    e = math.exp(0.25)
    assert second.item() == pytest.approx((2 + 4 * 0.25) * e)
    assert third.item() == pytest.approx((12 * 0.5 + 8 * 0.125) * e)


def test_reverse_over_forward_over_reverse():
    x = t(0.5).requires_grad_()
    with dual_level():
        d = make_dual(x, t(1.0))
        (grad,) = ebb.autograd.grad(ebb.exp(d * d), x, create_graph=True)
        (third,) = ebb.autograd.grad(tangent(grad), x)
    assert third.item() == pytest.approx((12 * 0.5 + 8 * 0.125) * math.exp(0.25))


def test_parameters_that_become_leaves_while_dual_keep_their_tangent():
    with dual_level():
        d = make_dual(t(3.0), t(1.0)).requires_grad_()
        y = d * d
        y.backward()
        assert tangent(y).item() == 6.0
        assert tangent(d.grad).item() == 2.0


# Whole programs, threads, memory.


def test_an_mlp_along_a_direction_of_its_input_and_backward_agree():
    ebb.manual_seed(1)
    net = ebb.nn.Sequential(
        ebb.nn.Linear(5, 7), ebb.nn.Tanh(), ebb.nn.LayerNorm(7), ebb.nn.Linear(7, 3), ebb.nn.GELU()
    ).to(f64)
    x, step = ebb.randn([4, 5], dtype=f64), ebb.randn([4, 5], dtype=f64)
    func = lambda a: (net(a).softmax(-1),)  # noqa: E731
    (got,) = directional(func, [x], [step])
    np.testing.assert_allclose(got, difference(func, [x], [step])[0], rtol=1e-6, atol=1e-8)


def test_an_attention_block_along_a_direction():
    ebb.manual_seed(1)
    block = ebb.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).to(f64)
    x, step = ebb.randn([2, 3, 8], dtype=f64), ebb.randn([2, 3, 8], dtype=f64)
    func = lambda a: (block(a),)  # noqa: E731
    (got,) = directional(func, [x], [step])
    np.testing.assert_allclose(got, difference(func, [x], [step])[0], rtol=1e-6, atol=1e-7)


def test_control_flow_differentiates_the_branch_taken():
    def collatz_like(x):
        for _ in range(4):
            x = x * 3 + 1 if x.item() < 5 else x / 2
        return (x,)

    (got,) = directional(collatz_like, [t(1.0)], [t(1.0)])
    (wanted,) = difference(collatz_like, [t(1.0)], [t(1.0)])
    assert float(got) == pytest.approx(float(wanted))


def test_levels_belong_to_a_thread_but_their_tangents_do_not():
    seen = {}
    with dual_level():
        d = make_dual(t(2.0), t(1.0))

        def other():
            seen["none"] = unpack_dual(d).tangent
            with pytest.raises(RuntimeError, match="needs a level"):
                make_dual(t(1.0), t(1.0))
            seen["square"] = d * d
            with dual_level():
                seen["own"] = tangent(make_dual(t(5.0), t(1.0)) * d).item()

        on_threads(other)
        assert seen["none"] is None
        assert tangent(seen["square"]).item() == 4.0
        assert seen["own"] == 2.0


def test_many_threads_use_one_dual_and_views_of_it():
    results = []
    with dual_level():
        d = make_dual(ebb.ones([64], dtype=f64), ebb.ones([64], dtype=f64))

        def work():
            results.extend((d[i : i + 2] * d[i]).sum() for i in range(60))

        on_threads(*[work] * 4)
        assert {tangent(one).item() for one in results} == {4.0}


def test_nothing_is_left_when_levels_are_left():
    def once():
        x = ebb.ones([100], dtype=f64).requires_grad_()
        with dual_level():
            y = make_dual(x, ebb.ones_like(x)).exp()  # saves its result, whose tangent needs it
            z = y * y
            ebb.autograd.grad(z.sum(), x, create_graph=True)

    once()
    before = live_without_garbage()
    for _ in range(50):
        once()
    assert live() == before
