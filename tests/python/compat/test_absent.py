# tests/python/compat/test_absent.py -- classes that may be named and derived from, and not made.
import pytest

import ebb
from ebb.torch_compat import absent


@pytest.mark.parametrize("name", absent.__all__)
def test_they_refuse_to_be_made(name):
    kind = getattr(absent, name)
    assert kind.__doc__.startswith("Refuse: ") and not isinstance(ebb.ones(1), kind)
    with pytest.raises(NotImplementedError, match=rf"^{name}: "):
        kind(1, key=2)
    derived = type("Derived", (kind,), {})
    with pytest.raises(NotImplementedError, match=rf"^{name}: "):
        derived()
