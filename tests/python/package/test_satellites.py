# tests/python/package/test_satellites.py -- modules of other distributions: missing, of another
# version.
import importlib
import sys
import types

import pytest

import ebb
from ebb import _imports
from tests.python.fresh import finished

# The package as a wheel of the core alone has it: no path leads to the modules of satellites.
CORE_ALONE = """
import sys
import ebb
from ebb import _imports
from importlib.machinery import PathFinder
class Core(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        module = name.partition("ebb.")[2]
        return None if module in _imports.SATELLITES else PathFinder.find_spec(name, path, target)
sys.meta_path[:] = [Core if one is PathFinder else one for one in sys.meta_path]
"""


@pytest.mark.parametrize("module", _imports.SATELLITES)
def test_a_module_of_a_distribution_that_is_missing_says_which_to_install(module):
    wanted = _imports.SATELLITES[module]
    asks = [f"import ebb.{module}", f"from ebb.{module} import name"]
    if module != "torch_compat":  # `import ebb` names the others
        asks.append(f"ebb.{module}.name")
    for asked in asks:
        done = finished(CORE_ALONE + asked)
        assert f"ebb.{module}: needs the distribution {wanted}, which is not installed" in (
            done.stderr
        )
        assert f"hint: pip install {wanted}, or ebb[all]" in done.stderr


def test_who_walks_over_all_names_of_the_core_alone_finds_no_attribute():
    ask = "import inspect\ninspect.getmembers(ebb)\nprint(hasattr(ebb.vision, '__wrapped__'))"
    done = finished(CORE_ALONE + ask)
    assert done.stdout == "False\n", done.stderr


def test_no_other_missing_module_is_said_to_be_of_a_distribution():
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'ebb\.nothing'"):
        importlib.import_module("ebb.nothing")


def test_a_satellite_for_another_version_is_refused(monkeypatch):
    made = types.ModuleType("ebb.vision._version")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    made.version = ebb.__version__ + "9"
    _imports.check_version("ebb.vision")
    made.version = "77.1.0"
    with pytest.raises(ImportError) as caught:
        _imports.check_version("ebb.vision")
    assert str(caught.value) == (
        f"ebb.vision: needs ebb 77.1, got {ebb.__version__}\n"
        f"hint: pip install ebb-vision=={ebb.__version__}"
    )
