# python/ebb/func/derivatives.py -- functions that make derivatives of functions.
#
# grad() and vjp() run their function once, recorded (recorded.py), and ask the engine; jvp() runs
# it on dual tensors. They nest to any order. Jacobians are in jacobians.py.
"""grad, vjp, jvp, linearize."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ebb import _C
from ebb._base.arguments import check_callable, map_leaves
from ebb._base.transforms import active_levels
from ebb._C import Tensor
from ebb.autograd import forward_ad
from ebb.autograd.functional import recording
from ebb.func.batched import Batched, plain_of, wrap
from ebb.func.recorded import Recorded, filled, records, tensors_of, with_zeros

__all__ = ["grad", "grad_and_value", "jvp", "linearize", "vjp"]

Function = Callable[..., Any]
Places = int | tuple[int, ...]


def parted(call: str, result: Any, has_aux: bool) -> tuple[Any, Any]:
    """What a function returns: its result, and what it says beside that."""
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise _C.ValueError(f"{call}: with has_aux 'func' must return a pair (result, auxiliary)")
    return result


def picked(call: str, args: tuple[Any, ...], argnums: Places) -> tuple[int, ...]:
    """The places that argnums names among the arguments."""
    places = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for one in places:
        if not -len(args) <= one < len(args):
            raise _C.ValueError(
                f"{call}: argnums must name one of {len(args)} positional arguments, got {one}"
            )
    return tuple(one % len(args) for one in places)


def grad_and_value(func: Function, argnums: Places = 0, has_aux: bool = False) -> Function:
    """Return a function that gives the gradients of ``func``, and what it returned.

    Args:
        func: Returns a tensor of one element; with ``has_aux`` a pair of it and anything else.
        argnums: By which positional arguments to differentiate; these may be nested containers of
            tensors.
        has_aux: Whether ``func`` returns a pair.
    Returns:
        A function that returns ``(gradients, value)``, or ``(gradients, (value, auxiliary))``.
    Example:
        >>> ebb.func.grad_and_value(lambda x: (x * x).sum())(ebb.tensor([1.0, 2.0]))
        (tensor([2., 4.]), tensor(5.))
    """

    check_callable(func)

    def run(*args: Any, **kwargs: Any) -> Any:
        places = picked("grad", args, argnums)
        call = Recorded()
        with recording():
            leaves = [map_leaves("grad", args[one], call.leaf) for one in places]
            given = list(args)
            for place, one in zip(places, leaves, strict=True):
                given[place] = one
            value, auxiliary = parted("grad", func(*given, **kwargs), has_aux)
            if not isinstance(value, Tensor) or value.numel() != 1:
                got = list(value.shape) if isinstance(value, Tensor) else type(value).__name__
                raise _C.ValueError(f"grad: 'func' must return a tensor of one element, got {got}")
            wanted = tensors_of(leaves)
            found: Sequence[Any] = [None] * len(wanted)
            if value.requires_grad and wanted:
                seed, leads_out = _C.ones_like(value), call.leads_out([value])
                found = call.gradients([value], wanted, [seed], create_graph=leads_out)
            grads = filled("grad", tuple(leaves), with_zeros(wanted, found))
            value, auxiliary = call.shown(value), call.shown(auxiliary)
        result = grads[0] if isinstance(argnums, int) else grads
        return result, ((value, auxiliary) if has_aux else value)

    return run


def grad(func: Function, argnums: Places = 0, has_aux: bool = False) -> Function:
    """Return a function that gives the gradients of ``func``; see ``grad_and_value``.

    Example:
        >>> ebb.func.grad(lambda x: x**3)(ebb.tensor(2.0))
        tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    def run(*args: Any, **kwargs: Any) -> Any:
        grads, value = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return run


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return ``func(*primals)`` and a function that multiplies by its Jacobian from the left.

    Returns:
        ``(outputs, vjp_fn)`` or ``(outputs, vjp_fn, auxiliary)``. ``vjp_fn`` takes what is like
        the outputs and returns a tuple like ``primals``; it may be called again.
    Example:
        >>> outputs, multiply = ebb.func.vjp(lambda x: x * x, ebb.tensor([1.0, 2.0]))
        >>> multiply(ebb.ones(2))
        (tensor([2., 4.]),)
    """
    call = Recorded()
    with recording():
        leaves = tuple(map_leaves("vjp", one, call.leaf) for one in primals)
        outputs, auxiliary = parted("vjp", func(*leaves), has_aux)
        wanted, results = tensors_of(leaves), tensors_of(outputs)
        leads_out = call.leads_out(results)
        shown, auxiliary = call.shown(outputs), call.shown(auxiliary)

    def multiply(cotangents: Any) -> tuple[Any, ...]:
        seeds = tensors_of(cotangents)
        if len(seeds) != len(results):
            raise _C.ValueError(f"vjp: needs {len(results)} cotangents, got {len(seeds)}")
        pairs = [(r, s) for r, s in zip(results, seeds, strict=True) if r.requires_grad]
        found: Sequence[Any] = [None] * len(wanted)
        if pairs and wanted:
            given = [seed for _, seed in pairs]
            is_kept = records() and (leads_out or Recorded().leads_out(given))
            with recording():
                found = call.gradients(
                    [r for r, _ in pairs], wanted, given, retain_graph=True, create_graph=is_kept
                )
        return tuple(filled("vjp", leaves, with_zeros(wanted, found)))

    return (shown, multiply, auxiliary) if has_aux else (shown, multiply)


def jvp(
    func: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...], *, strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """Return ``func(*primals)`` and its Jacobian times ``tangents``, by forward mode.

    Args:
        func: Takes the primals as arguments.
        primals: A tuple of arguments, which may be nested containers of tensors.
        tangents: In the structure of ``primals``.
        strict: Accepted; outputs that depend on no primal have zeros.
        has_aux: Whether ``func`` returns a pair (result, auxiliary).
    Returns:
        ``(outputs, tangents)`` or ``(outputs, tangents, auxiliary)``.
    Example:
        >>> x = ebb.tensor([1.0, 2.0])
        >>> ebb.func.jvp(lambda x: x * x, (x,), (ebb.ones(2),))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    del strict
    flat, directions = tensors_of(primals), tensors_of(tangents)
    if not isinstance(primals, tuple) or len(flat) != len(directions):
        raise _C.ValueError(
            f"jvp: needs tuples with a tangent for each primal, got {len(flat)} primals and "
            f"{len(directions)} tangents"
        )
    with forward_ad.dual_level():
        duals = [dual(p, t) for p, t in zip(flat, directions, strict=True)]
        outputs, auxiliary = parted("jvp", func(*filled("jvp", primals, duals)), has_aux)
        parts = [undual(one) for one in tensors_of(outputs)]
        auxiliary = map_leaves("jvp", auxiliary, _primal)
    values = filled("jvp", outputs, [value for value, _ in parts])
    result = (values, filled("jvp", outputs, [tangent for _, tangent in parts]))
    return (*result, auxiliary) if has_aux else result


