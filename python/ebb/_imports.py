# python/ebb/_imports.py -- imports that need a hand: einops beside ebb, second names, first calls.
#
# A module of a distribution that is not installed says which to install: by a finder behind others.
# Functions of packages that take time to import are here: `ebb.vmap` imports `ebb.func` when it is
# first called.
# einops knows the backends whose classes are made, so ebb's must be made once einops is there: a
# finder sees its import and makes it behind it. `ebb.utils.data` is `ebb.data`, and so are the
# files of both: the finder gives the one for the other. Start reading at help_imports().
"""``import einops`` beside ``import ebb`` is enough; ``ebb.utils.data.dataset`` is found."""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

from ebb import _C

# Modules that other distributions lay into the package (satellites/README.md).
SATELLITES = {
    "vision": "ebb-vision",
    **dict.fromkeys(
        ("torch_compat", "compiler", "distributed", "jit", "mps", "onnx", "xpu"), "ebb-torch"
    ),
}
_LAYERS = ("einops.layers.ebb", "einops.layers.torch")
_SECOND, _FIRST = "ebb.utils.data.", "ebb.data."


class _Finder:
    """Finds einops as others do, its layers on ebb's modules, and files by their second names."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return how to import one of these modules; of others None."""
        if name.startswith(_SECOND):
            return _same(name)
        if name == "einops":
            return _with_backend(_found_by_others(self, name, path, target))
        if name in _LAYERS and (name == _LAYERS[0] or not _is_there("torch")):
            from importlib.machinery import ModuleSpec

            return ModuleSpec(name, _Layers())  # type: ignore[arg-type]
        return None


class MissingDistributionError(ModuleNotFoundError):
    """A module is asked for whose distribution is not installed."""


class _Missing:
    """Finds nothing, and says of modules of other distributions which one to install."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Refuse a satellite's module: whoever finds it was asked before."""
        package, _, module = name.partition(".")
        wanted = SATELLITES.get(module) if package == "ebb" else None
        if wanted is not None:
            raise MissingDistributionError(
                f"{name}: needs the distribution {wanted}, which is not installed\n"
                f"hint: pip install {wanted}, or ebb[all]",
                name=name,
            )


def check_version(package: str) -> None:
    """Refuse a satellite's package that was made for another version of ebb.

    Its wheel says its version in ``_version.py``; a build folder has none, being of one checkout.

    Raises:
        ImportError: If the first two numbers of the versions differ.
    """
    try:
        made = importlib.import_module(f"{package}._version").version
    except ModuleNotFoundError:
        return
    own = sys.modules["ebb"].__version__
    if made.split(".")[:2] != own.split(".")[:2]:
        raise ImportError(
            f"{package}: needs ebb {'.'.join(made.split('.')[:2])}, got {own}\n"
            f"hint: pip install {SATELLITES[package.partition('.')[2]]}=={own}"
        )


class _Same:
    """Gives a module that has another name."""

    def __init__(self, module: types.ModuleType):
        self._module, self._spec = module, module.__spec__

    def create_module(self, spec: Any) -> types.ModuleType:
        return self._module

    def exec_module(self, module: types.ModuleType) -> None:
        module.__spec__ = self._spec  # importlib has put in that of the second name


def _same(name: str) -> Any:
    first = _FIRST + name.removeprefix(_SECOND)
    try:
        module = importlib.import_module(first)
    except ModuleNotFoundError:
        return None
    from importlib.machinery import ModuleSpec

    return ModuleSpec(name, _Same(module))  # type: ignore[arg-type]


class _Layers:
    """Makes ``einops.layers.ebb``, which is ``einops.layers.torch`` where there is no PyTorch."""

    def create_module(self, spec: Any) -> types.ModuleType:
        return types.ModuleType(spec.name, "einops' layers as modules of ebb.")

    def exec_module(self, module: types.ModuleType) -> None:
        own = importlib.import_module("ebb.utils.einops")
        for name in ("EinMix", "Rearrange", "Reduce"):
            setattr(module, name, getattr(own, name))


def _is_there(name: str) -> bool:
    from importlib.util import find_spec

    return name in sys.modules or find_spec(name) is not None


def _found_by_others(own: _Finder, name: str, path: Any, target: Any) -> Any:
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec = None if finder is own or find is None else find(name, path, target)
        if spec is not None:
            return spec
    return None


def _with_backend(spec: Any) -> Any:
    loader = getattr(spec, "loader", None)
    if loader is None:
        return spec
    run = loader.exec_module

    def exec_module(module: types.ModuleType) -> None:
        run(module)
        importlib.import_module("ebb.utils.einops")

    loader.exec_module = exec_module
    return spec


def help_imports() -> None:
    """Put the finder first, and let einops know ebb if it is there already."""
    sys.meta_path.insert(0, _Finder())  # type: ignore[arg-type]
    sys.meta_path.append(_Missing())  # type: ignore[arg-type]
    if "einops" in sys.modules:
        importlib.import_module("ebb.utils.einops")


def compare_precision(
    step: Any,
    narrow: Any = "bfloat16",
    wide: Any = "float32",
    *,
    tolerance: float = 8.0,
    restore: Any = (),
    device_type: str = "cpu",
) -> Any:
    """Run one step in two precisions, and find the op whose result drifts.

    Args:
        step, narrow, wide, tolerance, restore, device_type: See ``ebb.precision``'s.
    Example:
        >>> x = ebb.tensor([1000.0, 1000.5], requires_grad=True)
        >>> report = ebb.compare_precision(lambda: (x @ ebb.eye(2) - 1000.0).sum())
        >>> report.first.name, report.first.is_backward
        ('sub', False)
    """
    from ebb.precision import compare_precision as compare

    options = {"tolerance": tolerance, "restore": restore, "device_type": device_type}
    return compare(step, narrow, wide, **options)


def vmap(
    func: Any,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: Any = "error",
    *,
    chunk_size: Any = None,
) -> Any:
    """Return ``ebb.func.vmap`` of a function, which computes it for each sample of a batch.

    Args:
        func, in_dims, out_dims, randomness, chunk_size: See ``ebb.func.vmap``.
    Example:
        >>> ebb.vmap(ebb.sum)(ebb.ones(2, 3))
        tensor([3., 3.])
    """
    from ebb.func import vmap as of_samples

    return of_samples(func, in_dims, out_dims, randomness, chunk_size=chunk_size)


def _namespace(self: _C.Tensor, *, api_version: str | None = None) -> types.ModuleType:
    """Return the namespace of the Array API standard, `ebb.array_api`."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise _C.ValueError(
            f"__array_namespace__: needs a version from 2021.12 to 2024.12, got {api_version!r}"
        )
    return importlib.import_module("ebb.array_api")


_C.Tensor.__array_namespace__ = _namespace
