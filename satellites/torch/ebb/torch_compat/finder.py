# satellites/torch/ebb/torch_compat/finder.py -- modules named torch that show ebb's: the import
# hook.
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
from collections.abc import Iterable, Sequence
from typing import Any

import ebb
from ebb import overrides
from ebb._base import seam
from ebb._imports import MissingDistributionError
from ebb.torch_compat import (
    absent,
    alone,
    dtypes,
    foreach,
    library,
    privates,
    pytree,
    rebuild,
    switches,
)
from ebb.torch_compat.refusal import NotServedAttributeError, NotServedImportError
from ebb.torch_compat.torch_version import TorchVersion

__all__ = ["TORCH_VERSION", "TorchModule", "install", "uninstall"]

TORCH_VERSION = TorchVersion("2.15.0")
TORCHVISION_VERSION = "0.29.2"
_ROOT = "torch"
_HELPERS = "ebb.torch_compat.helpers"
_ABSENT = "ebb.torch_compat.absent"
_STATE = "ebb.torch_compat.pickled_hooks"
_PRIVATES = "ebb.torch_compat.privates"
_PYTREE = "ebb.torch_compat.pytree"
_REBUILD = "ebb.torch_compat.rebuild"
# Names of PyTorch's that are in a module of ebb's, or by another name.
SPELLED = {
    "torch.nn.NLLLoss2d": ("ebb.nn", "NLLLoss"),
    "torch.nn.init._no_grad_normal_": ("ebb.nn.init", "normal_"),
    "torch.nn.init._no_grad_uniform_": ("ebb.nn.init", "uniform_"),
    "torch.nn.init._no_grad_trunc_normal_": ("ebb.nn.init", "trunc_normal_"),
    "torch.nn.init._no_grad_fill_": ("ebb.nn.init", "constant_"),
    "torch.nn.init._no_grad_zero_": ("ebb.nn.init", "zeros_"),
    "torch.nn.utils.weight_norm.WeightNorm": ("ebb.nn.utils.hooked_norms", "WeightNorm"),
    "torch.nn.utils.spectral_norm.SpectralNorm": ("ebb.nn.utils.hooked_norms", "SpectralNorm"),
    "torch.nn.modules.module._WrappedHook": (_STATE, "StateDictHook"),
    "torch.nn.utils.spectral_norm.SpectralNormStateDictHook": (_STATE, "StateDictHook"),
    "torch.nn.utils.spectral_norm.SpectralNormLoadStateDictPreHook": (_STATE, "StateDictHook"),
    "torch.nn.utils.stateless.functional_call": ("ebb.func", "functional_call"),
    "torch.utils.checkpoint.get_device_states": (_HELPERS, "get_device_states"),
    "torch.utils.checkpoint.set_device_states": (_HELPERS, "set_device_states"),
    "torch._ops.OpOverload": ("ebb.torch_compat.aten", "Overload"),
    "torch._ops.OpOverloadPacket": ("ebb.torch_compat.aten", "Packet"),
    **{f"torch._utils.{name}": (_REBUILD, name) for name in rebuild.NAMES},
    "torch._tensor._rebuild_from_type_v2": (_REBUILD, "_rebuild_from_type_v2"),
    "torch.storage._load_from_bytes": (_REBUILD, "load_from_bytes"),
    "torch.serialization._get_layout": (_REBUILD, "get_layout"),
    **{name: (_PRIVATES, own) for name, own in privates.NAMES.items()},
    "torch.utils.data._utils.pin_memory.pin_memory": ("ebb.data.pinning", "pin_batch"),
    "torch.multiprocessing.SpawnContext": ("ebb.multiprocessing", "ProcessContext"),
    "torch.backends.cuda.SDPBackend": ("ebb.nn.attention", "SDPBackend"),
    "torch._assert": (_HELPERS, "assert_true"),
    "torch.optim.optimizer.ParamsT": ("ebb.torch_compat.types", "ParamsT"),
    "torch.optim.optimizer._params_t": ("ebb.torch_compat.types", "ParamsT"),
    "torch.optim.optimizer._global_optimizer_pre_hooks": ("ebb.optim.hooks", "ALL_BEFORE"),
    "torch.optim.optimizer._global_optimizer_post_hooks": ("ebb.optim.hooks", "ALL_AFTER"),
    "torch.optim.optimizer._use_grad_for_differentiable": (_HELPERS, "use_grad_as_asked"),
    "torch.optim.optimizer._default_to_fused_or_foreach": (_HELPERS, "fused_or_foreach"),
    "torch.optim.optimizer._get_value": (_HELPERS, "value_of"),
    "torch.optim.optimizer.required": (_HELPERS, "required"),
    "torch.optim.optimizer._RequiredParameter": (_HELPERS, "_RequiredParameter"),
    "torch.distributed.optim.ZeroRedundancyOptimizer": (_HELPERS, "ZeroRedundancyOptimizer"),
    "torch.distributed.device_mesh.DeviceMesh": (_ABSENT, "DeviceMesh"),
    "torch.distributed.device_mesh.init_device_mesh": (_ABSENT, "DeviceMesh"),
    "torch.distributions.utils._standard_normal": (_HELPERS, "standard_normal"),
    "torch.distributions.transforms._InverseTransform": (
        "ebb.distributions.transforms.base",
        "_InverseTransform",
    ),
    "torch.distributions.utils._sum_rightmost": (
        "ebb.distributions.transforms.base",
        "sum_rightmost",
    ),
    "torch.utils.data.dataloader._collate_fn_t": ("ebb.torch_compat.types", "CollateFn"),
    "torch._tensor_str._tensor_str": ("ebb.torch_compat.tensor_str", "values_text"),
    "torch.serialization.MAP_LOCATION": ("ebb.torch_compat.types", "MapLocation"),
    "torch.Future": ("ebb.torch_compat.futures", "Future"),
    "torch._dynamo._trace_wrapped_higher_order_op.TransformGetItemToIndex": (
        "contextlib",
        "nullcontext",
    ),
    "torch.distributed.ProcessGroup": (_ABSENT, "ProcessGroup"),
    "torch.cuda.CUDAGraph": (_ABSENT, "CUDAGraph"),
    "torch.cuda.graph": (_ABSENT, "CUDAGraph"),
    "torch.cuda.StreamContext": (_ABSENT, "StreamContext"),
    "torch.overrides.TorchFunctionMode": (_ABSENT, "TorchFunctionMode"),
    "torch.utils._python_dispatch.TorchDispatchMode": (_ABSENT, "TorchDispatchMode"),
    "torch.testing.assert_allclose": (_HELPERS, "assert_allclose"),
    "torch._utils._flatten_dense_tensors": (_HELPERS, "flatten_dense_tensors"),
    "torch._utils._unflatten_dense_tensors": (_HELPERS, "unflatten_dense_tensors"),
    "torch._C._VariableFunctionsClass": (_HELPERS, "ebb"),  # of which pickles name functions
    "torch._C.DisableTorchFunctionSubclass": ("ebb.overrides", "DisableEbbFunctionSubclass"),
    "torch._C.DisableTorchFunction": ("ebb.overrides", "DisableEbbFunction"),
    "torch.DisableTorchFunctionSubclass": ("ebb.overrides", "DisableEbbFunctionSubclass"),
    "torch.DisableTorchFunction": ("ebb.overrides", "DisableEbbFunction"),
    "torch.overrides.wrap_torch_function": ("ebb.overrides", "wrap_ebb_function"),
    "torch.overrides.resolve_name": (_PRIVATES, "resolve_name"),
    **{
        f"{room}.{name}_torch_function{kind}": (at, f"{name}_{own}_function{kind}")
        for room in ("torch.overrides", "torch.nn.functional", "torch.autograd", "torch._tensor")
        for at, name, own, kind in (
            ("ebb.overrides", "has", "ebb", ""),
            ("ebb.overrides", "handle", "ebb", ""),
            (_PRIVATES, "has", "torch", "_unary"),
            (_PRIVATES, "has", "torch", "_variadic"),
        )
    },
    "torch.ScriptModule": ("ebb.jit", "ScriptModule"),
    "torch.nn.parameter.is_lazy": ("ebb.nn.parameter", "is_uninitialized"),
    "torch.serialization.DEFAULT_PROTOCOL": (_PRIVATES, "DEFAULT_PROTOCOL"),
    **{
        f"torch._C.{name}": ("ebb._C", name)
        for name in (
            *("_current_graph_task_id", "_current_graph_task_execution_order"),
            *("_current_autograd_node", "_will_engine_execute_node"),
        )
    },
    "torch._C._EngineBase": ("ebb.autograd.variable", "_Engine"),
    "torch._C._LinAlgError": ("ebb.linalg", "LinAlgError"),
    "torch.hub.HASH_REGEX": ("ebb.hub", "_HASH_REGEX"),
    "torch.hub.urlparse": (_HELPERS, "urlparse"),
    "torch.hub._get_torch_home": ("ebb.hub", "_torch_home"),
    "torchvision._is_tracing": ("ebb.jit", "is_tracing"),
    "torch.utils.model_zoo.load_url": ("ebb.hub", "load_state_dict_from_url"),
}
_NAMES_OF_MODULES = ("__version__", "__config__")  # others that begin so are Python's own
_SWITCH = (bool, int, float, str)  # such as backends.cudnn.benchmark

