# tools/bench/__init__.py -- `make bench`: measures the hot paths and writes docs/benchmarks.md.
"""Start at ``__main__.py``."""
