# python/ebb/func/derivatives.py -- functions that make derivatives of functions.
#
# Each runs its function once under fresh views of the arguments, and asks the engine. Within
# another of them, what is computed is recorded, so that they nest to any order; at the outermost
# level it is recorded if an argument requires a gradient. Within vmap a sample is differentiated by
# its own memory in the batch: as samples do not meet, one backward pass serves all of them.
"""grad, vjp, jvp, jacrev, jacfwd, hessian, linearize, functional_call."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ebb import _C
from ebb._base.arguments import check_callable, map_leaves
from ebb._C import Tensor
from ebb.autograd import forward_ad, functional
from ebb.func.batched import Batched, active_levels, expanded, plain_of, wrap
from ebb.nn.module import Module

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
]

Function = Callable[..., Any]
Places = int | tuple[int, ...]
_level = threading.local()


@contextlib.contextmanager
def _recording(values: Any) -> Iterator[bool]:
    """Yield whether results are to be recorded: within another call, or for the caller."""
    depth = getattr(_level, "depth", 0)
    _level.depth = depth + 1
    try:
        with _C.enable_grad():
            yield depth > 0 or any(one.requires_grad for one in _tensors(values))
    finally:
        _level.depth = depth


def _tensors(values: Any) -> list[Tensor]:
    found: list[Tensor] = []
    map_leaves("func", values, lambda one: isinstance(one, Tensor) and found.append(one))
    return found


def _leaf(value: Any) -> Any:
    """Return a tensor to differentiate by, that passes gradients on to where it came from."""
    value = expanded(value)
    if isinstance(value, Batched):
        return wrap(_leaf_of(value._plain), value._levels)
    return _leaf_of(value) if isinstance(value, Tensor) else value


def _leaf_of(plain: Tensor) -> Tensor:
    return plain.view_as(plain) if plain.requires_grad else plain.detach().requires_grad_()


def _gradients(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], seeds: Sequence[Tensor], **options: Any
) -> list[Any]:
    """Return what the engine gives; of each sample within vmap. None where nothing arrives."""
    levels = tuple(active_levels())
    if not levels:
        return list(_C.grad(outputs, inputs, seeds, allow_unused=True, **options))
    plain = [[plain_of(one, levels) for one in part] for part in (outputs, inputs, seeds)]
    found = _C.grad(*plain, allow_unused=True, **options)
    return [None if one is None else wrap(one, levels) for one in found]


def _filled(call: str, like: Any, values: Sequence[Any]) -> Any:
    """Return a container like another whose tensors are those given, in order."""
    rest = iter(values)
    return map_leaves(call, like, lambda one: next(rest) if isinstance(one, Tensor) else one)


def _with_zeros(inputs: Sequence[Tensor], found: Sequence[Any]) -> list[Tensor]:
    """Return gradients, zeros of inputs that have none."""
    pairs = zip(inputs, found, strict=True)
    return [_C.zeros_like(one) if got is None else got for one, got in pairs]


def _parted(call: str, result: Any, has_aux: bool) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise _C.ValueError(f"{call}: with has_aux 'func' must return a pair (result, auxiliary)")
    return result[0], map_leaves(
        call, result[1], lambda one: one.detach() if isinstance(one, Tensor) else one
    )


def _picked(call: str, args: tuple[Any, ...], argnums: Places) -> tuple[int, ...]:
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
        places = _picked("grad", args, argnums)
        chosen = [args[one] for one in places]
        with _recording((args, kwargs)) as is_recorded:
            leaves = [map_leaves("grad", one, _leaf) for one in chosen]
            given = list(args)
            for place, one in zip(places, leaves, strict=True):
                given[place] = one
            value, auxiliary = _parted("grad", func(*given, **kwargs), has_aux)
            if not isinstance(value, Tensor) or value.numel() != 1:
                got = list(value.shape) if isinstance(value, Tensor) else type(value).__name__
                raise _C.ValueError(f"grad: 'func' must return a tensor of one element, got {got}")
            wanted = _tensors(leaves)
            found: Sequence[Any] = [None] * len(wanted)
            if value.requires_grad and wanted:
                found = _gradients([value], wanted, [_C.ones_like(value)], create_graph=is_recorded)
        grads = _filled("grad", tuple(leaves), _with_zeros(wanted, found))
        value = value if is_recorded else value.detach()
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
    with _recording(primals) as is_recorded:
        leaves = tuple(map_leaves("vjp", one, _leaf) for one in primals)
        outputs, auxiliary = _parted("vjp", func(*leaves), has_aux)
    wanted, results = _tensors(leaves), _tensors(outputs)

    def multiply(cotangents: Any) -> tuple[Any, ...]:
        seeds = _tensors(cotangents)
        if len(seeds) != len(results):
            raise _C.ValueError(f"vjp: needs {len(results)} cotangents, got {len(seeds)}")
        pairs = [(r, s) for r, s in zip(results, seeds, strict=True) if r.requires_grad]
        found: Sequence[Any] = [None] * len(wanted)
        if pairs and wanted:
            found = _gradients(
                [r for r, _ in pairs], wanted, [s for _, s in pairs], retain_graph=True,
                create_graph=is_recorded or any(s.requires_grad for _, s in pairs),
            )  # fmt: skip
        return tuple(_filled("vjp", leaves, _with_zeros(wanted, found)))

    shown = outputs if is_recorded else map_leaves("vjp", outputs, _detached)
    return (shown, multiply, auxiliary) if has_aux else (shown, multiply)


def _detached(one: Any) -> Any:
    return one.detach() if isinstance(one, Tensor) else one


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
    flat, directions = _tensors(primals), _tensors(tangents)
    if not isinstance(primals, tuple) or len(flat) != len(directions):
        raise _C.ValueError(
            f"jvp: needs tuples with a tangent for each primal, got {len(flat)} primals and "
            f"{len(directions)} tangents"
        )
    with forward_ad.dual_level():
        duals = [_dual(p, t) for p, t in zip(flat, directions, strict=True)]
        outputs, auxiliary = _parted("jvp", func(*_filled("jvp", primals, duals)), has_aux)
        parts = [_undual(one) for one in _tensors(outputs)]
    values = _filled("jvp", outputs, [value for value, _ in parts])
    result = (values, _filled("jvp", outputs, [tangent for _, tangent in parts]))
    return (*result, auxiliary) if has_aux else result


def _dual(primal: Tensor, tangent: Tensor) -> Tensor:
    levels = tuple(active_levels())
    if not levels:
        return forward_ad.make_dual(primal, tangent)
    return wrap(forward_ad.make_dual(plain_of(primal, levels), plain_of(tangent, levels)), levels)


def _undual(value: Tensor) -> tuple[Tensor, Tensor]:
    """Return a value and its tangent, zeros if it has none."""
    levels = value._levels if isinstance(value, Batched) else ()
    primal, tangent = forward_ad.unpack_dual(plain_of(value, levels))
    tangent = _C.zeros_like(primal) if tangent is None else tangent
    return wrap(primal, levels), wrap(tangent, levels)


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """Return ``func(*primals)`` and a function of tangents that multiplies by its Jacobian.

    The second one runs ``func`` again on dual tensors.

    Example:
        >>> value, push = ebb.func.linearize(lambda x: x * x, ebb.tensor(3.0))
        >>> push(ebb.tensor(1.0))
        tensor(6.)
    """
    return func(*primals), lambda *tangents: jvp(func, primals, tangents)[1]


def _jacobian(name: str, func: Function, argnums: Places, has_aux: bool, mode: str) -> Function:
    check_callable(func)

    def run(*args: Any, **kwargs: Any) -> Any:
        places = _picked(name, args, argnums)
        kept: list[Any] = []

        def of_chosen(*chosen: Any) -> Any:
            given = list(args)
            for place, one in zip(places, chosen, strict=True):
                given[place] = one
            value, auxiliary = _parted(name, func(*given, **kwargs), has_aux)
            kept[:] = [auxiliary]
            return value

        chosen = tuple(args[one] for one in places)
        with _recording((args, kwargs)) as is_recorded:
            inputs = chosen[0] if isinstance(argnums, int) else chosen
            if active_levels():
                found = _jacobian_of_samples(
                    of_chosen, chosen, isinstance(argnums, int), is_recorded
                )
                return (found, kept[0]) if has_aux else found
            found = functional.jacobian(of_chosen, inputs, create_graph=is_recorded, strategy=mode)
        return (found, kept[0]) if has_aux else found

    return run


def _jacobian_of_samples(func: Function, inputs: Any, is_one: bool, is_recorded: bool) -> Any:
    """Return the Jacobian of each sample, by a backward pass a row, whatever was asked for."""
    leaves = [_leaf(one) for one in inputs]
    found = func(*leaves)
    outputs = list(found) if isinstance(found, tuple) else [found]
    blocks = []
    for out in outputs:
        seeds = _C.eye(out.numel(), dtype=out.dtype, device=out.device)
        rows = []
        for seed in seeds.reshape(-1, *out.shape):
            got: Sequence[Any] = [None] * len(leaves)
            if out.requires_grad:
                options = {"retain_graph": True, "create_graph": is_recorded}
                got = _gradients([out], leaves, [seed], **options)
            rows.append(_with_zeros(leaves, got))
        of_inputs = [
            _C.stack(list(each)).reshape(*out.shape, *leaf.shape)
            for leaf, each in zip(leaves, zip(*rows, strict=True), strict=True)
        ]
        blocks.append(of_inputs[0] if is_one else tuple(of_inputs))
    return tuple(blocks) if isinstance(found, tuple) else blocks[0]


def jacrev(
    func: Function, argnums: Places = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Function:
    """Return a function that gives the Jacobian of ``func``, row by row, in reverse mode.

    Args:
        func: Takes tensors, returns a tensor or a tuple of tensors.
        argnums: By which positional arguments to differentiate.
        has_aux: Whether ``func`` returns a pair (result, auxiliary).
        chunk_size: Accepted; rows are computed one after the other.
    Example:
        >>> ebb.func.jacrev(lambda x: x * x)(ebb.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    del chunk_size
    return _jacobian("jacrev", func, argnums, has_aux, "reverse-mode")


def jacfwd(
    func: Function, argnums: Places = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Function:
    """Return a function that gives the Jacobian of ``func``, column by column, in forward mode.

    Example:
        >>> ebb.func.jacfwd(lambda x: x * x)(ebb.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    del randomness
    return _jacobian("jacfwd", func, argnums, has_aux, "forward-mode")


def hessian(func: Function, argnums: Places = 0) -> Function:
    """Return a function that gives the Hessian of ``func``: the Jacobian of its gradient.

    Example:
        >>> ebb.func.hessian(lambda x: (x**3).sum())(ebb.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacrev(jacrev(func, argnums), argnums)


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in the place of its parameters and buffers.

    Args:
        module: As it is afterwards, also if the call fails.
        parameter_and_buffer_dicts: Tensors by name, as ``named_parameters`` names them; or several
            such dicts.
        args: The positional arguments, or the only one.
        kwargs: Keyword arguments.
        tie_weights: Whether a parameter that has several names is replaced under all of them.
        strict: Whether every parameter and buffer must be given.
    Raises:
        ValueError: If a name is not in the module, is given twice, or is missing with ``strict``.
    Example:
        >>> layer = ebb.nn.Linear(1, 1, bias=False)
        >>> ebb.func.functional_call(layer, {"weight": ebb.tensor([[2.0]])}, ebb.tensor([3.0]))
        tensor([6.])
    """
    several = parameter_and_buffer_dicts
    dicts = [several] if isinstance(several, Mapping) else list(several)
    given: dict[str, Tensor] = {}
    for one in dicts:
        repeated = sorted(given.keys() & one.keys())
        if repeated:
            raise _C.ValueError(f"functional_call: needs each name once, got {repeated[0]!r} twice")
        given.update(one)
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, given, tie_weights, strict):
        return module(*positional, **(kwargs or {}))


@dataclasses.dataclass(frozen=True)
class _Home:
    """Where a module holds a parameter or buffer."""

    part: Module
    kind: str
    name: str

    @property
    def value(self) -> Any:
        return self.part._registered[self.kind][self.name]

    def put(self, value: Any) -> None:
        """Hold another tensor, whatever it is, as attribute and in the list."""
        self.part._registered[self.kind][self.name] = value
        self.part.__dict__[self.name] = value


@contextlib.contextmanager
def _replaced(
    module: Module, given: Mapping[str, Tensor], tie_weights: bool, strict: bool
) -> Iterator[None]:
    homes: dict[str, _Home] = {}
    for prefix, part in module.named_modules(remove_duplicate=False):
        for kind in ("parameter", "buffer"):
            for name in part._registered[kind]:
                homes[f"{prefix}.{name}".lstrip(".")] = _Home(part, kind, name)
    for name in given:
        if name not in homes:
            raise _C.ValueError(f"functional_call: {type(module).__name__} has no {name!r}")
    missing = [name for name, home in homes.items() if name not in given and home.value is not None]
    if strict and missing:
        raise _C.ValueError(f"functional_call: needs {missing[0]!r}, which is not given")
    new = dict(given)
    if tie_weights:
        by_tensor = {id(homes[name].value): value for name, value in given.items()}
        tied = {name: id(home.value) for name, home in homes.items() if name not in given}
        new.update((name, by_tensor[one]) for name, one in tied.items() if one in by_tensor)
    old = {name: homes[name].value for name in new}
    try:
        for name, value in new.items():
            homes[name].put(value)
        yield
    finally:
        for name, value in old.items():
            homes[name].put(value)


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the parameters and the buffers of like modules, each stacked along a new dim 0.

    Example:
        >>> parameters, buffers = ebb.func.stack_module_state([ebb.nn.Linear(2, 3)] * 4)
        >>> list(parameters["weight"].shape)
        [4, 3, 2]
    """
    if not models:
        raise _C.ValueError("stack_module_state: needs at least one module, got none")
    parameters = [dict(one.named_parameters()) for one in models]
    buffers = [dict(one.named_buffers()) for one in models]
    return (
        {n: _C.stack([o[n].detach() for o in parameters]).requires_grad_() for n in parameters[0]},
        {name: _C.stack([one[name] for one in buffers]) for name in buffers[0]},
    )
