# satellites/torch/ebb/torch_compat/refusal.py -- what is raised for a name of PyTorch's that ebb
# lacks.
#
# hasattr() and `try: import` ask for many names, so the text is made when it is read.
"""``NotServedError``: the AttributeError or ImportError that programs expect."""

from __future__ import annotations

import difflib
import linecache
import os
import sys

_PACKAGE = os.path.dirname(__file__) + os.sep
WAYS_OUT = {
    "torch._dynamo": "there is no compiler; leave it out",
    "torch._inductor": "there is no compiler; leave it out",
    "torch.ao": "there is no quantization; train and run in float32 or bfloat16",
    "torch.distributed": "ebb runs in one process; ask torch.distributed.is_available() first",
    "torch.export": "save parameters with torch.save(module.state_dict(), file)",
    "torch.fx": "modules are not traced; ebb.graph(loss) has the backward graph as data",
    "torch.masked": "compute with where() and a mask",
    "torch.nested": "pad the sequences, torch.nn.utils.rnn.pad_sequence",
    "torch.quantization": "there is no quantization; train and run in float32 or bfloat16",
    "torchvision.models": "there are ResNet, VGG, AlexNet, DenseNet, MobileNetV2; write others",
}


def way_out(name: str) -> str:
    """Return what to do about an absent name, or "" if nothing is known about it.

    >>> from ebb.torch_compat import refusal
    >>> refusal.way_out("torch.quantization.quantize")
    'there is no quantization; train and run in float32 or bfloat16'
    """
    while name:
        if name in WAYS_OUT:
            return WAYS_OUT[name]
        name = name.rpartition(".")[0]
    return ""


class NotServedError(Exception):
    """A name of PyTorch's that ebb lacks: says which, in which line, and what to do.

    >>> import ebb.torch_compat
    >>> ebb.torch_compat.install()
    >>> import torch
    >>> try:
    ...     torch.export
    ... except ebb.torch_compat.NotServedError as error:
    ...     print(error.wanted)
    torch.export
    >>> ebb.torch_compat.uninstall()
    """

    def __init__(self, wanted: str, known: tuple[str, ...] = ()):
        super().__init__(wanted)
        self.wanted = wanted
        self.place: tuple[str, int] = _users_line()
        self._known = known

    def __str__(self) -> str:
        file, line = self.place
        source = linecache.getline(file, line).strip()
        where = f"{file}:{line}" + (f": {source}" if source else "")
        return f"{self.wanted}: ebb has no such name, wanted at {where}\nhint: {self._hint()}"

    def _hint(self) -> str:
        parent, _, name = self.wanted.rpartition(".")
        known = [one for one in self._known if one != name]  # `annotations` of __future__
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
        way = way_out(self.wanted) or (f"there is {parent}.{close[0]}" if close else "")
        report = "python -m ebb.torch_compat --report PATH lists all such names"
        return f"{way}; {report}" if way else report


class NotServedAttributeError(NotServedError, AttributeError):
    """A name that ebb lacks, asked for as ``torch.name``; so ``hasattr`` gives False."""


class NotServedImportError(NotServedError, ModuleNotFoundError):
    """A name that ebb lacks, in ``import torch.name`` or ``from torch import name``."""


def _users_line() -> tuple[str, int]:
    """Return the file and line that asked: the first frame that is no import's and not ours."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        file = frame.f_code.co_filename
        if not file.startswith((_PACKAGE, "<frozen importlib")) and "/importlib/" not in file:
            break
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
