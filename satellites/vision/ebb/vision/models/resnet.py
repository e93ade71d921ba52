# satellites/vision/ebb/vision/models/resnet.py -- residual networks: blocks around a shortcut.
"""``ResNet``, its blocks, and the sizes that have names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ebb import _C, nn
from ebb._C import Tensor
from ebb.vision.models._weights import Network, Weights, enumeration, network

__all__ = [
    "BasicBlock", "Bottleneck", "ResNeXt50_32X4D_Weights", "ResNet", "ResNet101_Weights",
    "ResNet152_Weights", "ResNet18_Weights", "ResNet34_Weights", "ResNet50_Weights",
    "Wide_ResNet50_2_Weights", "resnet18", "resnet34", "resnet50", "resnet101", "resnet152",
    "resnext50_32x4d", "wide_resnet50_2",
]  # fmt: skip

ResNet18_Weights: type[Weights] = enumeration("ResNet18", "resnet18-f37072fd.pth")
ResNet34_Weights: type[Weights] = enumeration("ResNet34", "resnet34-b627a593.pth")
ResNet50_Weights: type[Weights] = enumeration(
    "ResNet50", "resnet50-0676ba61.pth", "resnet50-11ad3fa6.pth"
)
ResNet101_Weights: type[Weights] = enumeration(
    "ResNet101", "resnet101-63fe2227.pth", "resnet101-cd907fc2.pth"
)
ResNet152_Weights: type[Weights] = enumeration(
    "ResNet152", "resnet152-394f9c45.pth", "resnet152-f82ba261.pth"
)
ResNeXt50_32X4D_Weights: type[Weights] = enumeration(
    "ResNeXt50_32X4D", "resnext50_32x4d-7cdf4587.pth"
)
Wide_ResNet50_2_Weights: type[Weights] = enumeration(
    "Wide_ResNet50_2", "wide_resnet50_2-95faca4d.pth"
)


def _conv(inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1) -> nn.Conv2d:
    """A convolution that keeps height and width but for its stride; a norm follows."""
    return nn.Conv2d(
        inputs, outputs, size, stride, padding=size // 2, groups=groups, bias=False
    )  # fmt: skip


class BasicBlock(nn.Module):
    """Two convolutions and a shortcut.

    Args:
        inplanes: Channels of the input.
        planes: Channels of the output.
        stride: Of the first convolution.
        downsample: What the shortcut passes through; nothing if None.

    Example:
        >>> from ebb.vision import models
        >>> models.BasicBlock(4, 4)(ebb.ones(2, 4, 8, 8)).shape
        ebb.Size([2, 4, 8, 8])
    """

    expansion = 1

    def __init__(
        self, inplanes: int, planes: int, stride: int = 1, downsample: nn.Module | None = None
    ):
        super().__init__()
        self.conv1: nn.Conv2d = _conv(inplanes, planes, 3, stride)
        self.bn1: nn.BatchNorm2d = nn.BatchNorm2d(planes)
        self.relu: nn.ReLU = nn.ReLU(inplace=True)
        self.conv2: nn.Conv2d = _conv(planes, planes, 3)
        self.bn2: nn.BatchNorm2d = nn.BatchNorm2d(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        """Return [N, planes, H / stride, W / stride]."""
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class Bottleneck(nn.Module):
    """Three convolutions, the middle one of few channels, and a shortcut.

    Args:
        inplanes: Channels of the input.
        planes: Channels in the middle; the output has four times as many.
        stride: Of the middle convolution.
        downsample: What the shortcut passes through; nothing if None.
        groups: Of the middle convolution.
        base_width: Channels of a group for each 64 of ``planes``.

    Example:
        >>> from ebb.vision import models
        >>> models.Bottleneck(16, 4)(ebb.ones(2, 16, 8, 8)).shape
        ebb.Size([2, 16, 8, 8])
    """

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
    ):
        super().__init__()
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1: nn.Conv2d = _conv(inplanes, width, 1)
        self.bn1: nn.BatchNorm2d = nn.BatchNorm2d(width)
        self.conv2: nn.Conv2d = _conv(width, width, 3, stride, groups)
        self.bn2: nn.BatchNorm2d = nn.BatchNorm2d(width)
        self.conv3: nn.Conv2d = _conv(width, planes * self.expansion, 1)
        self.bn3: nn.BatchNorm2d = nn.BatchNorm2d(planes * self.expansion)
        self.relu: nn.ReLU = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        """Return [N, 4 planes, H / stride, W / stride]."""
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    """Four stages of blocks, each of twice the channels of the one before.

    Args:
        block: ``BasicBlock`` or ``Bottleneck``.
        layers: How many blocks each stage has.
        num_classes: Size of the output.
        zero_init_residual: Whether each block starts as its shortcut.
        groups: Of the middle convolutions of ``Bottleneck``.
        width_per_group: Channels of such a group in the first stage.

    Example:
        >>> from ebb.vision import models
        >>> model = models.ResNet(models.BasicBlock, [1, 1, 1, 1], num_classes=10)
        >>> model(ebb.zeros(2, 3, 32, 32)).shape
        ebb.Size([2, 10])
    """

    def __init__(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        layers: Sequence[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
    ):
        super().__init__()
        if len(layers) != 4:
            raise _C.ValueError(f"ResNet: layers needs four counts, got {list(layers)}")
        if block is BasicBlock and (groups != 1 or width_per_group != 64):
            raise _C.ValueError("ResNet: groups and width_per_group are of Bottleneck")
        self._options = {} if block is BasicBlock else {
            "groups": groups, "base_width": width_per_group}  # fmt: skip
        self.inplanes: int = 64
        self.conv1: nn.Conv2d = nn.Conv2d(3, 64, 7, 2, padding=3, bias=False)
        self.bn1: nn.BatchNorm2d = nn.BatchNorm2d(64)
        self.relu: nn.ReLU = nn.ReLU(inplace=True)
        self.maxpool: nn.MaxPool2d = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1: nn.Sequential = self._stage(block, 64, layers[0], 1)
        self.layer2: nn.Sequential = self._stage(block, 128, layers[1], 2)
        self.layer3: nn.Sequential = self._stage(block, 256, layers[2], 2)
        self.layer4: nn.Sequential = self._stage(block, 512, layers[3], 2)
        self.avgpool: nn.AdaptiveAvgPool2d = nn.AdaptiveAvgPool2d((1, 1))
        self.fc: nn.Linear = nn.Linear(512 * block.expansion, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif zero_init_residual and isinstance(module, (BasicBlock, Bottleneck)):
                last = module.bn3 if isinstance(module, Bottleneck) else module.bn2
                nn.init.zeros_(last.weight)

    def _stage(
        self, block: type[BasicBlock] | type[Bottleneck], planes: int, count: int, stride: int
    ) -> nn.Sequential:
        outputs, downsample = planes * block.expansion, None
        if stride != 1 or self.inplanes != outputs:
            shortcut = _conv(self.inplanes, outputs, 1, stride)
            downsample = nn.Sequential(shortcut, nn.BatchNorm2d(outputs))
        blocks = [block(self.inplanes, planes, stride, downsample, **self._options)]
        self.inplanes = outputs
        blocks += [block(outputs, planes, **self._options) for _ in range(count - 1)]
        return nn.Sequential(*blocks)

    def forward(self, x: Tensor) -> Tensor:
        """Return [N, num_classes] of images [N, 3, H, W]."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


