# tests/python/utils/test_einops.py -- what einops asks of a backend.
#
# einops is not installed here: stand-ins have the names that ours derives from, and the calls are
# those that rearrange(), reduce(), repeat() and pack() make.
import importlib
import sys
import types

import numpy as np
import pytest

import ebb
from tests.python.fresh import printed

ARRAY = np.arange(24.0).reshape(2, 3, 4)


@pytest.fixture
def module(monkeypatch):
    backends, layers = types.ModuleType("einops._backends"), types.ModuleType("einops.layers")
    backends.AbstractBackend = type("AbstractBackend", (), {})

    class Mixin:
        def __init__(self, pattern, **sizes):
            super().__init__()
            self.pattern = pattern

        def _apply_recipe(self, x):
            return x.reshape(-1)

    layers.RearrangeMixin = layers.ReduceMixin = Mixin
    for name, made in (("_backends", backends), ("layers", layers)):
        monkeypatch.setitem(sys.modules, f"einops.{name}", made)
    monkeypatch.setitem(sys.modules, "einops", types.ModuleType("einops"))
    monkeypatch.delitem(sys.modules, "ebb.utils.einops", raising=False)
    yield importlib.import_module("ebb.utils.einops")
    sys.modules.pop("ebb.utils.einops", None)


@pytest.fixture
def backend(module):
    return module.EbbBackend()


def test_the_backend_is_found_by_einops(module, backend):
    (found,) = sys.modules["einops._backends"].AbstractBackend.__subclasses__()
    assert found is module.EbbBackend and found.framework_name == "ebb"
    assert backend.is_appropriate_type(ebb.ones(1)) and not backend.is_appropriate_type(ARRAY)


@pytest.mark.parametrize("operation", ["min", "max", "sum", "mean", "prod", "any", "all"])
def test_reductions_are_those_of_numpy(backend, operation):
    array = ARRAY > 3 if operation in ("any", "all") else ARRAY / 8
    found = backend.reduce(ebb.tensor(array), operation, (0, 2))
    np.testing.assert_allclose(found.numpy(), getattr(array, operation)((0, 2)))
    with pytest.raises(NotImplementedError, match="prod, any or all, got 'median'"):
        backend.reduce(ebb.tensor(array), "median", (0,))


def test_dims_are_moved_added_and_repeated(backend):
    tensor = ebb.tensor(ARRAY)
    assert backend.shape(tensor) == (2, 3, 4) and type(backend.shape(tensor)) is tuple
    assert np.array_equal(backend.transpose(tensor, [2, 0, 1]).numpy(), ARRAY.transpose(2, 0, 1))
    added = backend.add_axes(tensor, 5, {1: 6, 3: 2})
    expected = np.broadcast_to(ARRAY[:, None, :, None], (2, 6, 3, 2, 4))
    assert np.array_equal(added.numpy(), expected) and added.data_ptr() == tensor.data_ptr()
    assert np.array_equal(backend.tile(tensor, (1, 2, 1)).numpy(), np.tile(ARRAY, (1, 2, 1)))
    assert list(backend.add_axis(tensor, 1).shape) == [2, 1, 3, 4]


def test_tensors_are_joined_and_converted(backend):
    tensor = ebb.tensor(ARRAY)
    assert list(backend.stack_on_zeroth_dimension([tensor, tensor]).shape) == [2, 2, 3, 4]
    assert list(backend.concat([tensor, tensor], 1).shape) == [2, 6, 4]
    made = backend.from_numpy(ARRAY.copy())
    assert made.requires_grad and np.array_equal(backend.to_numpy(made), ARRAY)
    assert backend.arange(1, 3).tolist() == [1, 2]
    assert backend.is_float_type(tensor) and not backend.is_float_type(ebb.ones(1).long())
    product = backend.einsum("abc,adc->bd", tensor, tensor)
    np.testing.assert_allclose(product.numpy(), np.einsum("abc,adc->bd", ARRAY, ARRAY))


def test_the_layers_are_modules(module):
    for kind in (module.Rearrange, module.Reduce):
        layer = ebb.nn.Sequential(kind("a b -> (a b)"))
        assert layer(ebb.ones(2, 3)).shape == (6,) and layer[0].pattern == "a b -> (a b)"


def test_without_the_package_each_name_says_what_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "einops._backends", None)
    monkeypatch.setitem(sys.modules, "einops.layers", None)
    monkeypatch.delitem(sys.modules, "ebb.utils.einops", raising=False)
    module = importlib.import_module("ebb.utils.einops")
    for name in module.__all__:
        with pytest.raises(NotImplementedError, match=f"{name}: needs the package einops, got no"):
            getattr(module, name)("a -> a")
    sys.modules.pop("ebb.utils.einops")


FAKE = {
    "__init__.py": "from ._backends import get_backend\n",
    "_backends.py": (
        "class AbstractBackend:\n    pass\n"
        "def get_backend(tensor):\n"
        "    for kind in AbstractBackend.__subclasses__():\n"
        "        if kind().is_appropriate_type(tensor):\n"
        "            return kind()\n"
    ),
    "layers/__init__.py": (
        "class RearrangeMixin:\n    def __init__(self, pattern, **sizes):\n"
        "        super().__init__()\n        self.pattern = pattern\n"
        "class ReduceMixin(RearrangeMixin):\n    pass\n"
    ),
    "layers/_einmix.py": "class _EinmixMixin:\n    pass\n",
    "layers/torch.py": "import torch\n",
}


@pytest.fixture
def fake(tmp_path):
    """A folder with a package einops that asks its backends as the real one does."""
    for name, text in FAKE.items():
        path = tmp_path / "einops" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.mark.parametrize("first", ["einops, ebb", "ebb, einops"])
def test_einops_knows_ebb_whichever_is_imported_first(fake, first):
    code = f"""
import sys; sys.path.insert(0, {str(fake)!r})
import {first}
print(einops.get_backend(ebb.ones(1)).framework_name)
"""
    assert printed(code) == "ebb\n"


def test_layers_of_einops_for_pytorch_are_ebbs_where_there_is_no_pytorch(fake):
    code = f"""
import sys; sys.path.insert(0, {str(fake)!r})
import ebb
from tests.python.fresh import printed
from einops.layers.torch import Rearrange, Reduce
from einops.layers.ebb import EinMix
print(issubclass(Rearrange, ebb.nn.Module), Rearrange("a -> a").pattern)
"""
    assert printed(code) == "True a -> a\n"


def test_an_einops_that_is_not_there_is_missing_as_before():
    code = """
import ebb
from tests.python.fresh import printed
try:
    import einops
except ModuleNotFoundError as error:
    print(error.name)
"""
    assert printed(code) == "einops\n"
