# python/ebb/hub.py -- ebb.hub: the names of torch.hub, for local files; nothing is downloaded.
"""``ebb.hub``: entry points of a local ``hubconf.py``, and files of parameters from a local folder.

>>> ebb.hub.set_dir("/data/hub")
>>> ebb.hub.get_dir()
'/data/hub'
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
import types
from collections.abc import Callable
from typing import Any
from urllib.parse import urlparse

from ebb import _C, io
from ebb._base import naming as _naming
from ebb.io.reading import opened

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

_HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # as PyTorch names files of weights
_chosen: str | None = None


def get_dir() -> str:
    """Return the folder of files, of ``set_dir``, or below ``$TORCH_HOME`` or ~/.cache/torch.

    Example:
        >>> ebb.hub.get_dir().endswith("hub")
        True
    """
    if _chosen is not None:
        return _chosen
    return os.path.join(_torch_home(), "hub")


def _torch_home() -> str:
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def set_dir(d: str | os.PathLike[str]) -> None:
    """Choose the folder of files.

    Example:
        >>> ebb.hub.set_dir("/data/hub")
        >>> ebb.hub.get_dir()
        '/data/hub'
    """
    global _chosen
    _chosen = os.path.expanduser(os.fspath(d))


def load(repo_or_dir: str, model: str, *args: Any, source: str = "github", **kwargs: Any) -> Any:
    """Return what an entry point of a folder's ``hubconf.py`` does: usually a module.

    Args:
        repo_or_dir: The folder.
        model: Name of the function in ``hubconf.py``.
        args: Passed on to it.
        source: "local"; any other is refused.
        kwargs: Passed on, but for ``trust_repo``, ``force_reload``, ``verbose`` and
            ``skip_validation``, which are about downloads.
    Raises:
        NotImplementedError: Unless ``source`` is "local".
    Example:
        >>> with open("hubconf.py", "w") as file:
        ...     print("from ebb.nn import Linear as linear", file=file)
        >>> ebb.hub.load(".", "linear", 3, 1, source="local")
        Linear(in_features=3, out_features=1, bias=True)
    """
    for name in ("trust_repo", "force_reload", "verbose", "skip_validation"):
        kwargs.pop(name, None)
    return _entry("load", repo_or_dir, model, source)(*args, **kwargs)


def list(github: str, *args: Any, source: str = "github", **kwargs: Any) -> Any:
    """Return the names of the entry points of a folder.

    Raises:
        NotImplementedError: Unless ``source`` is "local".

    Example:
        >>> with open("hubconf.py", "w") as file:
        ...     print("def linear(size): ...", file=file)
        >>> ebb.hub.list(".", source="local")
        ['linear']
    """
    del args, kwargs
    found = vars(_hubconf("list", github, source))
    return [name for name, one in found.items() if callable(one) and not name.startswith("_")]


def help(github: str, model: str, *args: Any, source: str = "github", **kwargs: Any) -> Any:
    """Return the docstring of an entry point of a folder.

    Raises:
        NotImplementedError: Unless ``source`` is "local".

    Example:
        >>> with open("hubconf.py", "w") as file:
        ...     print("def linear(size): 'A layer.'", file=file)
        >>> ebb.hub.help(".", "linear", source="local")
        'A layer.'
    """
    del args, kwargs
    return _entry("help", github, model, source).__doc__


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """Return what is in the file of that name, if it lies in the folder already.

    Args:
        url: Its last part is the file's name.
        model_dir: The folder; ``get_dir()`` and "checkpoints" if None.
        map_location: Passed on to ``ebb.load``.
        progress: Nothing: there is no download.
        check_hash: Compare the file with the beginning of its SHA-256 sum, if its name has that
            between "-" and ".".
        file_name: The name, if another.
        weights_only: Passed on to ``ebb.load``.
    Raises:
        NotImplementedError: If it is not there; it says where it should be.
        ValueError: If its sum is another.
    Example:
        >>> ebb.save({"weight": ebb.ones(2)}, "small.pt")
        >>> url = "https://example.org/files/small.pt"
        >>> ebb.hub.load_state_dict_from_url(url, model_dir=".")
        {'weight': tensor([1., 1.])}
    """
    del progress
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    path = os.path.join(folder, file_name or os.path.basename(urlparse(url).path))
    if not os.path.exists(path):
        raise _C.NotImplementedError(
            f"load_state_dict_from_url: nothing is downloaded, and {path} is not there\n"
            f"hint: put the file of {url} there"
        )
    found = _HASH_REGEX.search(os.path.basename(path)) if check_hash else None
    if found:
        _check_sum("load_state_dict_from_url", path, found[1])
    return io.load(path, map_location=map_location, weights_only=weights_only)


def _check_sum(call: str, path: str, wanted: str) -> None:
    total = hashlib.sha256()
    with opened(call, path) as file:
        while piece := file.read(1 << 20):
            total.update(piece)
    if not total.hexdigest().startswith(wanted):
        raise _C.ValueError(
            f"{call}: needs a file whose SHA-256 sum begins with {wanted}, got {path!r} with "
            f"{total.hexdigest()}"
        )


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Refuse, unless ``dst`` is there already.

    Args:
        url: Where it would come from.
        dst: The file.
        hash_prefix: How its SHA-256 sum must begin.
        progress: Nothing: there is no download.
    Raises:
        NotImplementedError: If it is not.
        ValueError: If its sum is another.

    Example:
        >>> ebb.save({"weight": ebb.ones(2)}, "small.pt")
        >>> ebb.hub.download_url_to_file("https://example.org/files/small.pt", "small.pt")
    """
    del progress
    if not os.path.exists(dst):
        raise _C.NotImplementedError(
            f"download_url_to_file: nothing is downloaded\nhint: put the file of {url} at {dst}"
        )
    if hash_prefix:
        _check_sum("download_url_to_file", dst, hash_prefix)


def _hubconf(call: str, folder: str, source: str) -> types.ModuleType:
    """Run a folder's ``hubconf.py``, which finds what lies beside it."""
    if source != "local":
        raise _C.NotImplementedError(
            f"hub.{call}: nothing is downloaded, got source={source!r} for {folder!r}\n"
            "hint: clone it, then pass the folder and source='local'"
        )
    path = os.path.join(folder, "hubconf.py")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    if spec is None or spec.loader is None or not os.path.exists(path):
        raise _C.ValueError(f"hub.{call}: needs a folder with a hubconf.py, got {folder!r}")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    return module


def _entry(call: str, folder: str, model: str, source: str) -> Callable[..., Any]:
    found = getattr(_hubconf(call, folder, source), model, None)
    if not callable(found):
        raise _C.ValueError(f"hub.{call}: {folder}/hubconf.py has no function {model!r}")
    return found


_naming.name_module(__name__)
