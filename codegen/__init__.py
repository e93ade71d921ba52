# codegen/__init__.py -- turns the op table, ops/, into C++, bindings and test rows.
"""Reads the op table and writes everything that follows from it (see codegen/README.md)."""
