# tools/check/op_names.py -- no code decides by the name or family of an op; its row has a key.
"""The op table is the only truth about ops. Code that compares `row.op` or `op.family` with names
of the table knows something about those ops that a later op could not say of itself.

Found are comparisons, also with a constant of the module that lists names, and parts of names.
Tests of one op name it as they like: only what is asked of a row or an op counts. In C++, where a
body names its op in errors, found are comparisons of a name, and lists of names; in the generator
and the package, texts of three words and more, nearly all of which are names.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tools.check.repo import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.check.repo import Repo

HINT = "give the row a key (ops/schema.yaml), and ask for that"
FOLDERS = ("codegen/", "ebb/", "python/", "tests/", "tools/")
HOLDERS = ("op", "row")
ASKED = ("family", "full_name", "key", "name", "op")
EXEMPT = (
    "tests/tools/test_mutate.py",  # looks the ops up that its examples are about
    "tests/tools/test_op_names.py",
    "ebb/autograd/history/op_support.h",  # "mean" and "sum" are reductions
    "ebb/autograd/composites/index/index_reduce.cpp",  # "sum" and "prod" are ways to join elements
    "ebb/core/tensor/layout.cpp",  # "sparse_coo" and "sparse_csr" are layouts
    "ebb/nn/init.cpp",  # as in PyTorch, a caller names the nonlinearity behind a layer
    "python/ebb/array_api/_elementwise.py",  # the names that a standard has
    "python/src/parts/init.cpp",  # "mean" and "std" are parameters
)
_NAMES = re.compile(r"^- op: (?:>-\s+)?(\w+)(?:\.(\w+))?\(", re.M)
_IN_TEMPLATE = re.compile(r"\bop\.(?:name|full_name|family|key)\s*(?:==|!=|in\b|not in\b)")
_CPP_NAME = r"\b(?:name|op|op_name|full_name|node_name)_?(?:\(\))?"
_IN_CPP = (
    re.compile(rf'{_CPP_NAME}\)?\s*[=!]=\s*("[\w.]+")'),
    re.compile(rf'("[\w.]+")\s*[=!]=\s*(?:\w+(?:\.|->))*{_CPP_NAME}'),
    re.compile(rf'\b(?:strcmp|starts_with|ends_with)\([^,"]*{_CPP_NAME},\s*("[\w.]+")'),
    re.compile(rf'{_CPP_NAME}\.(?:starts_with|ends_with|find|contains)\(("[\w.]+")'),
)
_CPP_LIST = re.compile(r'\{\s*("[\w.]+"(?:,\s*"[\w.]+")+)')


def check(repo: Repo) -> list[Problem]:
    names = names_of({name: repo.text(name) for name in repo.select(".yaml")})
    problems = []
    for name in repo.select(".py", ".j2", ".h", ".cpp"):
        is_cpp_test = name.startswith("tests/") and name.endswith((".h", ".cpp"))
        if not name.startswith(FOLDERS) or name in EXEMPT or is_cpp_test:
            continue
        lines = lines_in(name, repo.text(name), names)
        problems += [Problem(name, "decides by an op's name or family", line) for line in lines]
    return problems


def lines_in(path: str, text: str, names: set[str]) -> list[int]:
    """Return the lines of a file that decide by name."""
    if path.endswith(".py"):
        listed = in_texts(text, names) if path.startswith(("codegen/", "python/")) else []
        return sorted([*in_python(text, names), *listed])
    return in_template(text) if path.endswith(".j2") else in_cpp(text, names)


def names_of(tables: dict[str, str]) -> set[str]:
    """Return the names of ops, overloads, nodes and families."""
    names = set()
    for path, text in tables.items():
        if re.fullmatch(r"ops/\w+\.yaml", path):
            names.add(path.removeprefix("ops/").removesuffix(".yaml"))
            for name, overload in _NAMES.findall(text):
                words = f"{name}_{overload}".strip("_").split("_")
                node = "".join(word[:1].upper() + word[1:] for word in words) + "Backward"
                names |= {name, f"{name}.{overload}", node}
    return names


def in_template(text: str) -> list[int]:
    """Return the lines of a template that compare the name of an op."""
    return [text.count("\n", 0, match.start()) + 1 for match in _IN_TEMPLATE.finditer(text)]


def in_cpp(text: str, names: set[str]) -> list[int]:
    """Return the lines of a C++ file that compare a name with one of an op, or list several."""
    found = [(match, 1) for one in _IN_CPP for match in one.finditer(text)]
    found += [(match, 2) for match in _CPP_LIST.finditer(text)]
    return sorted(
        text.count("\n", 0, match.start()) + 1
        for match, least in found
        if len(names & set(re.findall(r"[\w.]+", match[1]))) >= least
    )


def in_python(text: str, names: set[str]) -> list[int]:
    """Return the lines of a module that compare what is asked of an op with names of the table."""
    tree = ast.parse(text)
    lists = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and names & set(_texts(node.value))
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    def is_named(node: ast.expr) -> bool:
        return (isinstance(node, ast.Name) and node.id in lists) or bool(names & set(_texts(node)))

    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            is_found = any(map(_is_asked, sides)) and any(map(is_named, sides))
        else:
            is_found = _is_part_of_name(node)
        if is_found:
            found.append(node.lineno)
    return sorted(found)


def in_texts(text: str, names: set[str]) -> list[int]:
    """Return the lines of a module with a text that lists names of ops, for `split()`."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if len(words := node.value.split()) > 2
        if sum(word in names for word in words) >= 0.8 * len(words)
    ]


def _texts(node: ast.expr) -> Iterator[str]:
    """Yield the texts of a constant, or of the members or keys of a collection."""
    inner = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [node])
    for one in inner:
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value


def _is_asked(node: ast.expr) -> bool:
    """Tell whether an expression is the name or family of a row or an op."""
    if isinstance(node, ast.Subscript):  # row.data["family"]
        is_key = isinstance(node.slice, ast.Constant) and node.slice.value in ASKED
        return is_key and isinstance(node.value, ast.Attribute) and _is_holder(node.value.value)
    return isinstance(node, ast.Attribute) and node.attr in ASKED and _is_holder(node.value)


def _is_holder(node: ast.expr) -> bool:
    name = getattr(node, "id", getattr(node, "attr", ""))
    return name in HOLDERS


def _is_part_of_name(node: ast.AST) -> bool:
    """Tell whether a call asks for a word in the name of an op; `_` and `2d` are none."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    asks = node.func.attr in ("startswith", "endswith") and _is_asked(node.func.value)
    return asks and any(re.search("[a-z]{3}", text) for one in node.args for text in _texts(one))
