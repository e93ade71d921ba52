# tests/python/autograd/forward_support.py -- dual tensors, their tangents, and finite differences
# beside.
"""Helpers of the tests of forward mode."""

import numpy as np

from ebb.autograd.forward_ad import dual_level, make_dual, unpack_dual
from tests.python.ops.op_rows import wide_array


def tangent(tensor):
    return unpack_dual(tensor).tangent


def duals(tensors, steps):
    return [make_dual(one, step) for one, step in zip(tensors, steps, strict=True)]


def tangents_or_zeros(outputs):
    found = []
    for out in outputs:
        own = tangent(out)
        found.append(np.zeros(tuple(out.shape)) if own is None else wide_array(own))
    return found


def difference(func, tensors, steps, size=1e-6):
    ahead, behind = (func(*moved(tensors, steps, sign * size)) for sign in (1, -1))
    return [
        (wide_array(a) - wide_array(b)) / (2 * size) for a, b in zip(ahead, behind, strict=True)
    ]


def directional(func, tensors, steps):
    """Tangents of func's outputs in a level of their own."""
    with dual_level():
        return tangents_or_zeros(func(*duals(tensors, steps)))


def moved(tensors, steps, size):
    return [
        one if step is None else one + step * size for one, step in zip(tensors, steps, strict=True)
    ]


def check_tangents(func, tensors, steps, rtol=1e-6, atol=1e-7):
    """Hold the tangents of func's outputs against differences; a step of None moves nothing."""
    with dual_level():
        given = [
            one if step is None else make_dual(one, step)
            for one, step in zip(tensors, steps, strict=True)
        ]
        found = tangents_or_zeros(func(*given))
    for got, wanted in zip(found, difference(func, tensors, steps), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol)
