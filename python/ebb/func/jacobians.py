# python/ebb/func/jacobians.py -- Jacobians and Hessians of functions, of any structure.
#
# jacrev() asks for a backward pass per element of the results (Recorded.rows), jacfwd() runs its
# function on dual tensors once per element of the arguments. What they return has the structure of
# the results, with that of the arguments in the place of each tensor.
"""jacrev, jacfwd, hessian."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ebb import _C
from ebb._base.arguments import check_callable, map_leaves
from ebb._C import Tensor
from ebb.autograd import forward_ad
from ebb.autograd.functional import recording
from ebb.func.derivatives import Function, Places, dual, parted, picked, undual
from ebb.func.recorded import Recorded, filled, tensors_of

__all__ = ["hessian", "jacfwd", "jacrev"]


def _outputs(name: str, value: Any) -> list[Tensor]:
    """The tensors that a function returns, which must be nothing else."""

    def check(one: Any) -> None:
        if not isinstance(one, Tensor):
            raise _C.DTypeError(
                f"{name}: 'func' must return tensors or containers of them, got "
                f"{type(one).__name__}"
            )

    map_leaves(name, value, check)
    return tensors_of(value)


def _placed(args: tuple[Any, ...], places: tuple[int, ...], chosen: Any) -> list[Any]:
    given = list(args)
    for place, one in zip(places, chosen, strict=True):
        given[place] = one
    return given


def jacrev(
    func: Function, argnums: Places = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Function:
    """Return a function that gives the Jacobian of ``func``, row by row, in reverse mode.

    Args:
        func: Takes and returns tensors, or nested containers of them.
        argnums: By which positional arguments to differentiate.
        has_aux: Whether ``func`` returns a pair (result, auxiliary).
        chunk_size: Accepted; rows are computed one after the other.
    Returns:
        A function that returns what is like the result, with what is like the arguments in the
        place of each tensor.
    Example:
        >>> ebb.func.jacrev(lambda x: x * x)(ebb.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    del chunk_size
    check_callable(func)

    def run(*args: Any, **kwargs: Any) -> Any:
        places = picked("jacrev", args, argnums)
        call = Recorded()
        with recording():
            leaves = tuple(map_leaves("jacrev", args[one], call.leaf) for one in places)
            found = func(*_placed(args, places, leaves), **kwargs)
            value, auxiliary = parted("jacrev", found, has_aux)
            outputs, wanted = _outputs("jacrev", value), tensors_of(leaves)
            leads_out = call.leads_out(outputs)
            inputs = leaves[0] if isinstance(argnums, int) else leaves
            rows = [filled("jacrev", inputs, call.rows(o, wanted, leads_out)) for o in outputs]
            auxiliary = call.shown(auxiliary)
        result = filled("jacrev", value, rows)
        return (result, auxiliary) if has_aux else result

    return run


class _Columns:
    """Tangents of what a function returns, for one run after the other."""

    def __init__(self, run: Callable[[list[Any]], tuple[Any, Any]], flat: list[Tensor]) -> None:
        self._run, self._flat = run, flat
        self.value: Any = None
        self.auxiliary: Any = None

    def _column(self, index: int, unit: Tensor) -> list[Tensor]:
        """The tangents of a run in which one argument has this one."""
        with forward_ad.dual_level():
            given = list(self._flat)
            given[index] = dual(given[index], unit)
            value, auxiliary = self._run(given)
            parts = [undual(one) for one in _outputs("jacfwd", value)]
            self.value = filled("jacfwd", value, [primal for primal, _ in parts])
            self.auxiliary = map_leaves(
                "jacfwd", auxiliary, lambda one: undual(one)[0] if isinstance(one, Tensor) else one
            )
        return [tangent for _, tangent in parts]

    def of(self, index: int) -> list[Tensor]:
        """The blocks of one argument: one for each result."""
        one = self._flat[index]
        if one.dtype.is_complex:
            raise _C.DTypeError(
                f"jacfwd: needs real arguments, got complex at position {index}\nhint: use jacrev()"
            )
        count = one.numel()
        units = _C.eye(count, dtype=one.dtype, device=one.device).reshape(count, *one.shape)
        columns = [self._column(index, unit) for unit in units]
        if count == 0:
            self.value, self.auxiliary = self._run(self._flat)
            outputs = _outputs("jacfwd", self.value)
            return [_C.zeros((*o.shape, *one.shape), dtype=o.dtype) for o in outputs]
        return [
            _C.stack(list(each), -1).reshape(*each[0].shape, *one.shape)
            for each in zip(*columns, strict=True)
        ]


def jacfwd(
    func: Function, argnums: Places = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Function:
    """Return a function that gives the Jacobian of ``func``, column by column, in forward mode.

    Args:
        func: Takes and returns tensors, or nested containers of them; runs once for each element
            of the arguments.
        argnums: By which positional arguments to differentiate.
        has_aux: Whether ``func`` returns a pair (result, auxiliary).
        randomness: Whether it may draw random numbers: "error" (no), "same" (each run the same)
            or "different".
    Returns:
        A function that returns what ``jacrev`` does.
    Raises:
        ValueError: If ``func`` draws random numbers that ``randomness`` does not allow.
    Example:
        >>> ebb.func.jacfwd(lambda x: x * x)(ebb.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    check_callable(func)
    if randomness not in ("error", "different", "same"):
        raise _C.ValueError(
            f"jacfwd: needs a 'randomness' of error, different or same, got {randomness!r}"
        )

    def run(*args: Any, **kwargs: Any) -> Any:
        places = picked("jacfwd", args, argnums)
        chosen = tuple(args[one] for one in places)
        state = _C.get_rng_state()

        def of_flat(flat: list[Any]) -> tuple[Any, Any]:
            if randomness == "same":
                _C.set_rng_state(state)
            given = filled("jacfwd", chosen, flat)
            found = parted("jacfwd", func(*_placed(args, places, given), **kwargs), has_aux)
            if randomness == "error" and not _C.get_rng_state().equal(state):
                raise _C.ValueError(
                    "jacfwd: needs a 'func' that draws no random numbers, got one that does\n"
                    "hint: say randomness='same', or use jacrev()"
                )
            return found

        flat = tensors_of(chosen)
        columns = _Columns(of_flat, flat)
        blocks = [columns.of(index) for index in range(len(flat))]
        inputs = chosen[0] if isinstance(argnums, int) else chosen
        each = [filled("jacfwd", inputs, list(of_out)) for of_out in zip(*blocks, strict=True)]
        result = filled("jacfwd", columns.value, each)
        return (result, columns.auxiliary) if has_aux else result

    return run


def hessian(func: Function, argnums: Places = 0) -> Function:
    """Return a function that gives the Hessian of ``func``: the Jacobian of its gradient.

    Example:
        >>> ebb.func.hessian(lambda x: (x**3).sum())(ebb.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacrev(jacrev(func, argnums), argnums)
