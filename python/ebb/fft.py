# python/ebb/fft.py -- ebb.fft: discrete Fourier transforms.
#
# All are rows of the op table, which the compiled part has as ebb._fft.
"""Discrete Fourier transforms under the names of ``torch.fft``."""

from __future__ import annotations

from ebb import _fft
from ebb._fft import *

__all__ = _fft.__all__
