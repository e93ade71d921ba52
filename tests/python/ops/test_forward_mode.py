# tests/python/ops/test_forward_mode.py -- every op of the table through dual tensors.
#
# Tangents against finite differences and against backward, plain and in place; second derivatives
# by forward over reverse and reverse over forward against reverse over reverse.
import numpy as np

import ebb
from ebb.autograd.forward_ad import dual_level
from tests.cases import by_op, each_of
from tests.python.autograd.forward_support import difference, duals, tangent, tangents_or_zeros
from tests.python.ops.op_rows import call, make_arguments
from tests.python.ops.test_gradients import (
    HAS_CASES,
    INPLACE,
    flatten,
    inner,
    inplace_cases,
    inplace_function,
    leaves,
    outputs_of,
    random_like,
    wide_array,
)


@each_of(HAS_CASES, by_op)
def test_dual_tensors_match_differences_and_backward(row, case, dtype):
    arguments = make_arguments(row, case, dtype)
    tensors, rebuilt = flatten(row, arguments)
    rng = np.random.default_rng(11)
    steps = [random_like(rng, one) for one in tensors]
    func = lambda *given: outputs_of(call(row, rebuilt(*given)))  # noqa: E731
    with dual_level():
        outputs = func(*duals(tensors, steps))
        forward = tangents_or_zeros(outputs)
        plain = func(*tensors)
        for out, wanted in zip(outputs, plain, strict=True):
            np.testing.assert_allclose(wide_array(out), wide_array(wanted), rtol=1e-14)
    for got, wanted in zip(forward, difference(func, tensors, steps), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-7)
    weights = [random_like(rng, one) for one in plain]
    inputs = leaves(tensors)
    backward = ebb.autograd.grad(func(*inputs), inputs, weights)
    np.testing.assert_allclose(
        sum(inner(wide_array(w), f) for w, f in zip(weights, forward, strict=True)),
        sum(inner(wide_array(g), wide_array(s)) for g, s in zip(backward, steps, strict=True)),
        rtol=1e-9,
        atol=1e-9,
    )


@each_of(INPLACE, by_op)
def test_writing_in_place_moves_the_tangent(row, dtype):
    for case in inplace_cases(row, dtype):
        arguments = make_arguments(row, case, dtype)
        tensors, func = inplace_function(row, arguments)
        rng = np.random.default_rng(11)
        steps = [random_like(rng, one) for one in tensors]
        run = lambda *given: outputs_of(func(*given))  # noqa: B023, E731
        with dual_level():
            forward = tangents_or_zeros(run(*duals(tensors, steps)))
        for got, wanted in zip(forward, difference(run, tensors, steps), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-7)


def products(func, tensors, seed=5):
    """Hessian-vector products of a weighted sum of squares, three ways."""
    rng = np.random.default_rng(seed)
    steps = [random_like(rng, one) for one in tensors]
    weights = [random_like(rng, one) for one in func(*tensors)]

    def gradient(inputs, create_graph=False):
        outputs = func(*inputs)
        return ebb.autograd.grad(
            outputs, inputs, weights, create_graph=create_graph, materialize_grads=True
        )

    def forward_over_reverse():
        with dual_level():
            inputs = duals(leaves(tensors), steps)
            return tangents_or_zeros(gradient(inputs))

    def reverse_over_forward():
        inputs = leaves(tensors)
        with dual_level():
            outputs = func(*duals(inputs, steps))
            pairs = [(tangent(o), w) for o, w in zip(outputs, weights, strict=True)]
            pairs = [(o, w) for o, w in pairs if o is not None and o.requires_grad]
            if not pairs:
                return [np.zeros(tuple(one.shape)) for one in tensors]
            found = ebb.autograd.grad(
                [o for o, _ in pairs], inputs, [w for _, w in pairs], materialize_grads=True
            )
        return [wide_array(one) for one in found]

    def reverse_over_reverse():
        inputs = leaves(tensors)
        grads = [(g, s) for g, s in zip(gradient(inputs, True), steps, strict=True)]
        grads = [(g, s) for g, s in grads if g.requires_grad]
        if not grads:
            return [np.zeros(tuple(one.shape)) for one in tensors]
        found = ebb.autograd.grad(
            [g for g, _ in grads], inputs, [s for _, s in grads], materialize_grads=True
        )
        return [wide_array(one) for one in found]

    return forward_over_reverse(), reverse_over_forward(), reverse_over_reverse()


@each_of(HAS_CASES, by_op)
def test_second_derivatives_agree_whichever_mode_is_over_the_other(row, case, dtype):
    arguments = make_arguments(row, case, dtype)
    tensors, rebuilt = flatten(row, arguments)
    func = lambda *given: outputs_of(call(row, rebuilt(*given)))  # noqa: E731
    mixed, turned, wanted = products(func, tensors)
    for one, two, three in zip(mixed, turned, wanted, strict=True):
        np.testing.assert_allclose(one, three, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(two, three, rtol=1e-7, atol=1e-8)
