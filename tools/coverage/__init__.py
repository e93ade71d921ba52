# tools/coverage/__init__.py -- `make coverage`: which lines and branches the tests run.
"""Start at ``__main__.py``."""
