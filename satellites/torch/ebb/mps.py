# satellites/torch/ebb/mps.py -- ebb.mps: the names of torch.mps, for Apple's graphics, which ebb
# has not.
"""``ebb.mps``: never available; what waits, seeds or frees does nothing."""

from ebb._no_device import *  # noqa: F403
from ebb._no_device import __all__ as __all__