resnet18: Network[ResNet] = network(
    "resnet18",
    partial(ResNet, BasicBlock, (2, 2, 2, 2)),
    ResNet18_Weights,
    11_689_512,
    "the ``ResNet`` of 18 layers",
)
resnet34: Network[ResNet] = network(
    "resnet34",
    partial(ResNet, BasicBlock, (3, 4, 6, 3)),
    ResNet34_Weights,
    21_797_672,
    "the ``ResNet`` of 34 layers",
)
resnet50: Network[ResNet] = network(
    "resnet50",
    partial(ResNet, Bottleneck, (3, 4, 6, 3)),
    ResNet50_Weights,
    25_557_032,
    "the ``ResNet`` of 50 layers",
)
resnet101: Network[ResNet] = network(
    "resnet101",
    partial(ResNet, Bottleneck, (3, 4, 23, 3)),
    ResNet101_Weights,
    44_549_160,
    "the ``ResNet`` of 101 layers",
)
resnet152: Network[ResNet] = network(
    "resnet152",
    partial(ResNet, Bottleneck, (3, 8, 36, 3)),
    ResNet152_Weights,
    60_192_808,
    "the ``ResNet`` of 152 layers",
)
resnext50_32x4d: Network[ResNet] = network(
    "resnext50_32x4d",
    partial(ResNet, Bottleneck, (3, 4, 6, 3), groups=32, width_per_group=4),
    ResNeXt50_32X4D_Weights,
    25_028_904,
    "the ``ResNet`` in 32 groups",
)
wide_resnet50_2: Network[ResNet] = network(
    "wide_resnet50_2",
    partial(ResNet, Bottleneck, (3, 4, 6, 3), width_per_group=128),
    Wide_ResNet50_2_Weights,
    68_883_240,
    "the ``ResNet`` twice as wide",
)
