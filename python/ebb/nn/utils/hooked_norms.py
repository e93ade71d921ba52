# python/ebb/nn/utils/hooked_norms.py -- weight_norm and spectral_norm as hooks.
#
# The older spellings of those in parametrizations.py, with names of their own in state dicts.
"""Weights of a given norm that a hook computes before each call."""

from __future__ import annotations

from typing import Any

from ebb import _C
from ebb._base import naming as _naming
from ebb._base.signature import takes
from ebb.nn.module import Module
from ebb.nn.parameter import Parameter
from ebb.nn.utils.computed import ComputedWeight, remove
from ebb.nn.utils.parametrizations import (
    as_matrix,
    norm_but,
    of_norms,
    output_dim,
    power_steps,
    spectral_norm_of,
    spectral_value,
    start_vectors,
)

__all__ = ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]


class WeightNorm(ComputedWeight):
    """Sets ``name`` to ``g * v / norm(v)`` of ``name_g`` and ``name_v`` before each call."""

    kind = "weight_norm"

    def __init__(self, name: str, dim: int | None):
        super().__init__(name)
        self.dim = dim

    def _split(self, module: Module, weight: Parameter) -> None:
        """Put the norms and directions of ``weight`` into ``module``."""
        with _C.no_grad():
            norms = norm_but(weight, self.dim)
        module.register_parameter(f"{self.name}_g", Parameter(norms))
        module.register_parameter(f"{self.name}_v", Parameter(weight.detach()))

    def _compute(self, module: Module) -> Any:
        """Return the weight."""
        g, v = (getattr(module, f"{self.name}_{part}") for part in "gv")
        return of_norms(g, v, self.dim)

    def _parts(self) -> list[str]:
        """Return the names of what ``split`` put into the module."""
        return [f"{self.name}_g", f"{self.name}_v"]


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Split a weight into its norms ``name_g`` and its directions ``name_v``.

    Args:
        dim: The dim whose slices have a norm each; None for one norm of all.

    Example:
        >>> layer = ebb.nn.utils.weight_norm(ebb.nn.Linear(2, 3))
        >>> layer.weight_g.shape
        ebb.Size([3, 1])
    """
    return WeightNorm(name, dim)._install("weight_norm", module)


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight one parameter again.

    Example:
        >>> layer = ebb.nn.utils.weight_norm(ebb.nn.Linear(2, 3))
        >>> ebb.nn.utils.remove_weight_norm(layer)
        Linear(in_features=2, out_features=3, bias=True)
    """
    return remove(WeightNorm, "remove_weight_norm", module, name)


class SpectralNorm(ComputedWeight):
    """Sets ``name`` to ``name_orig`` over its largest singular value before each call."""

    kind = "spectral_norm"

    def __init__(self, name: str, steps: int, dim: int, eps: float):
        super().__init__(name)
        self.n_power_iterations = steps
        self.dim = dim
        self.eps = eps

    def _split(self, module: Module, weight: Parameter) -> None:
        """Put the weight and its two singular vectors into ``module``."""
        u, v = start_vectors(as_matrix(weight.detach(), self.dim), 0, self.eps)
        module.register_parameter(f"{self.name}_orig", weight)
        module.register_buffer(f"{self.name}_u", u)
        module.register_buffer(f"{self.name}_v", v)

    def _compute(self, module: Module) -> Any:
        """Return the weight, after steps of the power method in training."""
        weight, u, v = (getattr(module, part) for part in self._parts())
        matrix = as_matrix(weight, self.dim)
        if module.training:
            # v first, as in PyTorch's hook; its parametrization begins with u.
            power_steps(matrix.mT, v, u, self.n_power_iterations, self.eps)
        return weight / spectral_value(matrix, u, v)

    def _parts(self) -> list[str]:
        """Return the names of what ``split`` put into the module."""
        return [f"{self.name}_{part}" for part in ("orig", "u", "v")]


@takes(spectral_norm_of)
def spectral_norm(module, name, n_power_iterations, eps, dim) -> Module:
    """Divide a weight by its largest singular value, estimated by the power method.

    Each call in training makes ``n_power_iterations`` steps.

    Args:
        eps: The smallest length that vectors are divided by.
        dim: The dim of outputs; 1 for transposed convolutions, 0 for all others.

    Example:
        >>> layer = ebb.nn.utils.spectral_norm(ebb.nn.Linear(2, 3))
        >>> layer(ebb.ones(1, 2)).shape
        ebb.Size([1, 3])
    """
    if n_power_iterations < 1:
        raise _C.ValueError(
            f"spectral_norm: n_power_iterations needs at least 1, got {n_power_iterations}"
        )
    made = SpectralNorm(name, n_power_iterations, output_dim(module, dim), eps)
    return made._install("spectral_norm", module)


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight one parameter again.

    Example:
        >>> layer = ebb.nn.utils.spectral_norm(ebb.nn.Linear(2, 3))
        >>> ebb.nn.utils.remove_spectral_norm(layer)
        Linear(in_features=2, out_features=3, bias=True)
    """
    return remove(SpectralNorm, "remove_spectral_norm", module, name)


_naming.name_module(__name__)