SPELLED.update({f"torch.{name}": (dtypes.__name__, name) for name in dtypes.MISSING})
SPELLED.update({name: (_ABSENT, name.rpartition(".")[2]) for name in absent.NAMES})
SPELLED.update({f"torch.utils._pytree.{name}": (_PYTREE, at) for name, at in pytree.NAMES.items()})

# Where names of PyTorch's modules are in ebb, if not at the same place.
HOMES = {
    "torch": "ebb",
    "torch.futures": "ebb.torch_compat.futures",
    "torch.distributed.device_mesh": "ebb.distributed",
    "torchvision": "ebb.vision",
    "torch.utils.data": "ebb.data",
    "torch.utils.data._utils": "ebb.data",
    "torch.utils.data._utils.collate": "ebb.data.collate",
    "torch.utils.data._utils.pin_memory": "ebb.data.pinning",
    "torch.distributed.nn": "ebb.distributed",
    "torch.distributed.nn.functional": "ebb.distributed",
    "torch.distributed.optim": "ebb.distributed",
    "torch.utils._pytree": "ebb.torch_compat.pytree",
    "torch.utils.model_zoo": "ebb.hub",
    "torch.nn.parallel._functions": "ebb.torch_compat.parallel_functions",
    "torch.nn.parallel.data_parallel": "ebb.nn.parallel",
    "torch.nn.parallel.distributed": "ebb.nn.parallel",
    "torch.nn.parallel.parallel_apply": "ebb.nn.parallel",
    "torch.nn.parallel.replicate": "ebb.nn.parallel",
    "torch.nn.parallel.scatter_gather": "ebb.nn.parallel",
    "torch._ops": "ebb",
    "torch.library": "ebb.torch_compat.library",
    "torch.ops.aten": "ebb.torch_compat.aten",
    "torch._ops.ops.aten": "ebb.torch_compat.aten",
    "torch.jit.annotations": "typing",
    "torch.fx": "ebb.torch_compat.fx",
    "torch.fx.proxy": "ebb.torch_compat.fx",
    "torch.fx.experimental": "ebb.torch_compat.fx",
    "torch.fx.experimental.proxy_tensor": "ebb.torch_compat.fx",
    "torch.fx.graph_module": "ebb.torch_compat.fx",
    "torch._dynamo": "ebb.compiler",
    "torch._dynamo._trace_wrapped_higher_order_op": "ebb.compiler",
    "torch._subclasses": "ebb.compiler",
    "torch.utils._python_dispatch": "ebb.torch_compat.absent",
    "torch.nn.attention.flex_attention": "ebb.torch_compat.absent",
    "torch.distributed.distributed_c10d": "ebb.distributed",
    "torch.utils.flop_counter": "ebb.torch_compat.absent",
    "torch.cuda.profiler": "ebb.torch_compat.absent",
    "torch.fx.node": "ebb.torch_compat.fx",
    "torch.profiler.profiler": "ebb.profiler",
    "torch._dynamo.eval_frame": "ebb.compiler",
    "torchvision.io": "ebb.vision.readers",
    "torch._subclasses.fake_tensor": "ebb.compiler",
    "torch._dynamo.config": "ebb.torch_compat.switches",
    "torch._inductor": "ebb.compiler",
    "torch._inductor.config": "ebb.torch_compat.switches",
    "torch._functorch": "ebb.func",
    "torch._functorch.config": "ebb.torch_compat.switches",
    "torch._tensor": "ebb",
    "torch._tensor_str": "ebb.torch_compat.tensor_str",
    "torch.__config__": "ebb.torch_compat.config",
    "torch.multiprocessing.spawn": "ebb.multiprocessing",
    "torch.cuda.memory": "ebb.cuda",
    "torch.cuda.random": "ebb.cuda",
    "torch.types": "ebb.torch_compat.types",
    "torch.torch_version": "ebb.torch_compat.torch_version",
    "torch.nn.common_types": "ebb.torch_compat.common_types",
    "torch._jit_internal": "ebb.torch_compat.jit_internal",
    "torch.utils.backcompat": "ebb.torch_compat.backcompat",
    "torch._utils": "ebb",
    "torch.functional": "ebb",
    "torch.storage": "ebb",
    "torch._C": "ebb",
    "torch._C._nn": "ebb.nn.functional",
    "functorch": "ebb.func",
}

