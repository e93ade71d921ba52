# python/ebb/_functions/__init__.py -- functions of `ebb` written in Python.
"""One file per subject; `ebb/__init__.py` makes them public."""
