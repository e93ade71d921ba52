# tests/python/func/test_vmap_rows.py -- every row of the op table under vmap, beside a loop.
#
# A row's cases with three sets of tensors: what vmap gives must be what a call for each set gives,
# stacked, and so must gradients. Once with all tensors from the batch, once with one of them.
"""The batching rules of functions, whichever they have."""

import itertools

import pytest

import ebb
from ebb.func import vmap
from tests.cases import by_op, each_of
from tests.python.ops.op_rows import call, load_rows, make_arguments
from tests.python.ops.test_gradients import is_differentiable

SAMPLES = 3
CASES = 3  # of a row
ROWS = [row for row in load_rows() if "inputs" in row.test and not row.is_inplace]


def dtype_for(row):
    return next(
        (one for one in ("float64", "complex128", "int64", "bool") if one in row.dtypes), None
    )


def tensors_of(arguments):
    """Names of the arguments that are tensors."""
    return [name for name, value in arguments.items() if isinstance(value, ebb.Tensor)]


def chosen_sets(names):
    """All tensors, and each alone."""
    return [names, *([one] for one in names if len(names) > 1)]


def flat(result):
    if isinstance(result, ebb.Tensor):
        return [result]
    return (
        [one for part in result for one in flat(part)] if isinstance(result, tuple | list) else []
    )


def results_of(row, arguments):
    """All tensors that a call gives."""
    return tuple(flat(call(row, arguments)))


def stacked_by_hand(row, sets, names):
    each = [results_of(row, {**sets[0], **{n: one[n] for n in names}}) for one in sets]
    shapes = {tuple(tuple(one.shape) for one in results) for results in each}
    if len(shapes) > 1:
        return None
    return [ebb.stack(list(column)) for column in zip(*each, strict=True)]


def stacked_by_vmap(row, sets, names):
    batch = {name: ebb.stack([one[name] for one in sets]) for name in names}
    return vmap(lambda given: results_of(row, {**sets[0], **given}))(batch)


ALL = [
    (row, case)
    for row in ROWS
    if dtype_for(row) is not None
    for case in itertools.islice(row.cases(), CASES)
    if any("Array" in type(value).__name__ for value in case.arguments.values())
]


@each_of(ALL, by_op)
def test_a_batch_gives_what_its_samples_give(row, case):
    dtype = dtype_for(row)
    sets = [make_arguments(row, case, dtype, seed=seed) for seed in range(SAMPLES)]
    for names in chosen_sets(tensors_of(sets[0])):
        state = ebb.get_rng_state()
        wanted = stacked_by_hand(row, sets, names)
        if ebb.get_rng_state().tolist() != state.tolist():
            with pytest.raises(ValueError, match="draws no random numbers"):
                stacked_by_vmap(row, sets, names)
            return
        if wanted is None:
            with pytest.raises(ValueError, match=r"one shape|as many results"):
                stacked_by_vmap(row, sets, names)
            return
        found = stacked_by_vmap(row, sets, names)
        assert [one.shape for one in found] == [one.shape for one in wanted]
        assert [one.dtype for one in found] == [one.dtype for one in wanted]
        for one, other in zip(found, wanted, strict=True):
            assert ebb.allclose(one, other, rtol=1e-9, atol=1e-10, equal_nan=True), names


DIFFERENTIABLE = [one for one in ALL if one[0].differentiable and "float64" in one[0].dtypes]


@each_of(DIFFERENTIABLE, by_op)
def test_gradients_of_samples_are_those_of_the_batch(row, case):
    sets = [make_arguments(row, case, "float64", seed=seed) for seed in range(SAMPLES)]
    names = [
        n for n in tensors_of(sets[0]) if n in row.differentiable and is_differentiable(sets[0][n])
    ]
    state = ebb.get_rng_state()
    by_hand, by_vmap = [], []
    for kind, leaves in ((stacked_by_hand, by_hand), (stacked_by_vmap, by_vmap)):
        own = [dict(one) for one in sets]
        for one, name in itertools.product(own, names):
            one[name] = one[name].detach().requires_grad_()
            leaves.append(one[name])
        results = kind(row, own, names) if names else None
        if results is None or ebb.get_rng_state().tolist() != state.tolist():
            return
        wanted = [one for one in results if one.requires_grad]
        if not wanted:
            return
        weights = [ebb.arange(1.0, one.numel() + 1, dtype=ebb.float64) for one in wanted]
        total = sum(
            (one.abs().reshape(-1) * w).sum() for one, w in zip(wanted, weights, strict=True)
        )
        leaves[:] = ebb.autograd.grad(total, leaves, allow_unused=True, materialize_grads=True)
    for one, other in zip(by_vmap, by_hand, strict=True):
        assert ebb.allclose(one, other, rtol=1e-8, atol=1e-9, equal_nan=True)
