# satellites/torch/ebb/xpu.py -- ebb.xpu: the names of torch.xpu, for Intel's graphics, which ebb
# has not.
"""``ebb.xpu``: never available; what waits, seeds or frees does nothing."""

from ebb._no_device import *  # noqa: F403
from ebb._no_device import __all__ as __all__
