# python/ebb/_base/__init__.py -- what every part of the package stands on.
"""Naming errors, removing hooks, walking containers, drawing, importing late."""
