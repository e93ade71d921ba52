# satellites/torch/ebb/torch_compat/backcompat.py -- torch.utils.backcompat: warnings about programs
# of 2017.
"""Two switches, which are kept and read back: ebb has neither of the old behaviours to warn of."""

from __future__ import annotations


class Warning:
    """A switch: ``broadcast_warning.enabled = True``.

    >>> from ebb.torch_compat import backcompat
    >>> backcompat.keepdim_warning.enabled
    False
    """

    def __init__(self) -> None:
        self.enabled = False


broadcast_warning: Warning = Warning()
keepdim_warning: Warning = Warning()
