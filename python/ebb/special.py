# python/ebb/special.py -- ebb.special: special functions, all of them rows of the op table.
"""Special functions under the names of ``torch.special``."""

from ebb import _special
from ebb._special import *

__all__ = list(_special.__all__)
