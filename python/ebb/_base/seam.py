# python/ebb/_base/seam.py -- what rooms above this one, and distributions beside ebb, put in.
#
# A lower room asks a place by its name, and a higher one fills it when it is imported: neither
# imports the other. PLACES says what each place holds. A distribution that lays modules into the
# package (satellites/README.md) may lay one more into ebb/_beside/, which fills places: those run
# once, when a place that nobody has filled is first asked. Start reading at fill() and filled().
"""``fill``, ``filled`` and ``PLACES``; ``hide_data_writes``, a switch for other distributions."""

from __future__ import annotations

from typing import Any

from ebb import _C

PLACES = {
    "parameter": "the class of parameters, which files and other processes hand over by name",
    "spell_call": "(function, args) -> the same as a class expects it that takes part in functions "
    "by the second name of the protocol",
    "order_arguments": "(names of numbers, whether it is a method, args) -> (args, kwargs) of the "
    "same objects in today's order, or None: of a call that fits no signature",
}
_filled: dict[str, Any] = {}
_asked_others = False


def fill(place: str, value: Any) -> None:
    """Put something into a place; what was there goes."""
    if place not in PLACES:
        raise KeyError(f"seam: needs a place of PLACES, got {place!r}")
    _filled[place] = value


def filled(place: str) -> Any:
    """Return what is in a place, None for nothing."""
    if place not in _filled and not _asked_others:
        _ask_others()
    return _filled.get(place)


def hide_data_writes(is_on: bool) -> bool:
    """Let writes through ``x.data`` go unseen by what was saved of ``x``; return what was set."""
    return _C._hide_data_writes(is_on)


def _ask_others() -> None:
    """Run the modules of ebb/_beside/, which other distributions laid there."""
    global _asked_others
    _asked_others = True
    import importlib
    import pkgutil

    import ebb

    folders = [f"{folder}/_beside" for folder in ebb.__path__]
    for module in pkgutil.iter_modules(folders):
        importlib.import_module(f"ebb._beside.{module.name}")
