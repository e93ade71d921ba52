# satellites/vision/ebb/vision/models/vgg.py -- plain networks of 3 by 3 convolutions.
"""``VGG`` and the sizes that have names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ebb import _C, nn
from ebb._C import Tensor
from ebb.vision.models._weights import Network, Weights, enumeration, network

__all__ = [
    "VGG", "VGG11_BN_Weights", "VGG11_Weights", "VGG13_BN_Weights", "VGG13_Weights",
    "VGG16_BN_Weights", "VGG16_Weights", "VGG19_BN_Weights", "VGG19_Weights", "vgg11",
    "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn",
]  # fmt: skip

VGG11_Weights: type[Weights] = enumeration("VGG11", "vgg11-8a719046.pth")
VGG11_BN_Weights: type[Weights] = enumeration("VGG11_BN", "vgg11_bn-6002323d.pth")
VGG13_Weights: type[Weights] = enumeration("VGG13", "vgg13-19584684.pth")
VGG13_BN_Weights: type[Weights] = enumeration("VGG13_BN", "vgg13_bn-abd245e5.pth")
VGG16_Weights: type[Weights] = enumeration("VGG16", "vgg16-397923af.pth")
VGG16_BN_Weights: type[Weights] = enumeration("VGG16_BN", "vgg16_bn-6c64b313.pth")
VGG19_Weights: type[Weights] = enumeration("VGG19", "vgg19-dcbb9e9d.pth")
VGG19_BN_Weights: type[Weights] = enumeration("VGG19_BN", "vgg19_bn-c79401a0.pth")


class VGG(nn.Module):
    """Convolutions of 3 by 3 with poolings between, then three linear layers.

    Args:
        features: What makes [N, 512, h, w] of images.
        num_classes: Size of the output.
        init_weights: Whether to start from the weights that this network is known for.
        dropout: With this probability between linear layers, in training.

    Example:
        >>> from ebb.vision import models
        >>> features = ebb.nn.Conv2d(3, 512, 3, stride=4)
        >>> with ebb.nn.init.filling_nothing():  # which makes it at once
        ...     model = models.VGG(features, num_classes=2)
        >>> model(ebb.zeros(1, 3, 32, 32)).shape
        ebb.Size([1, 2])
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
        self.avgpool: nn.AdaptiveAvgPool2d = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier: nn.Sequential = nn.Sequential(
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


def make_layers(cfg: Sequence[int | str], batch_norm: bool = False) -> nn.Sequential:
    """Return convolutions of 3 by 3 with as many channels as ``cfg`` says, and a pooling where "M".

    >>> from ebb.vision.models.vgg import make_layers
    >>> make_layers([4, "M"])(ebb.zeros(1, 3, 8, 8)).shape
    ebb.Size([1, 4, 4, 4])
    """
    layers: list[nn.Module] = []
    inputs = 3
    for outputs in cfg:
        if outputs == "M":
            layers.append(nn.MaxPool2d(2, stride=2))
            continue
        layers.append(nn.Conv2d(inputs, int(outputs), 3, padding=1))
        layers += [nn.BatchNorm2d(int(outputs))] if batch_norm else []
        layers.append(nn.ReLU(inplace=True))
        inputs = int(outputs)
    return nn.Sequential(*layers)


def _stages(convolutions: Sequence[int]) -> list[int | str]:
    """Stages of as many convolutions, each stage of twice the channels up to 512, and a pooling."""
    made: list[int | str] = []
    for count, outputs in zip(convolutions, (64, 128, 256, 512, 512), strict=True):
        made += [*[outputs] * count, "M"]
    return made


def _vgg(name: str, convolutions: Sequence[int], parameters: int, text: str) -> Network[VGG]:
    def make(**options: Any) -> VGG:
        return VGG(make_layers(_stages(convolutions), name.endswith("_bn")), **options)

    known = globals()[f"{name.upper()}_Weights"]
    return network(name, make, known, parameters, text, {"init_weights": False})


vgg11: Network[VGG] = _vgg("vgg11", (1, 1, 2, 2, 2), 132_863_336, "the ``VGG`` of 11 layers")
vgg11_bn: Network[VGG] = _vgg("vgg11_bn", (1, 1, 2, 2, 2), 132_868_840, "``vgg11`` with norms")
vgg13: Network[VGG] = _vgg("vgg13", (2, 2, 2, 2, 2), 133_047_848, "the ``VGG`` of 13 layers")
vgg13_bn: Network[VGG] = _vgg("vgg13_bn", (2, 2, 2, 2, 2), 133_053_736, "``vgg13`` with norms")
vgg16: Network[VGG] = _vgg("vgg16", (2, 2, 3, 3, 3), 138_357_544, "the ``VGG`` of 16 layers")
vgg16_bn: Network[VGG] = _vgg("vgg16_bn", (2, 2, 3, 3, 3), 138_365_992, "``vgg16`` with norms")
vgg19: Network[VGG] = _vgg("vgg19", (2, 2, 4, 4, 4), 143_667_240, "the ``VGG`` of 19 layers")
vgg19_bn: Network[VGG] = _vgg("vgg19_bn", (2, 2, 4, 4, 4), 143_678_248, "``vgg19`` with norms")
