# python/ebb/torch_compat/finder.py -- modules named torch that show ebb's: the import hook.
#
# `torch.a.b` shows `ebb.a.b`, torchvision `ebb.vision`, or what HOMES says instead. The modules are
# views: they hold what ebb's module of that name has, ask it for what comes later, and say what is
# missing. Switches are set in ebb; what else a program assigns to them is theirs alone. Start
# reading at install().
"""The finder of modules, and the modules it makes."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import logging
import sys
import types
from collections.abc import Sequence
from typing import Any

import ebb
from ebb.torch_compat.refusal import NotServedAttributeError, NotServedImportError

__all__ = ["TORCH_VERSION", "TorchModule", "install", "uninstall"]

TORCH_VERSION = "2.15.0"
_ROOT = "torch"
# Names of PyTorch's that are ebb's by another.
SPELLED = {"torch.nn.modules.linear.NonDynamicallyQuantizableLinear": "Linear"}
_SWITCH = (bool, int, float, str)  # such as backends.cudnn.benchmark

# Where names of PyTorch's modules are in ebb, if not at the same place.
HOMES = {
    "torch": "ebb",
    "torchvision": "ebb.vision",
    "torch.nn.modules": "ebb.nn",
    "torch.nn.modules.utils": "ebb.nn.utils",
    "torch.nn.parallel.data_parallel": "ebb.nn.parallel",
    "torch.nn.parallel.distributed": "ebb.nn.parallel",
    "torch.optim.adam": "ebb.optim",
    "torch.optim.adamw": "ebb.optim",
    "torch.optim.optimizer": "ebb.optim",
    "torch.optim.sgd": "ebb.optim",
    "torch.utils.data.dataloader": "ebb.data",
    "torch.utils.data.dataset": "ebb.data",
    "torch.utils.data.distributed": "ebb.data",
    "torch.utils.data.sampler": "ebb.data",
    "torch.utils.data": "ebb.data",
    "torch.cuda.amp.grad_scaler": "ebb.cuda.amp",
    "torch._C": "ebb",
}


def install() -> None:
    """Let ``import torch`` find ebb from now on; a second call changes nothing.

    Raises:
        ImportError: If PyTorch itself is imported already.
    """
    held = sys.modules.get(_ROOT)
    if held is not None and not isinstance(held, TorchModule):
        raise ImportError(
            f"torch_compat: PyTorch {getattr(held, '__version__', '')} is imported already\n"
            "hint: import ebb.torch_compat before anything that imports torch"
        )
    if any(isinstance(one, TorchFinder) for one in sys.meta_path):
        return
    real = importlib.util.find_spec(_ROOT)
    if real is not None:
        logging.getLogger("ebb").warning(
            "torch_compat: `import torch` is ebb; PyTorch at %s is hidden", real.origin
        )
    sys.meta_path.insert(0, TorchFinder())


def uninstall() -> None:
    """Undo ``install``: PyTorch is found again, if there is one."""
    sys.meta_path[:] = [one for one in sys.meta_path if not isinstance(one, TorchFinder)]
    for name in [name for name, one in sys.modules.items() if isinstance(one, TorchModule)]:
        del sys.modules[name]


def home_of(name: str) -> str:
    """Return the name of ebb's module for one of PyTorch's."""
    if name in HOMES:
        return HOMES[name]
    parent, _, last = name.rpartition(".")
    if parent == "torch.nn.modules" and last.islower():  # its files: loss, conv, batchnorm
        return "ebb.nn"
    return f"{home_of(parent)}.{last}"


def module_of(name: str) -> types.ModuleType | None:
    """Return ebb's module for one of PyTorch's, or None if there is none."""
    home = home_of(name)
    try:
        return importlib.import_module(home)
    except ModuleNotFoundError as error:
        if error.name is None or not home.startswith(error.name):
            raise
        return None


class TorchModule(types.ModuleType):
    """Shows a module of ebb under a name of PyTorch's."""

    def __getattr__(self, name: str) -> Any:
        home = self.__dict__.get("_home")
        if home is None or (name.startswith("__") and name != "__version__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        full = f"{self.__name__}.{name}"
        try:
            value = getattr(home, SPELLED.get(full, name))
        except AttributeError as error:
            if "\n" in str(error):  # says more than that it is not there
                raise
            if home_of(full) != f"{home.__name__}.{name}" and module_of(full) is not None:
                return importlib.import_module(full)  # a module that ebb has elsewhere
            raise NotServedAttributeError(full, tuple(dir(self))) from None
        if isinstance(value, types.ModuleType) and module_of(full) is not None:
            return importlib.import_module(full)
        if not isinstance(value, _SWITCH):  # these may change
            self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        home = self.__dict__.get("_home")
        is_switch = home is not None and isinstance(vars(home).get(name), _SWITCH)
        if is_switch and not name.startswith("_"):
            setattr(home, name, value)
        else:
            self.__dict__[name] = value

    def __dir__(self) -> list[str]:
        return sorted({*dir(self.__dict__["_home"]), *self.__dict__})


class TorchFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds all modules under ``torch`` and ``torchvision``."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Return how to make the module, if it is one of PyTorch's or torchvision's.

        Raises:
            NotServedError: If ebb has none like it.
        """
        del path, target
        if fullname.partition(".")[0] not in HOMES:
            return None
        if module_of(fullname) is None:
            parent = sys.modules.get(fullname.rpartition(".")[0])
            raise NotServedImportError(fullname, tuple(dir(parent)))
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Return an empty view."""
        return TorchModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Fill it with what ebb's module has."""
        home = module_of(module.__name__)
        assert home is not None
        module.__dict__["_home"] = home
        module.__doc__ = home.__doc__
        named = getattr(home, "__all__", None)
        if module.__name__ == _ROOT:
            module.__dict__["__version__"] = TORCH_VERSION
        # `from torch.nn import *` gives what `from ebb.nn import *` gives.
        public = list(named) if named is not None else _public_names(home)
        module.__dict__["__all__"] = public
        # Programs look into `models.__dict__` for what there is.
        for name in public:
            value = vars(home).get(name)
            if callable(value) and f"{module.__name__}.{name}" not in SPELLED:
                module.__dict__.setdefault(name, value)


def _public_names(module: types.ModuleType) -> list[str]:
    if module is ebb:
        return list(ebb.__all__)
    return [name for name in dir(module) if not name.startswith("_")]
