# satellites/vision/ebb/vision/models/densenet.py -- networks whose layers see what all before them
# found.
"""``DenseNet`` and the sizes that have names."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from ebb import _C, nn
from ebb._C import Tensor, cat
from ebb.utils.checkpoint import checkpoint
from ebb.vision.models._weights import Network, Weights, enumeration, network

__all__ = ["DenseNet", "DenseNet121_Weights", "DenseNet161_Weights", "DenseNet169_Weights",
           "DenseNet201_Weights", "densenet121", "densenet161", "densenet169",
           "densenet201"]  # fmt: skip

DenseNet121_Weights: type[Weights] = enumeration("DenseNet121", "densenet121-a639ec97.pth")
DenseNet161_Weights: type[Weights] = enumeration("DenseNet161", "densenet161-8d451a50.pth")
DenseNet169_Weights: type[Weights] = enumeration("DenseNet169", "densenet169-b2777c0a.pth")
DenseNet201_Weights: type[Weights] = enumeration("DenseNet201", "densenet201-c1103571.pth")
_OLD_NAME = re.compile(r"(.*denselayer\d+\.(?:norm|relu|conv))\.(\d\..*)")  # norm.1 of old files


class _Layer(nn.Module):
    """Finds ``growth`` channels in all that were found before, of which it is given a list."""

    def __init__(self, inputs: int, growth: int, widening: int, dropout: float, saves: bool):
        super().__init__()
        self.norm1: nn.BatchNorm2d = nn.BatchNorm2d(inputs)
        self.relu1: nn.ReLU = nn.ReLU(inplace=True)
        self.conv1: nn.Conv2d = nn.Conv2d(inputs, widening * growth, 1, bias=False)
        self.norm2: nn.BatchNorm2d = nn.BatchNorm2d(widening * growth)
        self.relu2: nn.ReLU = nn.ReLU(inplace=True)
        self.conv2: nn.Conv2d = nn.Conv2d(widening * growth, growth, 3, padding=1, bias=False)
        self.drop_rate = dropout
        self.memory_efficient = saves

    def bn_function(self, inputs: list[Tensor]) -> Tensor:
        """Return what a convolution of 1 by 1 makes of them."""
        return self.conv1(self.relu1(self.norm1(cat(inputs, 1))))

    def forward(self, input: Tensor | list[Tensor]) -> Tensor:
        found = [input] if isinstance(input, Tensor) else input
        if self.memory_efficient and any(one.requires_grad for one in found):
            narrow = checkpoint(lambda *all: self.bn_function(list(all)), *found)
        else:
            narrow = self.bn_function(found)
        new = self.conv2(self.relu2(self.norm2(narrow)))
        if self.drop_rate > 0:
            new = nn.functional.dropout(new, p=self.drop_rate, training=self.training)
        return new


class _Block(nn.ModuleDict):
    """Layers, each of which sees the input and what those before it found."""

    def __init__(self, count: int, inputs: int, growth: int, *options: Any):
        super().__init__()
        for number in range(count):
            self[f"denselayer{number + 1}"] = _Layer(inputs + number * growth, growth, *options)

    def forward(self, init_features: Tensor) -> Tensor:
        found = [init_features]
        for layer in self.values():
            found.append(layer(found))
        return cat(found, 1)


def _transition(inputs: int, outputs: int) -> nn.Sequential:
    """Fewer channels, and half the height and width."""
    made = nn.Sequential()
    made.add_module("norm", nn.BatchNorm2d(inputs))
    made.add_module("relu", nn.ReLU(inplace=True))
    made.add_module("conv", nn.Conv2d(inputs, outputs, 1, bias=False))
    made.add_module("pool", nn.AvgPool2d(2, stride=2))
    return made


class DenseNet(nn.Module):
    """Blocks of layers that are each given what all before them in the block found.

    Args:
        growth_rate: How many channels a layer adds.
        block_config: How many layers each block has.
        num_init_features: Channels before the first block.
        bn_size: Channels between the convolutions of a layer, in growth rates.
        drop_rate: With this probability after each layer, in training.
        num_classes: Size of the output.
        memory_efficient: Whether the first half of a layer is computed again in backward.

    Example:
        >>> from ebb.vision import models
        >>> model = models.DenseNet(4, (1, 2), 8, num_classes=2)
        >>> model(ebb.zeros(2, 3, 32, 32)).shape
        ebb.Size([2, 2])
    """

    def __init__(
        self,
        growth_rate: int = 32,
        block_config: tuple[int, ...] = (6, 12, 24, 16),
        num_init_features: int = 64,
        bn_size: int = 4,
        drop_rate: float = 0,
        num_classes: int = 1000,
        memory_efficient: bool = False,
    ):
        super().__init__()
        if growth_rate < 1 or not block_config:
            raise _C.ValueError(
                "DenseNet: needs a growth_rate of at least 1 and a block, got "
                f"{growth_rate} and {block_config!r}"
            )
        self.features: nn.Sequential = nn.Sequential()
        parts = self.features.add_module
        channels = num_init_features
        parts("conv0", nn.Conv2d(3, channels, 7, stride=2, padding=3, bias=False))
        parts("norm0", nn.BatchNorm2d(channels))
        parts("relu0", nn.ReLU(inplace=True))
        parts("pool0", nn.MaxPool2d(3, stride=2, padding=1))
        options = (bn_size, drop_rate, memory_efficient)
        for number, count in enumerate(block_config, 1):
            parts(f"denseblock{number}", _Block(count, channels, growth_rate, *options))
            channels += count * growth_rate
            if number < len(block_config):
                parts(f"transition{number}", _transition(channels, channels // 2))
                channels //= 2
        parts("norm5", nn.BatchNorm2d(channels))
        self.classifier: nn.Linear = nn.Linear(channels, num_classes)
        self.register_load_state_dict_pre_hook(_rename)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return [N, num_classes] of images [N, 3, H, W]."""
        found = nn.functional.relu(self.features(x), inplace=True)
        return self.classifier(nn.functional.adaptive_avg_pool2d(found, (1, 1)).flatten(1))


def _rename(module: Any, state: dict[str, Any], *rest: Any) -> None:
    """Give parameters of torchvision's files, which are older than its names, their names."""
    del module, rest
    for name in list(state):
        old = _OLD_NAME.fullmatch(name)
        if old is not None:
            state[old[1] + old[2]] = state.pop(name)


densenet121: Network[DenseNet] = network(
    "densenet121",
    partial(DenseNet, 32, (6, 12, 24, 16), 64),
    DenseNet121_Weights,
    7_978_856,
    "the ``DenseNet`` of 121 layers",
)
densenet161: Network[DenseNet] = network(
    "densenet161",
    partial(DenseNet, 48, (6, 12, 36, 24), 96),
    DenseNet161_Weights,
    28_681_000,
    "the ``DenseNet`` of 161 layers",
)
densenet169: Network[DenseNet] = network(
    "densenet169",
    partial(DenseNet, 32, (6, 12, 32, 32), 64),
    DenseNet169_Weights,
    14_149_480,
    "the ``DenseNet`` of 169 layers",
)
densenet201: Network[DenseNet] = network(
    "densenet201",
    partial(DenseNet, 32, (6, 12, 48, 32), 64),
    DenseNet201_Weights,
    20_013_928,
    "the ``DenseNet`` of 201 layers",
)
