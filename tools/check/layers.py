# tools/check/layers.py -- includes point down the layers and their rooms, and never in a circle.
"""core <- kernels <- ops <- autograd <- everything else in ebb/ <- python.

A file in ebb/<folder>/ may include headers of its own folder, and those of the folders whose
libraries its CMakeLists.txt lists as DEPS of ebb_library(). A folder of rooms orders them in ROOMS.
Python modules are ordered in MODULES. Within a room, files and modules need each other in no circle
(circles.py). Generated files, found in the build folder under the same names, obey the same rules.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tools.check.circles import (
    INCLUDE,
    circles,
    import_graph,
    include_graph,
    module_name,
)
from tools.check.repo import CPP_SUFFIXES, Problem

if TYPE_CHECKING:
    from pathlib import Path

    from tools.check.circles import Graph
    from tools.check.repo import Repo

HINT = (
    "move the code down a layer or a room, or list the dependency in the folder's CMakeLists.txt; "
    "let one of two files that need each other give the other what it needs, through an interface"
)
ORDER = ("core", "kernels", "ops", "autograd")
GENERATED = "build/release/generated"
# Rooms of a folder, each standing on those before it; "": the files beside the rooms. A room that
# is not named, as that of generated headers, is for all.
ROOMS = {
    "ebb/core": ("base", "runtime", "device", "tensor"),
    "ebb/kernels": ("", "cpu"),
    "ebb/kernels/cpu": ("simd", "pointwise", "reduce", "gemm", "linalg", "fft", "index", "network"),
    "ebb/autograd": (
        *("history", "hooks", "watch", "engine", "checkpoint", "forward", "custom"),
        *("rules", "composites"),
    ),
    "ebb/graph": ("layout", ""),
    "ebb/devices": ("launch", "common", "cuda", "opencl"),
    "ebb/devices/common": ("base", "reduce", "gemm", "pointwise", "index", "network", ""),
    "python/src": ("base", "calls", "autograd", "tensor", "parts", ""),
}
PACKAGES = ("python/ebb/", "satellites/", "codegen/", "tools/")
# Python modules and packages, each standing on those before it; the longest name counts with which
# a module's own begins.
MODULES = (
    *("ebb.errors", "ebb._base", "ebb._tensor.formats", "ebb.ops", "ebb.linalg", "ebb.overrides"),
    *("ebb._functions", "ebb._modes", "ebb._devices", "ebb._tensor"),
    *("ebb.flags", "ebb.info", "ebb.strings", "ebb.random", "ebb.io", "ebb.serialization"),
    *("ebb.autograd", "ebb.nn.functional", "ebb.nn", "ebb.data", "ebb.utils"),
    *("ebb.viz", "ebb.graphs", "ebb.profiler", "ebb.autograd.profiler"),
    *("ebb.optim", "ebb.amp", "ebb.cpu", "ebb.cuda", "ebb.precision"),
    *("ebb.distributions", "ebb.hub", "ebb.fft", "ebb.signal", "ebb.masked"),
    *("ebb.array_api", "ebb.func", "ebb._imports", "ebb.testing"),
    # Of satellites, which `ebb` names alone.
    *("ebb._beside", "ebb.vision", "ebb._no_device", "ebb.mps", "ebb.xpu", "ebb.onnx", "ebb.jit"),
    *("ebb.compiler", "ebb.distributed", "ebb.torch_compat"),
    *("ebb", "codegen", "satellites", "tools"),
)
_LIBRARY = re.compile(r"\bebb_library\(\s*(\w+)([^)]*)\)")
_KEYWORDS = ("SOURCES", "GENERATED", "DEPS", "PRIVATE_DEPS", "OPTIONS")


def check(repo: Repo) -> list[Problem]:
    allowed = listed_dependencies({name: repo.text(name) for name in repo.select("CMakeLists.txt")})
    texts = {name: repo.text(name) for name in repo.cpp_files}
    generated = generated_texts(repo.root / GENERATED)
    all_texts = {**texts, **generated}
    modules = {
        module_name(name): repo.text(name)
        for name in repo.select(".py")
        if name.startswith(PACKAGES) and "/tests/" not in name
    }
    imports = import_graph({**modules, **generated_modules(repo.root / GENERATED)})
    return [
        *(
            problem
            for name, text in all_texts.items()
            for problem in bad_includes(name, text, allowed)
        ),
        *bad_imports(imports),
        *bad_circles(include_graph(texts, generated)),
        *bad_circles(imports),
    ]


def generated_texts(root: Path) -> dict[str, str]:
    """Return the text of each generated C++ file, under the name that it is included by."""
    paths = sorted(root.rglob("*")) if root.exists() else []
    return {
        str(path.relative_to(root)): path.read_text()
        for path in paths
        if path.suffix in CPP_SUFFIXES
    }


def generated_modules(root: Path) -> dict[str, str]:
    """Return the text of each generated Python module, by its full name."""
    return {
        module_name(str(path.relative_to(root))): path.read_text()
        for path in sorted(root.glob("python/ebb/**/*.py"))
    }


def listed_dependencies(cmake_files: dict[str, str]) -> dict[str, set[str]]:
    """Return, for each folder of ebb/ that makes a library, the names of those it may include."""
    allowed: dict[str, set[str]] = {}
    for name, text in cmake_files.items():
        parts = name.split("/")
        if len(parts) < 3 or parts[0] != "ebb":
            continue
        for _, body in _LIBRARY.findall(re.sub(r"#.*", "", text)):
            words = allowed.setdefault(parts[1], set())
            keyword = ""
            for word in body.split():
                keyword = word if word in _KEYWORDS else keyword
                if keyword == "DEPS" and word.startswith("ebb::"):
                    words.add(word.removeprefix("ebb::"))
    return allowed


def bad_includes(name: str, text: str, allowed: dict[str, set[str]]) -> list[Problem]:
    """Return a problem per include of ``text`` that its layer does not permit."""
    problems = []
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        if match.group(1) == "<":
            problems.append(Problem(name, f'needs quotes: #include "{match.group(2)}"', line))
        reason = _refusal(name, match.group(2), allowed)
        if reason:
            problems.append(
                Problem(name, f"{name} may not include {match.group(2)}: {reason}", line)
            )
    return problems


def bad_imports(graph: Graph) -> list[Problem]:
    """Return a problem per import of a module that stands above the one that imports it."""
    return [
        Problem(module, f"{module} may not import {other}: {_room(other)} stands above {own}")
        for module, imported in sorted(graph.items())
        for other in sorted(imported)
        if MODULES.index(_room(other)) > MODULES.index(own := _room(module))
    ]


def bad_circles(graph: Graph) -> list[Problem]:
    """Return a problem per circle of files."""
    return [
        Problem(
            group[0],
            f"{len(group)} need each other: "
            + ", ".join(
                f"{node} needs {' and '.join(sorted(graph[node] & {*group}))}" for node in group
            ),
        )
        for group in circles(graph)
    ]


def _refusal(name: str, included: str, allowed: dict[str, set[str]]) -> str:
    if reason := _room_above(name, included):
        return reason
    if not name.startswith("ebb/"):
        return ""  # programs, tests and bindings stand above all layers
    if included.startswith("python/"):
        return "the bindings stand above the library"
    folder, target = _folder(name), _folder(included)
    if folder == "" or folder == target:
        return ""  # ebb/ebb.h gathers all; a folder may include itself
    if target == "":
        return "the header of headers is for users"
    if _rank(target) > _rank(folder):
        return f"{target} is the higher layer"
    if folder in allowed and target not in allowed[folder]:
        return f"ebb::{target} is not among the DEPS of ebb/{folder}/CMakeLists.txt"
    return ""


def _room_above(name: str, included: str) -> str:
    """Return why a file may not include one of another room of its folder; "" if it may."""
    for room, order in ROOMS.items():
        if not (name.startswith(room + "/") and included.startswith(room + "/")):
            continue
        paths = [path.removeprefix(room) for path in (name, included)]
        own, target = map(_folder, paths)
        is_up = {own, target} <= {*order} and order.index(target) > order.index(own)
        if is_up:
            return f"{target} stands above {own} in {room}"
    return ""


def _folder(name: str) -> str:
    parts = name.split("/")
    return parts[1] if len(parts) > 2 else ""


def _room(module: str) -> str:
    """Return the longest name in MODULES with which the module's own begins."""
    while module not in MODULES:
        module = module.rpartition(".")[0]
    return module


def _rank(folder: str) -> int:
    return ORDER.index(folder) if folder in ORDER else len(ORDER)
