# python/ebb/_base/install.py -- where this ebb lies, for C++ programs.
"""``cmake_prefix_path``."""

from __future__ import annotations

import os

from ebb import errors


def cmake_prefix_path() -> str:
    """Return the folder for CMAKE_PREFIX_PATH: C++ programs then find this ebb.

    That of a wheel, or of the build folder that the package lies in.

    Raises:
        IoError: If there are no headers and no library beside the package.

    Example:
        >>> import os
        >>> os.path.isdir(ebb.cmake_prefix_path())
        True
    """
    package = os.path.dirname(os.path.dirname(__file__))
    build = os.path.dirname(os.path.dirname(package))
    for folder, config in ((package, "lib/cmake/ebb/ebbConfig.cmake"), (build, "ebbConfig.cmake")):
        if os.path.exists(os.path.join(folder, config)):
            return folder
    raise errors.IoError(
        f"cmake_prefix_path: needs ebbConfig.cmake in {build} or in lib/cmake/ebb below {package}, "
        "found none\nhint: install the wheel, or build with -DEBB_INSTALL=ON"
    )
