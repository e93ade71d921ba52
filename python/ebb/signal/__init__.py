# python/ebb/signal/__init__.py -- ebb.signal: what filters and spectra of signals need.
"""Signals under the names of ``torch.signal``: so far windows."""

from ebb.signal import windows

__all__ = ["windows"]
