# python/ebb/xpu.py -- Intel's graphics, of which there are none.
"""``ebb.xpu``: never available; what waits, seeds or frees does nothing."""

from ebb._no_device import *  # noqa: F403
from ebb._no_device import __all__ as __all__