def dual(primal: Tensor, tangent: Tensor) -> Tensor:
    """A dual tensor, of each sample within vmap."""
    levels = tuple(active_levels())
    if not levels:
        return forward_ad.make_dual(primal, tangent)
    return wrap(forward_ad.make_dual(plain_of(primal, levels), plain_of(tangent, levels)), levels)


def undual(value: Tensor) -> tuple[Tensor, Tensor]:
    """Return a value and its tangent, zeros if it has none."""
    levels = value._levels if isinstance(value, Batched) else ()
    primal, tangent = forward_ad.unpack_dual(plain_of(value, levels))
    tangent = _C.zeros_like(primal) if tangent is None else tangent
    return wrap(primal, levels), wrap(tangent, levels)


def _primal(one: Any) -> Any:
    return undual(one)[0] if isinstance(one, Tensor) else one


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """Return ``func(*primals)`` and a function of tangents that multiplies by its Jacobian.

    The second one runs ``func`` again on dual tensors, with the random numbers of the first run.

    Raises:
        AutogradError: If a primal was written to before the second one is called.
    Example:
        >>> value, push = ebb.func.linearize(lambda x: x * x, ebb.tensor(3.0))
        >>> push(ebb.tensor(1.0))
        tensor(6.)
    """
    state = _C.get_rng_state()
    versions = [one._version for one in tensors_of(primals)]
    value = func(*primals)
    draws = not _C.get_rng_state().equal(state)

    def push(*tangents: Any) -> Any:
        if versions != [one._version for one in tensors_of(primals)]:
            raise _C.AutogradError(
                "linearize: needs primals as they were, got one that was written to since"
                "\nhint: give linearize a clone() of it"
            )
        if not draws:
            return jvp(func, primals, tangents)[1]
        later = _C.get_rng_state()
        _C.set_rng_state(state)
        try:
            return jvp(func, primals, tangents)[1]
        finally:
            _C.set_rng_state(later)

    return value, push
