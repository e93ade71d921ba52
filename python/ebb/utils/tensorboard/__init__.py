# python/ebb/utils/tensorboard/__init__.py -- SummaryWriter: figures of a training, for TensorBoard.
#
# writer.py says what is written, rarer.py what only plug-ins of TensorBoard show; summaries.py has
# histograms and pictures of tensors, curves.py curves, sounds and films, embeddings.py tables of
# points; sinks.py writes lines of JSON, event_file.py TensorBoard's files if its package is there.
"""``SummaryWriter``, under PyTorch's names."""

from ebb._base import naming as _naming
from ebb.utils.tensorboard.writer import SummaryWriter

__all__ = ["SummaryWriter"]

for _name in ("", ".writer"):
    _naming.name_module(__name__ + _name)
