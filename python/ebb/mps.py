# python/ebb/mps.py -- Apple's graphics, of which there are none.
"""``ebb.mps``: never available; what waits, seeds or frees does nothing."""

from ebb._no_device import *  # noqa: F403
from ebb._no_device import __all__ as __all__
