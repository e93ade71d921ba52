# codegen/__init__.py -- turns ops/*.yaml into C++, bindings and test rows.
"""Reads the op table and writes everything that follows from it (see codegen/README.md)."""
