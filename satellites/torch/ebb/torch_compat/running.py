# satellites/torch/ebb/torch_compat/running.py -- runs a script as Python would, with `import torch`
# served.
#
# A process that multiprocessing spawns imports the main module anew, before anything else of the
# program. It is told that the main module is this one, whose package installs the finder first;
# which script it stands for is in the environment.
"""``run_script()``; and what a process that such a script spawned runs in its place."""

from __future__ import annotations

import importlib.machinery
import io
import os
import runpy
import sys
import types

_VARIABLE = "_EBB_TORCH_COMPAT_SCRIPT"


def run_script(script: str, arguments: list[str]) -> None:
    """Run a file as ``__main__``; it may end the process."""
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    main = types.ModuleType("__main__")
    main.__file__ = script
    os.environ[_VARIABLE] = os.path.abspath(script)
    main.__spec__ = importlib.machinery.ModuleSpec("ebb.torch_compat.running", None)
    sys.modules["__main__"] = main
    with io.open_code(script) as file:
        code = compile(file.read(), script, "exec")
    exec(code, vars(main))


if __name__ == "__mp_main__":  # in a spawned process
    globals().update(runpy.run_path(os.environ[_VARIABLE], run_name="__mp_main__"))
