# python/ebb/_tensor/__init__.py -- what Tensor has that is written in Python.
#
# Pickles that earlier builds made name the functions below in this place.
"""Methods, memory, printing and other kinds of tensors, added to the compiled class."""

from ebb._tensor.methods import _rebuild as _rebuild, _rebuild_meta as _rebuild_meta
