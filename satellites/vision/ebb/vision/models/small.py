# satellites/vision/ebb/vision/models/small.py -- AlexNet and MobileNetV2.
"""``AlexNet``, ``MobileNetV2`` and their functions."""

from __future__ import annotations

from typing import Any

from ebb import nn
from ebb._C import Tensor
from ebb.vision.models._weights import Weights, enumeration, filled

__all__ = [
    "AlexNet", "AlexNet_Weights", "MobileNetV2", "MobileNet_V2_Weights", "alexnet", "mobilenet_v2",
]  # fmt: skip

AlexNet_Weights: type[Weights] = enumeration("AlexNet", "alexnet-owt-7be5be79.pth")
MobileNet_V2_Weights: type[Weights] = enumeration(
    "MobileNet_V2", "mobilenet_v2-b0353104.pth", "mobilenet_v2-7ebf99e0.pth"
)


class AlexNet(nn.Module):
    """Five convolutions, three poolings, three linear layers.

    Args:
        num_classes: Size of the output.
        dropout: With this probability before linear layers, in training.

    Example:
        >>> from ebb.vision import models
        >>> models.AlexNet(num_classes=2).features(ebb.zeros(1, 3, 64, 64)).shape
        ebb.Size([1, 256, 1, 1])
    """

    def __init__(self, num_classes: int = 1000, dropout: float = 0.5):
        super().__init__()
        self.features: nn.Sequential = nn.Sequential(
            *(nn.Conv2d(3, 64, 11, 4, padding=2), nn.ReLU(True), nn.MaxPool2d(3, 2)),
            *(nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(True), nn.MaxPool2d(3, 2)),
            *(nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(True)),
            *(nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(True)),
            *(nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(True), nn.MaxPool2d(3, 2)),
        )
        self.avgpool: nn.AdaptiveAvgPool2d = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier: nn.Sequential = nn.Sequential(
            *(nn.Dropout(dropout), nn.Linear(256 * 6 * 6, 4096), nn.ReLU(True)),
            *(nn.Dropout(dropout), nn.Linear(4096, 4096), nn.ReLU(True)),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return [N, num_classes] of images [N, 3, H, W] of at least 63 by 63."""
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def _unit(inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU6(inplace=True),
    )


class _Inverted(nn.Module):
    """A shortcut around convolutions that are wide inside and one channel deep."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int):
        super().__init__()
        hidden = inputs * expansion
        layers = [_unit(inputs, hidden, 1)] if expansion != 1 else []
        layers.append(_unit(hidden, hidden, 3, stride, groups=hidden))
        self.conv = nn.Sequential(
            *layers, nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
        )
        self.use_res_connect = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


# Expansion, channels, blocks, stride of the first block, for each stage.
_STAGES = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
    (6, 320, 1, 1),
)  # fmt: skip


def _eighths(channels: float) -> int:
    """Return a multiple of 8 that is near, and not more than a tenth below."""
    near = max(8, int(channels + 4) // 8 * 8)
    return near + 8 if near < 0.9 * channels else near


class MobileNetV2(nn.Module):
    """Inverted residual blocks, for small machines.

    Args:
        num_classes: Size of the output.
        width_mult: Times as many channels.
        dropout: With this probability before the linear layer, in training.

    Example:
        >>> from ebb.vision import models
        >>> models.MobileNetV2(num_classes=2, width_mult=0.25)(ebb.zeros(2, 3, 32, 32)).shape
        ebb.Size([2, 2])
    """

    def __init__(self, num_classes: int = 1000, width_mult: float = 1.0, dropout: float = 0.2):
        super().__init__()
        inputs = _eighths(32 * width_mult)
        self.last_channel: int = _eighths(1280 * max(1.0, width_mult))
        layers: list[nn.Module] = [_unit(3, inputs, 3, 2)]
        for expansion, channels, count, first in _STAGES:
            outputs = _eighths(channels * width_mult)
            for block in range(count):
                layers.append(_Inverted(inputs, outputs, first if block == 0 else 1, expansion))
                inputs = outputs
        self.features: nn.Sequential = nn.Sequential(*layers, _unit(inputs, self.last_channel, 1))
        self.classifier: nn.Sequential = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(self.last_channel, num_classes)
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return [N, num_classes] of images [N, 3, H, W]."""
        return self.classifier(self.features(x).mean([2, 3]))


def alexnet(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> AlexNet:
    """Return ``AlexNet``: 61.1 million parameters; options are as of ``resnet18``.

    >>> ebb.vision.models.alexnet(num_classes=2)(ebb.zeros(1, 3, 64, 64)).shape
    ebb.Size([1, 2])
    """
    del progress
    weights = kwargs.pop("pretrained", weights)
    return filled(lambda: AlexNet(**kwargs), weights, AlexNet_Weights)


def mobilenet_v2(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> MobileNetV2:
    """Return ``MobileNetV2``: 3.5 million parameters; options are as of ``resnet18``.

    >>> ebb.vision.models.mobilenet_v2(num_classes=2).eval()(ebb.zeros(1, 3, 32, 32)).shape
    ebb.Size([1, 2])
    """
    del progress
    weights = kwargs.pop("pretrained", weights)
    return filled(lambda: MobileNetV2(**kwargs), weights, MobileNet_V2_Weights)
