# python/ebb/vision/models.py -- well-known networks for images: ResNet and VGG.
#
# Parts have torchvision's names, so that its files of parameters fit. Nothing is downloaded:
# weights come from a file that lies where torch.hub would put it. Start reading at ResNet.
"""``resnet18`` and others: networks of images [N, 3, H, W], under torchvision's names."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from ebb import _C, hub, nn
from ebb._base import naming as _naming
from ebb._C import Tensor

__all__ = [
    "VGG",
    "BasicBlock",
    "Bottleneck",
    "ResNet",
    "ResNet18_Weights",
    "ResNet34_Weights",
    "ResNet50_Weights",
    "VGG16_Weights",
    "VGG19_Weights",
    "resnet18",
    "resnet34",
    "resnet50",
    "vgg16",
    "vgg19",
]


class _Weights(enum.Enum):
    """Which file of parameters; it is looked for in ``hub.get_dir()/checkpoints``."""

    @property
    def url(self) -> str:
        """Where torchvision has it; only the name counts here."""
        return f"https://download.pytorch.org/models/{self.value}"

    def get_state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Tensor]:
        """Return the parameters.

        Raises:
            NotImplementedError: If the file is not there.
        """
        del args, kwargs
        return hub.load_state_dict_from_url(self.url)


class ResNet18_Weights(_Weights):  # noqa: N801 -- torchvision's names
    """Files for ``resnet18``."""

    IMAGENET1K_V1 = "resnet18-f37072fd.pth"
    DEFAULT = IMAGENET1K_V1


class ResNet34_Weights(_Weights):  # noqa: N801
    """Files for ``resnet34``."""

    IMAGENET1K_V1 = "resnet34-b627a593.pth"
    DEFAULT = IMAGENET1K_V1


class ResNet50_Weights(_Weights):  # noqa: N801
    """Files for ``resnet50``."""

    IMAGENET1K_V1 = "resnet50-0676ba61.pth"
    IMAGENET1K_V2 = "resnet50-11ad3fa6.pth"
    DEFAULT = IMAGENET1K_V2


class VGG16_Weights(_Weights):  # noqa: N801
    """Files for ``vgg16``."""

    IMAGENET1K_V1 = "vgg16-397923af.pth"
    DEFAULT = IMAGENET1K_V1


class VGG19_Weights(_Weights):  # noqa: N801
    """Files for ``vgg19``."""

    IMAGENET1K_V1 = "vgg19-dcbb9e9d.pth"
    DEFAULT = IMAGENET1K_V1


def _conv(inputs: int, outputs: int, size: int, stride: int = 1) -> nn.Conv2d:
    """A convolution that keeps height and width but for its stride; a norm follows."""
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)


class BasicBlock(nn.Module):
    """Two convolutions and a shortcut.

    Args:
        inplanes: Channels of the input.
        planes: Channels of the output.
        stride: Of the first convolution.
        downsample: What the shortcut passes through; nothing if None.
    """

    expansion = 1

    def __init__(
        self, inplanes: int, planes: int, stride: int = 1, downsample: nn.Module | None = None
    ):
        super().__init__()
        self.conv1 = _conv(inplanes, planes, 3, stride)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = _conv(planes, planes, 3)
        self.bn2 = nn.BatchNorm2d(planes)
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
    """

    expansion = 4

    def __init__(
        self, inplanes: int, planes: int, stride: int = 1, downsample: nn.Module | None = None
    ):
        super().__init__()
        self.conv1 = _conv(inplanes, planes, 1)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = _conv(planes, planes, 3, stride)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3 = _conv(planes, planes * self.expansion, 1)
        self.bn3 = nn.BatchNorm2d(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
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
    """

    def __init__(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        layers: Sequence[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
    ):
        super().__init__()
        if len(layers) != 4:
            raise _C.ValueError(f"ResNet: layers needs four counts, got {list(layers)}")
        self.inplanes = 64
        self.conv1 = nn.Conv2d(3, 64, 7, 2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self._stage(block, 64, layers[0], 1)
        self.layer2 = self._stage(block, 128, layers[1], 2)
        self.layer3 = self._stage(block, 256, layers[2], 2)
        self.layer4 = self._stage(block, 512, layers[3], 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
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
        blocks = [block(self.inplanes, planes, stride, downsample)]
        self.inplanes = outputs
        blocks += [block(outputs, planes) for _ in range(count - 1)]
        return nn.Sequential(*blocks)

    def forward(self, x: Tensor) -> Tensor:
        """Return [N, num_classes] of images [N, 3, H, W]."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


class VGG(nn.Module):
    """Convolutions of 3 by 3 with poolings between, then three linear layers.

    Args:
        features: What makes [N, 512, h, w] of images.
        num_classes: Size of the output.
        init_weights: Whether to start from the weights that this network is known for.
        dropout: With this probability between linear layers, in training.
    """

    def __init__(
        self,
        features: nn.Module,
        num_classes: int = 1000,
        init_weights: bool = True,
        dropout: float = 0.5,
    ):
        super().__init__()
        if not isinstance(features, nn.Module):
            raise _C.DTypeError(f"VGG: features must be a Module, got {type(features).__name__}")
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            *(nn.Linear(512 * 7 * 7, 4096), nn.ReLU(True), nn.Dropout(dropout)),
            *(nn.Linear(4096, 4096), nn.ReLU(True), nn.Dropout(dropout)),
            nn.Linear(4096, num_classes),
        )
        for module in self.modules() if init_weights else ():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return [N, num_classes] of images [N, 3, H, W]."""
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def _vgg_features(convolutions: Sequence[int]) -> nn.Sequential:
    """Stages of as many convolutions, each stage of twice the channels up to 512, and a pooling."""
    layers: list[nn.Module] = []
    inputs = 3
    for count, outputs in zip(convolutions, (64, 128, 256, 512, 512), strict=True):
        for _ in range(count):
            layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(inplace=True)]
            inputs = outputs
        layers.append(nn.MaxPool2d(2, stride=2))
    return nn.Sequential(*layers)


def _filled(model: nn.Module, weights: _Weights | str | bool | None, known: type[_Weights]) -> Any:
    """Return a model with the parameters that were asked for."""
    if weights in (None, False):
        return model
    if isinstance(weights, str):
        if weights not in known.__members__:
            names = ", ".join(known.__members__)
            raise _C.ValueError(f"weights must be one of {names}, got {weights!r}")
        weights = known[weights]
    chosen = known["IMAGENET1K_V1"] if weights is True else weights
    if not isinstance(chosen, known):
        raise _C.DTypeError(f"weights must be of {known.__name__} or None, got {chosen!r}")
    model.load_state_dict(chosen.get_state_dict())
    return model


def _resnet(
    block: type[BasicBlock] | type[Bottleneck],
    layers: Sequence[int],
    weights: Any,
    known: type[_Weights],
    options: dict[str, Any],
) -> ResNet:
    weights = options.pop("pretrained", weights)
    return _filled(ResNet(block, layers, **options), weights, known)


def _vgg(
    convolutions: Sequence[int], weights: Any, known: type[_Weights], options: dict[str, Any]
) -> VGG:
    weights = options.pop("pretrained", weights)
    if weights:
        options.setdefault("init_weights", False)
    return _filled(VGG(_vgg_features(convolutions), **options), weights, known)


def resnet18(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """Return the ``ResNet`` of 18 layers: 11.7 million parameters.

    Args:
        weights: Of ``ResNet18_Weights``, or the name of one; random if None.
        progress: Nothing: there is no download.
        kwargs: Of ``ResNet``; or ``pretrained``, the older spelling of weights.
    Raises:
        NotImplementedError: If weights are asked for and their file is not on this machine.
    Example:
        >>> model = ebb.vision.models.resnet18(num_classes=10)
        >>> model(ebb.zeros(2, 3, 32, 32)).shape
        ebb.Size([2, 10])
    """
    del progress
    return _resnet(BasicBlock, (2, 2, 2, 2), weights, ResNet18_Weights, kwargs)


def resnet34(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """Return the ``ResNet`` of 34 layers: 21.8 million parameters; see ``resnet18``."""
    del progress
    return _resnet(BasicBlock, (3, 4, 6, 3), weights, ResNet34_Weights, kwargs)


def resnet50(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """Return the ``ResNet`` of 50 layers: 25.6 million parameters; see ``resnet18``."""
    del progress
    return _resnet(Bottleneck, (3, 4, 6, 3), weights, ResNet50_Weights, kwargs)


def vgg16(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> VGG:
    """Return the ``VGG`` of 16 layers: 138 million parameters; options are as of ``resnet18``."""
    del progress
    return _vgg((2, 2, 3, 3, 3), weights, VGG16_Weights, kwargs)


def vgg19(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> VGG:
    """Return the ``VGG`` of 19 layers: 144 million parameters; options are as of ``resnet18``."""
    del progress
    return _vgg((2, 2, 4, 4, 4), weights, VGG19_Weights, kwargs)


_naming.name_module(__name__)
