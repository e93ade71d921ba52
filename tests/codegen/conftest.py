# tests/codegen/conftest.py -- the family of a test file's own rows.
import pytest

from tests.codegen.little_table import family_of


@pytest.fixture
def family(request, tmp_path):
    """Return the family that the TABLE of the test's module describes."""
    return family_of(tmp_path, request.module.TABLE)
