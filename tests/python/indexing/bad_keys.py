# tests/python/indexing/bad_keys.py -- keys that are refused, whatever is done by them.
import pytest

import ebb


def check_refused(key, error, text):
    """Nothing is read by the key, and nothing written."""
    x = ebb.zeros(2, 3)
    with pytest.raises(error, match=text):
        x[key]
    with pytest.raises(error, match=text):
        x[key] = 1.0
    assert x.sum().item() == 0