# Files of PyTorch's packages that ebb has otherwise: what is in `optim.sgd` is in `ebb.optim`.
FILES = {
    "torch.amp": "autocast_mode grad_scaler",
    "torch.autograd": "_functions grad_mode",
    "torch.cuda.amp": "autocast_mode grad_scaler common",
    "torch.nn": "_reduction",
    "torch.nn.utils": "convert_parameters memory_format spectral_norm stateless weight_norm init",
    "torch.optim": "adadelta adafactor adagrad adam adamax adamw asgd lbfgs nadam radam "
    "rmsprop rprop sgd sparse_adam",
    "torchvision.datasets": "celeba cifar coco fakedata folder imagenet mnist stl10 svhn vision",
    "torchvision.models": "alexnet mobilenet mobilenetv2",
}
_FILES = {f"{parent}.{name}" for parent, names in FILES.items() for name in names.split()}


def install() -> None:
    """Let ``import torch`` find ebb from now on; a second call changes nothing.

    Raises:
        ImportError: If PyTorch itself is imported already.

    Example:
        >>> import ebb.torch_compat
        >>> ebb.torch_compat.install()
        >>> import torch
        >>> torch.nn.Linear is ebb.nn.Linear
        True
        >>> ebb.torch_compat.uninstall()
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
    seam.hide_data_writes(True)
    overrides.keep_subclasses(True)


def uninstall() -> None:
    """Undo ``install``: PyTorch is found again, if there is one.

    Example:
        >>> import ebb.torch_compat
        >>> ebb.torch_compat.install()
        >>> ebb.torch_compat.uninstall()
        >>> import sys
        >>> "torch" in sys.modules
        False
    """
    seam.hide_data_writes(False)
    overrides.keep_subclasses(False)
    sys.meta_path[:] = [one for one in sys.meta_path if not isinstance(one, TorchFinder)]
    for name in [name for name, one in sys.modules.items() if isinstance(one, TorchModule)]:
        del sys.modules[name]


def home_of(name: str) -> str:
    """Return the name of ebb's module for one of PyTorch's."""
    if name in HOMES:
        return HOMES[name]
    if alone.holds(name):
        return alone.__name__
    parent, _, last = name.rpartition(".")
    if name in _FILES:
        return home_of(parent)
    return f"{home_of(parent)}.{last}"


def module_of(name: str) -> types.ModuleType | None:
    """Return ebb's module for one of PyTorch's, or None if there is none."""
    home = home_of(name)
    try:
        return importlib.import_module(home)
    except MissingDistributionError:
        raise
    except ModuleNotFoundError as error:
        if error.name is None or not home.startswith(error.name):
            raise
        return None


class TorchModule(types.ModuleType):
    """Shows a module of ebb under a name of PyTorch's.

    Example:
        >>> import ebb.torch_compat
        >>> ebb.torch_compat.install()
        >>> import torch
        >>> type(torch).__name__, torch.ones is ebb.ones
        ('TorchModule', True)
        >>> ebb.torch_compat.uninstall()
    """

    def __getattr__(self, name: str) -> Any:
        home = self.__dict__.get("_home")
        if home is None or (name.startswith("__") and name not in _NAMES_OF_MODULES):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        full = f"{self.__name__}.{name}"
        try:
            value = _value_of(full, home, name)
        except AttributeError as error:
            if full in HOMES or alone.holds(full):
                return importlib.import_module(full)
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
        if isinstance(value, TorchModule) and callable(getattr(home, name, None)):
            return  # `nn.utils.weight_norm` is the function, also where its file was imported
        is_switch = home is not None and isinstance(vars(home).get(name), _SWITCH)
        if is_switch and not name.startswith("_"):
            setattr(home, name, value)
        else:
            self.__dict__[name] = value

    def __dir__(self) -> list[str]:
        shown = [name for name in dir(self.__dict__["_home"]) if not name.startswith("__")]
        return sorted({*shown, *self.__dict__})


def _value_of(full: str, home: types.ModuleType, name: str) -> Any:
    """Return what ebb has for a name of PyTorch's."""
    if full in SPELLED:
        module, name = SPELLED[full]
        home = importlib.import_module(module)
    elif full == f"{_ROOT}.{_ROOT}":
        return sys.modules[_ROOT]  # some programs write torch.torch.Tensor
    elif full.startswith(f"{_ROOT}.{foreach.PREFIX}"):
        made = foreach.function_of(name)
        if made is not None:
            return made
    elif full.startswith(f"{_ROOT}.ops.") and library.has_room(name):
        return library.room(name)
    elif full.startswith(f"{_ROOT}._C.") and switches.setter_of(name) is not None:
        return switches.setter_of(name)
    return getattr(home, name)


class TorchFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds all modules under ``torch``, ``torchvision`` and ``functorch``."""

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

    def find_distributions(self, context: Any = None) -> Iterable[Any]:
        """Return what ``importlib.metadata`` tells of PyTorch: its name and version."""
        from ebb.torch_compat.metadata import distributions

        served = {_ROOT: TORCH_VERSION, "torchvision": TORCHVISION_VERSION}
        return distributions(getattr(context, "name", None), served)

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
        if module.__name__ == "torchvision":
            module.__dict__["__version__"] = TORCHVISION_VERSION
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
