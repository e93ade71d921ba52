# satellites/torch/tests/conftest.py -- `import torch` is ebb in each of these tests, and after
# none.
import importlib

import pytest

from ebb.torch_compat import finder


@pytest.fixture(autouse=True)
def installed():
    """Install as a program's first import does; the import of this file may be long ago."""
    finder.install()
    yield
    finder.uninstall()


@pytest.fixture
def torch(installed):
    """What programs import under this name."""
    return importlib.import_module("torch")
