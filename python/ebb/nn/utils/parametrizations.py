# python/ebb/nn/utils/parametrizations.py -- weights of a given norm, or orthogonal.
#
# hooked_norms.py has the older spellings; the arithmetic of both is here.
"""Ready parametrizations, under PyTorch's names."""

from __future__ import annotations

from typing import Any

from ebb import _C
from ebb._base import naming as _naming
from ebb._base.signature import takes
from ebb._C import Tensor, _ops
from ebb.nn.module import Module
from ebb.nn.utils.orthogonal import orthogonal
from ebb.nn.utils.parametrize import is_parametrized, register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def norm_but(v: Tensor, dim: int | None) -> Tensor:
    """Return the norm over all dims but ``dim``, kept as dims of size 1; over all for None."""
    if dim is None or dim == -1:
        return _C.norm(v)
    kept = dim % v.ndim
    others = [one for one in range(v.ndim) if one != kept]
    return _C.norm(v, 2, others, True) if others else v.abs()


def of_norms(g: Tensor, v: Tensor, dim: int | None) -> Tensor:
    """Return ``v`` with the norms ``g``, of the shape that ``norm_but`` gives."""
    rows = v.shape[0] if v.ndim else 0
    is_by_row = dim is not None and dim != -1 and v.ndim and dim % v.ndim == 0
    if not is_by_row or not v.numel() or g.numel() != rows or not _fuses(g, v):
        return v * (g / norm_but(v, dim))
    # One pass each way: a slice over its root mean square has the norm sqrt(its size).
    wide = g if g.dtype in (_C.float32, _C.float64) else g.float()
    return _ops.row_rms_norm(v, wide.reshape(rows) * (v.numel() // rows) ** -0.5)


def _fuses(g: Tensor, v: Tensor) -> bool:
    """Whether both are floating-point numbers of one dtype and on one device."""
    return v.is_floating_point() and g.dtype == v.dtype and g.device == v.device


class _WeightNorm(Module):
    def __init__(self, dim: int | None):
        super().__init__()
        self.dim = dim

    def forward(self, g: Tensor, v: Tensor) -> Tensor:
        return of_norms(g, v, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_but(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Split a weight into its norms ``original0`` and its directions ``original1``.

    The weight is ``g * v / norm(v)`` (Salimans and Kingma, 2016). ``load_state_dict`` also takes
    what ``nn.utils.weight_norm`` saved, ``weight_g`` and ``weight_v``.

    Args:
        dim: The dim whose slices have a norm each; None for one norm of all.

    Example:
        >>> layer = ebb.nn.utils.parametrizations.weight_norm(ebb.nn.Linear(3, 2))
        >>> layer.parametrizations.weight.original0.shape  # a length for each row
        ebb.Size([2, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module.register_load_state_dict_pre_hook(_OldNames(name))
    return module


class _OldNames:
    """Renames what the hook of the older spelling saved; an object, so that it can be copied."""

    def __init__(self, name: str):
        self.name = name

    def __call__(self, module: Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
        old = [f"{prefix}{self.name}_g", f"{prefix}{self.name}_v"]
        if is_parametrized(module, self.name) and all(key in state for key in old):
            for number, key in enumerate(old):
                state[f"{prefix}parametrizations.{self.name}.original{number}"] = state.pop(key)


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """Return ``weight`` with ``dim`` in front and all others as one."""
    if weight.ndim < 2:
        return weight.reshape(1, -1) if weight.ndim == 0 else weight.unsqueeze(1)
    return weight.movedim(dim, 0).flatten(1)


def unit(vector: Tensor, eps: float) -> Tensor:
    """Return ``vector`` divided by its length, or by ``eps`` if that is larger."""
    return vector / _C.norm(vector).clamp(min=eps)


def power_steps(matrix: Tensor, u: Tensor, v: Tensor, steps: int, eps: float) -> None:
    """Move ``u`` and ``v``, in place, towards the first pair of singular vectors."""
    with _C.no_grad():
        for _ in range(steps):
            u.copy_(unit(matrix @ v, eps))
            v.copy_(unit(matrix.mT @ u, eps))


def start_vectors(matrix: Tensor, steps: int, eps: float) -> tuple[Tensor, Tensor]:
    """Return vectors drawn at random after ``steps`` steps of the power method."""
    with _C.no_grad():
        u = unit(_C.randn(matrix.shape[:1], dtype=matrix.dtype, device=matrix.device), eps)
        v = unit(_C.randn(matrix.shape[1:], dtype=matrix.dtype, device=matrix.device), eps)
        power_steps(matrix, u, v, steps, eps)
    return u, v


def spectral_value(matrix: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """Return the singular value that belongs to ``u`` and ``v``, which count as constants."""
    # Copies: the next step overwrites the vectors, which this value's gradient needs.
    return _C.dot(u.clone(), matrix @ v.clone())


class _SpectralNorm(Module):
    def __init__(self, weight: Tensor, steps: int, dim: int, eps: float):
        super().__init__()
        if steps < 1:
            raise _C.ValueError(f"spectral_norm: n_power_iterations needs at least 1, got {steps}")
        self.dim = dim
        self.eps = eps
        self.n_power_iterations = steps
        if weight.ndim > 1:
            u, v = start_vectors(as_matrix(weight.detach(), dim), 15, eps)
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim < 2:
            return unit(weight, self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            power_steps(matrix, self._u, self._v, self.n_power_iterations, self.eps)
        return weight / spectral_value(matrix, self._u, self._v)

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm_of(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> tuple[object, ...]:
    """What both functions of that name take."""
    return module, name, n_power_iterations, eps, dim


@takes(spectral_norm_of)
def spectral_norm(module, name, n_power_iterations, eps, dim) -> Module:
    """Divide a weight by its largest singular value, estimated by the power method.

    Each read in training makes ``n_power_iterations`` steps (Miyato et al., 2018).

    Args:
        eps: The smallest length that vectors are divided by.
        dim: The dim of outputs; 1 for transposed convolutions, 0 for all others.

    Example:
        >>> layer = ebb.nn.Linear(2, 2)
        >>> _ = ebb.nn.init.ones_(layer.weight)  # whose largest singular value is 2
        >>> _ = ebb.nn.utils.parametrizations.spectral_norm(layer)
        >>> layer.weight.detach()
        tensor([[0.5000, 0.5000],
                [0.5000, 0.5000]])
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise _C.ValueError(
            f"spectral_norm: needs the name of a parameter of {type(module).__name__}, got {name!r}"
        )
    made = _SpectralNorm(weight, n_power_iterations, output_dim(module, dim), eps)
    return register_parametrization(module, name, made)


def output_dim(module: Module, dim: int | None) -> int:
    """Return the dim of a weight's outputs."""
    is_turned = type(module).__name__.startswith("ConvTranspose")
    return dim if dim is not None else int(is_turned)


_naming.name_module(__name__)
