# tools/check/circles.py -- which files need each other: graphs of includes and imports.
"""A file that needs another which needs it back can be neither read nor tested alone.

Nodes are what is read as one: ``x.h``, ``x.cpp`` and ``x-inl.h`` in C++, a module in Python. An
import in a function counts, since it is where circles hide, and so do a name such as
``ebb.errors.ShapeError`` after ``import ebb``, a module's name as text in a call that imports
(``importlib.import_module("ebb.nn")``) and an import under ``TYPE_CHECKING``: who reads annotations
must know what they name. Modules of a package may name each other as text: it shows some once they
are asked for, and stands on none of those.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

Graph = dict[str, set[str]]
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])((?:ebb|python)/[^">]+)[">]', re.M)
_PART = re.compile(r"(-inl)?\.(h|cpp)$")
# Where the package's modules lie: its own, and those that satellites lay into it.
_PLACE = re.compile(r"^(python|satellites/\w+)/(?=ebb/)")
# Modules import `ebb` for public names that they look up when they are called.
_GATHERS_ALL = "ebb"
# What imports a module by its name as text, at once or when it is first used.
_IMPORTERS = ("import_module", "__import__", "find_spec", "LazyPackage", "_LazyPackage")


def include_graph(texts: dict[str, str], generated: dict[str, str]) -> Graph:
    """Return what each stem includes, given the text of each C++ file.

    Generated headers of ops only declare, and any file may need an op; their sources are made of
    all that ops are. That a gradient is made of ops again is no circle of files, so such a source
    is a node of its own.
    """
    nodes = {name: _PART.sub("", name) for name in (*texts, *generated)}
    nodes |= {name: name for name in generated if name.endswith(".cpp")}
    graph: Graph = {node: set() for node in nodes.values()}
    for name, text in (*texts.items(), *generated.items()):
        included = {_PART.sub("", match.group(2)) for match in INCLUDE.finditer(text)}
        graph[nodes[name]] |= (included & graph.keys()) - {nodes[name]}
    return graph


def import_graph(texts: dict[str, str]) -> Graph:
    """Return what each module imports, given the text of each, by its full name."""
    graph: Graph = {}
    for module, text in texts.items():
        tree = ast.parse(text)
        named = {name for name in _named(tree) if not f"{name}.".startswith(_family(module))}
        imported = {_nearest(name, texts) for name in {*_imports(tree), *named}}
        graph[module] = imported - {"", module, _GATHERS_ALL}
    return graph


def module_name(path: str) -> str:
    """Return the full name of the module in a file of the repository."""
    name = _PLACE.sub("", path).removesuffix(".py").removesuffix("/__init__")
    return name.replace("/", ".")


def circles(graph: Graph) -> list[list[str]]:
    """Return the groups of nodes each of which leads to all others of its group."""
    graph = _without_ends(graph)
    reached = {node: _reached_from(node, graph) for node in graph}
    groups = {
        frozenset(other for other in reached[node] if node in reached[other]) for node in graph
    }
    return sorted(sorted(group) for group in groups if len(group) > 1)


def _without_ends(graph: Graph) -> Graph:
    """Return the graph without nodes that lead nowhere, again and again: they are in no circle."""
    while ends := {node for node, targets in graph.items() if not targets}:
        graph = {node: graph[node] - ends for node in graph.keys() - ends}
    return graph


def _reached_from(start: str, graph: Graph) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting.extend(new)
    return found


def _family(module: str) -> str:
    """Return how the names of all in one package begin: ``ebb.nn.`` for ``ebb.nn.utils.rnn``."""
    return ".".join(module.split(".")[:2]) + "."


def _nearest(name: str, modules: dict[str, str]) -> str:
    """Return the module that ``name`` is or is a part of."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def _named(tree: ast.AST) -> Iterator[str]:
    """Yield the names that calls import as text; of text that is put together its beginning."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        if ast.unparse(node.func).rpartition(".")[2] not in _IMPORTERS:
            continue
        name = node.args[0]
        if isinstance(name, ast.JoinedStr):
            name = name.values[0]
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            yield name.value.rstrip(".")


def _imports(tree: ast.AST) -> Iterator[str]:
    """Yield the full names that a module asks for; the package has no relative imports."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Attribute) and (name := ast.unparse(node)).startswith("ebb."):
            yield name
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            yield from _imports(node)
