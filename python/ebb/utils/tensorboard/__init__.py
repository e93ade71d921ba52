# python/ebb/utils/tensorboard/__init__.py -- SummaryWriter: figures of a training, for TensorBoard.
#
# writer.py says what is written, summaries.py makes histograms and pictures of tensors, sinks.py
# writes: event files if the package `tensorboard` is installed, else lines of JSON.
"""``SummaryWriter``, under PyTorch's names."""

from ebb._base import naming as _naming
from ebb.utils.tensorboard.writer import SummaryWriter

__all__ = ["SummaryWriter"]

for _name in ("", ".writer"):
    _naming.name_module(__name__ + _name)
