# satellites/torch/ebb/torch_compat/report.py -- which names of PyTorch a project uses that ebb
# lacks.
#
# Files are read, never run: imports tell which local names are modules of PyTorch, and attributes
# of these are looked up in ebb. What tensors and modules are asked for at run time cannot be seen.
"""``report()``, behind ``python -m ebb.torch_compat --report``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ebb.io.reading import opened, path_text
from ebb.torch_compat import foreach, switches
from ebb.torch_compat.finder import HOMES, SPELLED, module_of

__all__ = ["Missing", "report"]

ROOTS = ("torch", "torchvision")


@dataclass(frozen=True, order=True)
class Missing:
    """A name that ebb lacks, and where it stands.

    Example:
        >>> from ebb.torch_compat import Missing
        >>> str(Missing("torch.export.save", "train.py", 2))
        'train.py:2: torch.export.save'
    """

    name: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.name}"


def report(path: str | Path) -> list[Missing]:
    """Return the names of PyTorch that a file, or all Python files of a folder, use and ebb lacks.

    Args:
        path: A file or folder. Files that are no Python 3 are passed over.
    Returns:
        One entry per place, by name.
    Raises:
        FileNotFoundError: If there is no such file or folder.
    Example:
        >>> import tempfile
        >>> from ebb.io.writing import write_text
        >>> from ebb.torch_compat.report import report
        >>> file = tempfile.mkdtemp() + "/train.py"
        >>> _ = write_text("example", file, "import torch\\ntorch.export.save(torch.relu)\\n")
        >>> [one.name for one in report(file)]
        ['torch.export.save']
    """
    root = Path(path_text("report", path))
    if not root.exists():
        raise FileNotFoundError(f"report: needs a file or folder, got {str(path)!r}")
    files = sorted(root.rglob("*.py")) if root.is_dir() else [root]
    return sorted(one for file in files for one in _missing_in(file))


def _missing_in(file: Path) -> Iterator[Missing]:
    with opened("report", file) as source:
        content = source.read()
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return
    seen = _Names(_assigned(tree))
    seen.visit(tree)
    for name, line in dict.fromkeys(seen.used):
        if not _is_there(name):
            yield Missing(name, str(file), line)


def _is_there(name: str) -> bool:
    """Return whether ebb has what a dotted name of PyTorch means."""
    if module_of(name) is not None:
        return True
    parent, _, last = name.rpartition(".")
    if not parent:
        return False
    if module_of(parent) is None:  # of a class or function: what is there is not known
        return _is_there(parent)
    try:
        if name in SPELLED or foreach.function_of(last) is not None:
            return True
        if parent == "torch._C" and switches.setter_of(last) is not None:
            return True
        return hasattr(module_of(parent), last)
    except Exception:  # a name that refuses with a reason is not there
        return False


def _assigned(tree: ast.AST) -> set[str]:
    """Return the names that a file gives values to: `optim = optim.SGD(...)` is no module then."""
    named = {
        node.id for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }  # fmt: skip
    return named | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


class _Names(ast.NodeVisitor):
    """Collects dotted names of PyTorch, as long as they are written out."""

    def __init__(self, assigned: set[str]) -> None:
        self.assigned = assigned
        self.known: dict[str, str] = {}  # local name: what it stands for
        self.used: list[tuple[str, int]] = []

    def visit_Import(self, node: ast.Import) -> None:
        for one in node.names:
            root = one.name.split(".")[0]
            if root in HOMES:
                self.known[one.asname or root] = one.name if one.asname else root
                self.used.append((one.name, node.lineno))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or not node.module or node.module.split(".")[0] not in HOMES:
            return
        for one in node.names:
            full = node.module if one.name == "*" else f"{node.module}.{one.name}"
            self.known[one.asname or one.name] = full
            self.used.append((full, node.lineno))

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        name = self._dotted(node)
        if name is None:
            return self.generic_visit(node)
        self.used.append((name, node.lineno))
        return None

    def _dotted(self, node: ast.expr) -> str | None:
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.known:
            return None
        if node.id in self.assigned and self.known[node.id] not in ROOTS:
            return None
        return ".".join([self.known[node.id], *reversed(parts)])
