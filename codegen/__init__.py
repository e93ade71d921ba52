# codegen/__init__.py -- the generator that turns ops/*.yaml into C++, Python bindings and test rows.
"""Reads the op table and writes everything that follows from it (see codegen/README.md)."""
