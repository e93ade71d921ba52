# satellites/vision/ebb/vision/models/_utils.py -- what detectors take of a network: some layers'
# outputs.
"""``IntermediateLayerGetter``, under the name that programs import from torchvision."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from ebb import _C, nn
from ebb._C import Tensor


class IntermediateLayerGetter(nn.ModuleDict):
    """Runs a network's children in order and returns the outputs of some.

    Args:
        model: Its children are called one after the other, up to the last that is returned.
        return_layers: Names of children, and under which name each output is returned.
    Raises:
        ValueError: If the model has no child of a name.
    Example:
        >>> from ebb.vision import models
        >>> from ebb.vision.models._utils import IntermediateLayerGetter
        >>> body = IntermediateLayerGetter(models.resnet18(), {"layer1": "low", "layer3": "high"})
        >>> [(name, x.shape[1]) for name, x in body(ebb.zeros(1, 3, 32, 32)).items()]
        [('low', 64), ('high', 256)]
    """

    def __init__(self, model: nn.Module, return_layers: Mapping[str, Any]):
        wanted = {str(name): out for name, out in return_layers.items()}
        children = dict(model.named_children())
        absent = [name for name in wanted if name not in children]
        if absent:
            raise _C.ValueError(
                f"IntermediateLayerGetter: needs names of children, got {absent[0]!r}\n"
                f"hint: there are {', '.join(children)}"
            )
        last = max((list(children).index(name) for name in wanted), default=-1)
        super().__init__(dict(list(children.items())[: last + 1]))
        self.return_layers: dict[str, Any] = wanted

    def forward(self, x: Tensor) -> OrderedDict[Any, Tensor]:
        """Return the outputs by name, in the order of the children."""
        found: OrderedDict[Any, Tensor] = OrderedDict()
        for name, child in self.items():
            x = child(x)
            if name in self.return_layers:
                found[self.return_layers[name]] = x
        return found
