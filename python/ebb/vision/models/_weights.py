# python/ebb/vision/models/_weights.py -- where the parameters of a network come from: a file.
"""``Weights``, the base of enumerations of such files; ``enumeration`` and ``filled``."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from ebb import _C, hub, nn
from ebb._C import Tensor


class Weights(enum.Enum):
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


def filled(
    make: Callable[[], nn.Module], weights: Weights | str | bool | None, known: type[Weights]
) -> Any:
    """Return what ``make`` makes, with the parameters that were asked for.

    Nothing is made if there are none: a network of 133 million takes a second and more.
    """
    if weights in (None, False):
        return make()
    if isinstance(weights, str):
        if weights not in known.__members__:
            names = ", ".join(known.__members__)
            raise _C.ValueError(f"weights must be one of {names}, got {weights!r}")
        weights = known[weights]
    chosen = known["IMAGENET1K_V1"] if weights is True else weights
    if not isinstance(chosen, known):
        raise _C.DTypeError(f"weights must be of {known.__name__} or None, got {chosen!r}")
    state = chosen.get_state_dict()
    model = make()
    model.load_state_dict(state)
    return model


def enumeration(network: str, *files: str) -> type[Weights]:
    """Return the enumeration of a network's files, from the oldest to the one to take.

    Args:
        network: Its name in torchvision, as "ResNet18".
        *files: Names of files.
    """
    members = {f"IMAGENET1K_V{number}": file for number, file in enumerate(files, 1)}
    made: Any = Weights(
        f"{network}_Weights", {**members, "DEFAULT": files[-1]}, module="ebb.vision.models"
    )
    made.__doc__ = (
        f"Files for ``{network.lower()}``.\n\nExample:\n"
        f"    >>> ebb.vision.models.{network}_Weights.DEFAULT.value\n    {files[-1]!r}\n"
    )
    return made
