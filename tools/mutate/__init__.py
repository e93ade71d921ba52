# tools/mutate/__init__.py -- `make mutate`: breaks the code in many ways; a test must notice each.
"""Start at ``__main__.py``."""
