# python/ebb/nn/utils/prune.py -- parameters with some elements held at zero by a mask.
#
# A pruned parameter `weight` is stored as `weight_orig`, its mask as the buffer `weight_mask`, and
# a hook sets `weight` to their product before each call (computed.py).
"""Pruning, under PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ebb import _C
from ebb._base import naming as _naming
from ebb._C import Tensor
from ebb.nn.module import Module
from ebb.nn.parameter import Parameter
from ebb.nn.utils import computed as _computed
from ebb.nn.utils.computed import ComputedWeight

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class BasePruningMethod(ComputedWeight):
    """Base of ways to prune: subclasses define ``compute_mask(t, default_mask)``.

    ``PRUNING_TYPE`` says what a later method of the same parameter looks at: "unstructured" and
    "structured" at what earlier ones left, "global" at all elements.

    Example:
        >>> class Negative(ebb.nn.utils.prune.BasePruningMethod):
        ...     def compute_mask(self, t, default_mask):
        ...         return default_mask * (t > 0)
        >>> layer = ebb.nn.Linear(3, 2)
        >>> _ = Negative.apply(layer, "weight")
        >>> bool((layer.weight >= 0).all())
        True
    """

    PRUNING_TYPE = "unstructured"
    kind = "pruning"
    _tensor_name: str | None = None

    def __init__(self) -> None:
        """Need nothing."""

    @property
    def _target(self) -> str | None:
        return self._tensor_name

    def _split(self, module: Module, weight: Parameter) -> None:
        module.register_parameter(f"{self._target}_orig", weight)
        module.register_buffer(f"{self._target}_mask", _C.ones_like(weight.detach()))

    def _compute(self, module: Module) -> Any:
        weight, mask = (getattr(module, part) for part in self._parts())
        return weight * mask

    def _parts(self) -> list[str]:
        return [f"{self._target}_orig", f"{self._target}_mask"]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return a mask of 0 and 1 like ``t``: elements where it is 0 are pruned."""
        raise NotImplementedError

    def prune(
        self,
        t: Tensor,
        default_mask: Tensor | None = None,
        importance_scores: Tensor | None = None,
    ) -> Tensor:
        """Return ``t`` with the pruned elements at zero; ``t`` stays as it is."""
        scores = t if importance_scores is None else importance_scores
        given = _C.ones_like(t) if default_mask is None else default_mask
        with _C.no_grad():
            mask = self.compute_mask(scores, given)
        return t * mask.to(t.dtype)

    @classmethod
    def apply(
        cls,
        module: Module,
        name: str,
        *args: Any,
        importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> BasePruningMethod:
        """Prune the parameter ``name`` of ``module``, once more if it is pruned.

        Args:
            args: What the class is called with.
            importance_scores: What decides in place of the values; like the parameter.
        Returns:
            The method, of which ``apply_mask`` and ``remove`` know the parameter; if there were
            earlier ones, the ``PruningContainer`` of all.
        """
        return _prune(cls.__name__, module, name, cls(*args, **kwargs), importance_scores)

    def apply_mask(self, module: Module) -> Tensor:
        """Return the pruned parameter of ``module``, computed anew from its mask and elements.

        Raises:
            ValueError: If ``apply`` did not make this method, or ``module`` is not pruned.
        """
        name = self._applied("apply_mask")
        _, hook = _hook_of(module, name)
        if hook is None:
            raise _C.ValueError(
                f"apply_mask: needs a module whose {name!r} is pruned, got {type(module).__name__}"
            )
        return hook._compute(module)

    def remove(self, module: Module) -> None:
        """Make the pruned parameter an ordinary one, with zeros where it was pruned.

        Raises:
            ValueError: If ``apply`` did not make this method, or ``module`` is not pruned.
        """
        remove(module, self._applied("remove"))

    def _applied(self, caller: str) -> str:
        if self._tensor_name is None:
            raise _C.ValueError(
                f"{caller}: needs a method that apply() returned, got a new "
                f"{type(self).__name__}\nhint: {type(self).__name__}.apply(module, name, ...)"
            )
        return self._tensor_name


class PruningContainer(BasePruningMethod):
    """Several methods, each of which prunes what those before left.

    Example:
        >>> prune = ebb.nn.utils.prune
        >>> container = prune.PruningContainer(prune.L1Unstructured(amount=1))
        >>> container.compute_mask(ebb.tensor([3.0, -1.0, 2.0]), ebb.ones(3))
        tensor([1., 0., 1.])
    """

    PRUNING_TYPE = "container"

    def __init__(self, *args: BasePruningMethod):
        self._methods = list(args)

    def __len__(self) -> int:
        return len(self._methods)

    def __iter__(self) -> Any:
        return iter(self._methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._methods[index]

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a method at the end."""
        if not isinstance(method, BasePruningMethod):
            raise _C.DTypeError(
                f"add_pruning_method: needs a BasePruningMethod, got {type(method).__name__}"
            )
        self._methods.append(method)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return ``default_mask`` with what the last method prunes of the elements it keeps."""
        method = self._methods[-1]
        if method.PRUNING_TYPE == "global":
            return default_mask * method.compute_mask(t, _C.ones_like(default_mask))
        kept = default_mask != 0
        if method.PRUNING_TYPE == "structured" and isinstance(method, _Structured):
            return default_mask * method.mask_of_slices(t, default_mask)
        mask = default_mask.clone()
        mask[kept] = method.compute_mask(t[kept], default_mask[kept]).to(mask.dtype)
        return mask


class _Pruned(BasePruningMethod):
    """The hook of pruned parameters in pickles of ebb before 0.2; ``shown_as`` is that of today."""

    @property
    def shown_as(self) -> BasePruningMethod:
        shown = self.method if len(self.method) > 1 else self.method[0]
        shown._tensor_name = self.name
        return shown


def _hooks(module: Module) -> dict[int, BasePruningMethod]:
    own = module._forward_pre_hooks.items()
    return {number: hook for number, hook in own if isinstance(hook, BasePruningMethod)}


def _hook_of(module: Module, name: str) -> tuple[int | None, BasePruningMethod | None]:
    """Return the hook that prunes ``name``, under its number."""
    found = ((number, one) for number, one in _hooks(module).items() if one._target == name)
    return next(found, (None, None))


def _prune(
    caller: str,
    module: Module,
    name: str,
    method: BasePruningMethod,
    scores: Tensor | None = None,
) -> BasePruningMethod:
    number, hook = _hook_of(module, name)
    weight = getattr(module, f"{name}_orig" if hook is not None else name, None)
    if not isinstance(weight, Parameter):
        raise _C.ValueError(
            f"{caller}: needs the name of a parameter of {type(module).__name__}, got {name!r}"
        )
    if scores is not None and scores.shape != weight.shape:
        raise _C.ShapeError(
            f"{caller}: importance_scores needs shape {list(weight.shape)}, got "
            f"{list(scores.shape)}"
        )
    earlier = hook if isinstance(hook, PruningContainer) else [] if hook is None else [hook]
    with _C.no_grad():
        # Computed first, so that a method that fails changes nothing.
        mask = _C.ones_like(weight.detach()) if hook is None else getattr(module, f"{name}_mask")
        given = scores if scores is not None else (weight.detach() * mask)
        container = PruningContainer(*earlier, method)
        mask = container.compute_mask(given, mask).to(weight.dtype)
    made = method if hook is None else container
    made._tensor_name = method._tensor_name = name
    if hook is None:
        made._install(caller, module)
    else:
        module._forward_pre_hooks[number] = made
    setattr(module, f"{name}_mask", mask)
    made(module, None)
    return made


def _count(amount: float, size: int) -> int:
    """Return how many of ``size`` are meant: a share, or a number of them."""
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        raise _C.DTypeError(f"amount needs a number, got {type(amount).__name__}")
    if isinstance(amount, int):
        if not 0 <= amount <= size:
            raise _C.ValueError(f"amount needs to be from 0 to {size}, got {amount}")
        return amount
    if not 0.0 <= amount <= 1.0:
        raise _C.ValueError(f"amount needs a share from 0 to 1, got {amount}")
    return round(amount * size)


class Identity(BasePruningMethod):
    """Prune nothing, but with mask and hook.

    Example:
        >>> ebb.nn.utils.prune.Identity().prune(ebb.tensor([3.0, -1.0]))
        tensor([ 3., -1.])
    """

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return ``default_mask``."""
        return default_mask


class _Unstructured(BasePruningMethod):
    def __init__(self, amount: float):
        self.amount = amount

    def _scores(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return ``default_mask`` without the elements of the lowest scores."""
        mask = default_mask.clone()
        count = _count(self.amount, t.numel())
        if count:
            lowest = _C.topk(self._scores(t).flatten(), count, largest=False)[1]
            mask.view(-1)[lowest] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prune elements drawn at random.

    Args:
        amount: Their share of all, or their number.

    Example:
        >>> method = ebb.nn.utils.prune.RandomUnstructured(amount=2)
        >>> int((method.prune(ebb.ones(4)) == 0).sum())
        2
    """

    def _scores(self, t: Tensor) -> Tensor:
        return _C.rand(t.shape)


class L1Unstructured(_Unstructured):
    """Prune the elements of the smallest magnitude.

    Args:
        amount: Their share of all, or their number.

    Example:
        >>> ebb.nn.utils.prune.L1Unstructured(amount=1).prune(ebb.tensor([3.0, -1.0, 2.0]))
        tensor([3., -0., 2.])
    """

    def _scores(self, t: Tensor) -> Tensor:
        return t.abs()


class _Structured(BasePruningMethod):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1):
        self.amount = amount
        self.dim = dim

    def _scores(self, t: Tensor, dim: int) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return ``default_mask`` without the slices of the lowest scores."""
        return default_mask * self.mask_of_slices(t, default_mask)

    def mask_of_slices(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask of slices along ``dim``, among those that have an element left."""
        if t.ndim < 2 and isinstance(self, LnStructured):
            raise _C.ShapeError(f"needs a tensor of at least 2 dims, got {list(t.shape)}")
        if not -t.ndim <= self.dim < t.ndim:
            raise _C.IndexError(f"dim must be from {-t.ndim} to {t.ndim - 1}, got {self.dim}")
        dim = self.dim % t.ndim
        others = [one for one in range(t.ndim) if one != dim]
        left = (default_mask.sum(others) != 0).nonzero().flatten() if others else _C.arange(len(t))
        count = _count(self.amount, left.numel())
        shape = [1] * t.ndim
        shape[dim] = -1
        keep = _C.ones([t.shape[dim]], dtype=default_mask.dtype)
        if count:
            scores = self._scores(t, dim)[left]
            keep[left[_C.topk(scores, count, largest=False)[1]]] = 0
        return keep.reshape(shape).expand(t.shape)


class RandomStructured(_Structured):
    """Prune slices drawn at random.

    Args:
        amount: Their share of all, or their number.
        dim: What the slices are counted along.

    Example:
        >>> method = ebb.nn.utils.prune.RandomStructured(amount=1, dim=0)
        >>> int((method.prune(ebb.ones(2, 3)) == 0).sum())
        3
    """

    def _scores(self, t: Tensor, dim: int) -> Tensor:
        return _C.rand([t.shape[dim]])


class LnStructured(_Structured):
    """Prune the slices of the smallest norm.

    Args:
        amount: Their share of all, or their number.
        n: The norm's order.
        dim: What the slices are counted along.

    Example:
        >>> method = ebb.nn.utils.prune.LnStructured(amount=1, n=2, dim=0)
        >>> method.prune(ebb.tensor([[3.0, 4.0], [1.0, 1.0]]))
        tensor([[3., 4.],
                [0., 0.]])
    """

    def __init__(self, amount: float, n: Any, dim: int = -1):
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t: Tensor, dim: int) -> Tensor:
        order = 2 if self.n == "fro" else self.n
        return _C.norm(t, order, [one for one in range(t.ndim) if one != dim])


class CustomFromMask(BasePruningMethod):
    """Prune by a given mask.

    Args:
        mask: 0 where an element is pruned.

    Example:
        >>> method = ebb.nn.utils.prune.CustomFromMask(ebb.tensor([1, 0]))
        >>> method.prune(ebb.tensor([3.0, 4.0]))
        tensor([3., 0.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor):
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return ``default_mask`` without what the given mask prunes."""
        if self.mask.shape != default_mask.shape:
            raise _C.ShapeError(
                f"mask needs shape {list(default_mask.shape)}, got {list(self.mask.shape)}"
            )
        return default_mask * self.mask.to(default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """Give a parameter mask and hook, with nothing pruned.

    Example:
        >>> layer = ebb.nn.utils.prune.identity(ebb.nn.Linear(3, 2), "weight")
        >>> int(layer.weight_mask.sum())
        6
    """
    _prune("identity", module, name, Identity())
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune elements drawn at random; ``amount`` is their share or number.

    Example:
        >>> layer = ebb.nn.Linear(4, 4)
        >>> _ = ebb.nn.utils.prune.random_unstructured(layer, "weight", amount=0.5)
        >>> int((layer.weight == 0).sum())
        8
    """
    _prune("random_unstructured", module, name, RandomUnstructured(amount))
    return module


def l1_unstructured(
    module: Module, name: str, amount: float, importance_scores: Tensor | None = None
) -> Module:
    """Prune the elements of the smallest magnitude; ``amount`` is their share or number.

    Example:
        >>> layer = ebb.nn.utils.prune.l1_unstructured(ebb.nn.Linear(4, 4), "weight", amount=0.5)
        >>> int((layer.weight == 0).sum())
        8
    """
    _prune("l1_unstructured", module, name, L1Unstructured(amount), importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune slices along ``dim`` drawn at random; ``amount`` is their share or number.

    Example:
        >>> layer = ebb.nn.Linear(3, 2)
        >>> _ = ebb.nn.utils.prune.random_structured(layer, "weight", amount=1, dim=0)
        >>> int((layer.weight_mask == 0).sum())
        3
    """
    _prune("random_structured", module, name, RandomStructured(amount, dim))
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: float,
    n: Any,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prune the slices along ``dim`` of the smallest norm of order ``n``.

    Example:
        >>> layer = ebb.nn.Linear(3, 2)
        >>> _ = ebb.nn.utils.prune.ln_structured(layer, "weight", amount=1, n=2, dim=0)
        >>> int((layer.weight_mask == 0).sum())
        3
    """
    _prune("ln_structured", module, name, LnStructured(amount, n, dim), importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune where ``mask`` is 0.

    Example:
        >>> layer = ebb.nn.Linear(2, 1)
        >>> _ = ebb.nn.utils.prune.custom_from_mask(layer, "weight", ebb.tensor([[1, 0]]))
        >>> layer.weight_mask
        tensor([[1., 0.]])
    """
    _prune("custom_from_mask", module, name, CustomFromMask(mask))
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: Callable[..., BasePruningMethod],
    importance_scores: Mapping[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune elements of several parameters as if they were one.

    Args:
        parameters: Pairs of a module and the name of a parameter.
        pruning_method: A class of this module, such as ``L1Unstructured``.
        importance_scores: What decides in place of the values, by pair.
        kwargs: What the class is called with, such as ``amount``.

    Example:
        >>> first, second = ebb.nn.Linear(2, 2), ebb.nn.Linear(2, 2)
        >>> pairs = [(first, "weight"), (second, "weight")]
        >>> method = ebb.nn.utils.prune.L1Unstructured
        >>> ebb.nn.utils.prune.global_unstructured(pairs, method, amount=4)
        >>> int((first.weight == 0).sum() + (second.weight == 0).sum())
        4
    """
    name = "global_unstructured"
    pairs = list(parameters)
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise _C.ValueError(f"{name}: needs an unstructured method, got {method.PRUNING_TYPE}")
    if not pairs:
        raise _C.ValueError(f"{name}: needs at least one parameter, got none")
    given = importance_scores or {}
    with _C.no_grad():
        scores = [given.get(pair, getattr(*pair)).detach().flatten() for pair in pairs]
        masks = [
            getattr(module, f"{what}_mask", _C.ones_like(getattr(module, what).detach()))
            for module, what in pairs
        ]
        container = PruningContainer(method)
        joint = container.compute_mask(_C.cat(scores), _C.cat([one.flatten() for one in masks]))
    parts = joint.split([one.numel() for one in masks])
    for (module, what), part, mask in zip(pairs, parts, masks, strict=True):
        _prune(name, module, what, CustomFromMask(part.reshape(mask.shape)))


def is_pruned(module: Module) -> bool:
    """Return whether ``module``, or one below it, has a pruned parameter.

    Example:
        >>> layer = ebb.nn.Linear(2, 2)
        >>> before = ebb.nn.utils.prune.is_pruned(layer)
        >>> _ = ebb.nn.utils.prune.l1_unstructured(layer, "weight", amount=1)
        >>> before, ebb.nn.utils.prune.is_pruned(layer)
        (False, True)
    """
    return any(_hooks(one) for one in module.modules())


def remove(module: Module, name: str) -> Module:
    """Make a pruned parameter an ordinary one, with zeros where it was pruned.

    Example:
        >>> layer = ebb.nn.utils.prune.l1_unstructured(ebb.nn.Linear(2, 2), "weight", amount=1)
        >>> _ = ebb.nn.utils.prune.remove(layer, "weight")
        >>> [name for name, _ in layer.named_parameters()], int((layer.weight == 0).sum())
        (['bias', 'weight'], 1)
    """
    return _computed.remove(BasePruningMethod, "remove", module, name)


_naming.name_module(__name__)
