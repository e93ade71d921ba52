# tests/fuzz/hostile/callables.py -- every public callable of the package, found by walking its
# names.
#
# Functions, constructors, methods, and what can be assigned to. Signatures come from the functions
# themselves; those of compiled ones from the stub, whose annotations say more than a docstring.
"""What the fuzzer of hostile calls tries."""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import pkgutil
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ebb
from ebb import _C

STUBS = sorted(Path(_C.__file__).parent.glob("_*.pyi"))

# Never called, and why.
SKIPPED = {
    "data.get_worker_info": "has no parameters and no state outside of a worker",
}


@dataclass(frozen=True)
class Parameter:
    """One parameter: its name, its annotation as a text, and how it may be given."""

    name: str
    annotation: str = ""
    has_default: bool = False
    keyword_only: bool = False
    several: bool = False
    any_keyword: bool = False  # **kwargs


@dataclass(frozen=True)
class Callable:
    """A public callable."""

    key: str  # "nn.functional.relu", "nn.Linear()", "Tensor.add_", "Tensor.grad="
    name: str
    kind: str  # function, constructor, method or setter
    target: Any  # a function or a class
    parameters: tuple[Parameter, ...]

    @property
    def names(self) -> set[str]:
        """What an error may call it."""
        if self.kind == "function":  # or an object that is called, known by its class
            return {self.name, type(self.target).__name__}
        cls = self.target.__name__
        if self.kind == "constructor" or self.name in ("forward", "__call__"):
            # A lazy layer's first call makes it one of another class.
            return {cls, self.name, getattr(self.target, "cls_to_become", self.target).__name__}
        return {self.name, f"{cls}.{self.name}"}


def all_callables() -> list[Callable]:
    """Return them sorted by key."""
    found: dict[str, Callable] = {}
    seen: set[tuple[int, str]] = set()
    for path, module in _public_modules().items():
        for name in _public_names(module):
            value = getattr(module, name)
            key = f"{path}.{name}".removeprefix("ebb.")
            if not _is_own(value) or (id(value), name) in seen or key in SKIPPED:
                continue
            seen.add((id(value), name))
            for one in _callables_of(key, name, value):
                found[one.key] = one
    return [found[key] for key in sorted(found)]


def _public_modules() -> dict[str, types.ModuleType]:
    # `import ebb` leaves some out, which another test may have imported.
    for found in pkgutil.walk_packages(ebb.__path__, "ebb."):
        # The import of torch_compat lets `import torch` find ebb; its tests have own processes.
        if "._" not in found.name and "torch_compat" not in found.name:
            importlib.import_module(found.name)
    modules, waiting = {}, [("ebb", ebb)]
    while waiting:
        path, module = waiting.pop(0)
        if module in modules.values():
            continue
        modules[path] = module
        for name in _public_names(module):
            value = getattr(module, name)
            if isinstance(value, types.ModuleType) and value.__name__.startswith("ebb"):
                waiting.append((f"{path}.{name}", value))
    return modules


def _public_names(module: types.ModuleType) -> list[str]:
    names = dir(module) if module is ebb else getattr(module, "__all__", dir(module))
    return [name for name in names if not name.startswith("_")]


def _is_own(value: Any) -> bool:
    return callable(value) and str(getattr(value, "__module__", "")).partition(".")[0] == "ebb"


def _callables_of(key: str, name: str, value: Any) -> list[Callable]:
    if not isinstance(value, type):
        return [Callable(key, name, "function", value, _parameters(value, name))]
    if issubclass(value, BaseException | enum.Enum):
        return []  # an enum's members are looked up by Python's own code
    found = [Callable(f"{key}()", name, "constructor", value, _parameters(value, name))]
    for attribute in dir(value):
        if attribute.startswith("_") or not _is_tried_here(value, attribute):
            continue
        member = inspect.getattr_static(value, attribute)
        if isinstance(member, property | types.GetSetDescriptorType):
            if getattr(member, "fset", value) is None:
                continue
            given = (Parameter("value"),)
            found.append(Callable(f"{key}.{attribute}=", attribute, "setter", value, given))
        elif callable(getattr(value, attribute)) and not isinstance(member, type):
            inner = getattr(value, attribute)
            drawn = _parameters(inner, attribute, value)
            found.append(Callable(f"{key}.{attribute}", attribute, "method", value, drawn))
    return found


def _is_tried_here(cls: type, name: str) -> bool:
    """Whether a class says itself what the attribute is: what it inherits is tried at its base."""
    owner = next(base for base in cls.__mro__ if name in vars(base))
    is_public = not owner.__name__.startswith("_")
    return owner is cls or name == "forward" or (_is_own(owner) and not is_public)


def _parameters(value: Any, name: str, owner: type | None = None) -> tuple[Parameter, ...]:
    place = owner.__name__ if owner else value.__module__.rpartition(".")[2]
    stub = _stub().get((place, name))
    if stub is not None and not isinstance(value, types.FunctionType):
        return stub
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return (Parameter("args", several=True),)
    found = []
    for one in signature.parameters.values():
        if one.name == "self":
            continue
        annotation = "" if one.annotation is one.empty else str(one.annotation)
        several = one.kind is one.VAR_POSITIONAL
        keyword_only = one.kind is one.KEYWORD_ONLY
        is_set = one.default is not one.empty
        any_keyword = one.kind is one.VAR_KEYWORD
        found.append(Parameter(one.name, annotation, is_set, keyword_only, several, any_keyword))
    return tuple(found)


_signatures: dict[tuple[str, str], tuple[Parameter, ...]] = {}


def _stub() -> dict[tuple[str, str], tuple[Parameter, ...]]:
    if not _signatures:
        for path in STUBS:
            tree = ast.parse(path.read_text())
            _add_definitions(tree.body, path.stem if path.stem == "_C" else path.stem[1:])
            for node in tree.body:
                if isinstance(node, ast.ClassDef):
                    _add_definitions(node.body, node.name)
    return _signatures


def _add_definitions(body: list[ast.stmt], owner: str) -> None:
    for node in body:
        if not isinstance(node, ast.FunctionDef):
            continue
        spec = node.args
        plain = [*spec.posonlyargs, *spec.args]
        defaults = len(plain) - len(spec.defaults)
        found = [
            Parameter(one.arg, _text(one), index >= defaults) for index, one in enumerate(plain)
        ]
        if spec.vararg:
            found.append(Parameter(spec.vararg.arg, _text(spec.vararg), several=True))
        for one, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
            found.append(Parameter(one.arg, _text(one), default is not None, True))
        if spec.kwarg:
            found.append(Parameter(spec.kwarg.arg, _text(spec.kwarg), any_keyword=True))
        _signatures[owner, node.name] = tuple(one for one in found if one.name != "self")


def _text(argument: ast.arg) -> str:
    return ast.unparse(argument.annotation) if argument.annotation else ""
