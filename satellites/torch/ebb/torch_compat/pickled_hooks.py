# satellites/torch/ebb/torch_compat/pickled_hooks.py -- what stands for hooks in modules out of
# PyTorch's pickles.
"""``StateDictHook``."""

from __future__ import annotations


class StateDictHook:
    """Stands for hooks that serve PyTorch's state dicts alone: it holds what they hold."""

    def __call__(self, *args: object) -> None:
        """Do nothing."""
