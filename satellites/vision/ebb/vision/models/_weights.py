# satellites/vision/ebb/vision/models/_weights.py -- where the parameters of a network come from: a
# file.
"""``Weights``, the base of enumerations of such files; ``enumeration`` and ``network``."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from ebb import _C, hub, nn
from ebb._C import Tensor

Made_co = TypeVar("Made_co", bound=nn.Module, covariant=True)


class Network(Protocol[Made_co]):
    """What makes a network of a size that has a name."""

    def __call__(self, *, weights: Any = ..., progress: bool = ..., **kwargs: Any) -> Made_co: ...


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


def network(
    name: str,
    make: Callable[..., Made_co],
    known: type[Weights],
    parameters: int,
    text: str,
    beside_weights: dict[str, Any] | None = None,
) -> Network[Made_co]:
    """Return the function of that name.

    Args:
        make: Takes the options of the network's class.
        known: Its files.
        parameters: How many it has, of which the example tells.
        text: What its help calls it.
        beside_weights: Options where weights are asked for.
    """

    def function(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> Made_co:
        del progress
        weights = kwargs.pop("pretrained", weights)
        options = {**(beside_weights or {} if weights else {}), **kwargs}
        return filled(lambda: make(**options), weights, known)

    function.__name__ = function.__qualname__ = name
    function.__module__ = known.__module__
    cls = getattr(make, "func", make)  # a class, or a function that says what it returns
    function.__annotations__["return"] = cls.__annotations__.get("return", cls.__name__)
    function.__doc__ = f"""Return {text}: {parameters / 1e6:.1f} million parameters.

    Args:
        weights: Of ``{known.__name__}``, or the name of one; random if None.
        progress: Nothing: there is no download.
        kwargs: Of the class; or ``pretrained``, the older spelling of weights.
    Raises:
        NotImplementedError: If weights are asked for and their file is not on this machine.
    Example:
        >>> with ebb.nn.init.filling_nothing():  # which makes it at once
        ...     model = ebb.vision.models.{name}()
        >>> sum(one.numel() for one in model.parameters())
        {parameters}
    """
    return function
