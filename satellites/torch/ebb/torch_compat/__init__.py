# satellites/torch/ebb/torch_compat/__init__.py -- lets `import torch` find ebb, from the import of
# this on.
#
# finder.py gives Python the modules, refusal.py has what they raise; report.py lists what a project
# uses and ebb lacks; __main__.py runs a script or reports. All that changes in ebb is who learns of
# writes through `x.data`.
"""Programs written for PyTorch, run unchanged.

``import ebb.torch_compat`` before them, or ``python -m ebb.torch_compat script.py [arguments]``;
then ``import torch``, ``from torch import nn`` and ``import torch.nn.functional as F`` are ebb's.
``python -m ebb.torch_compat --report FOLDER`` lists what a project uses that ebb lacks.

A PyTorch that is installed is hidden by this; one that was imported before is an error. Writes
through ``x.data`` do not count for what was saved of ``x``, as in PyTorch.

>>> import ebb.torch_compat
>>> import torch
>>> torch.nn.Linear is ebb.nn.Linear
True
"""

from ebb._imports import check_version as _check_version

_check_version(__name__)

from ebb.torch_compat.finder import TORCH_VERSION, install, uninstall
from ebb.torch_compat.refusal import NotServedError
from ebb.torch_compat.report import Missing, report

__all__ = ["TORCH_VERSION", "Missing", "NotServedError", "install", "report", "uninstall"]

install()
