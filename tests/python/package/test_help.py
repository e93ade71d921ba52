# tests/python/package/test_help.py -- help() of public names: a text, and an example that runs.
#
# Whatever a namespace offers is looked at, ops of the table included (their examples stand in
# ops/<topic>/*.txt), and those of the bindings (in python/src, of Tensor in tensor/method_docs.h).
# A namespace is a package, or a module with __all__, under a name without underscore: those that
# come later are looked at unasked. Modules without __all__ are parts of the package around them.
import doctest
import importlib
import inspect
import pydoc
import re
import types
from pathlib import Path

import pytest

import ebb

MEMBERS = (types.FunctionType, types.MethodDescriptorType, types.GetSetDescriptorType, property,
           classmethod, staticmethod)  # fmt: skip
NAMES = re.compile(r"^__all__ =|import __all__", re.MULTILINE)


def namespaces():
    """Return the names of all public packages, and modules with ``__all__``."""
    folder = Path(ebb.__file__).parent
    found = ["ebb", "ebb.Tensor"]
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        parts = parts[:-1] if is_package else parts
        is_public = bool(parts) and not any(part.startswith("_") for part in parts)
        if is_public and (is_package or NAMES.search(path.read_text())):
            found.append(".".join(["ebb", *parts]))
    return found


SPACES = namespaces()


def owner_of(space):
    if space == "ebb.Tensor":
        return ebb.Tensor
    owner = importlib.import_module(space)
    if space.startswith("ebb.torch_compat"):
        ebb.torch_compat.uninstall()  # its import lets `import torch` find ebb
    return owner


def public_objects(space):
    """Return functions, classes and methods that a namespace offers, by name."""
    owner = owner_of(space)
    names = getattr(owner, "__all__", None) or dir(owner)
    if owner is ebb:  # __all__ leaves out what hides a builtin, such as sum
        names = dir(ebb)
    found = {}
    for name in names:
        value = getattr(owner, name)
        is_own = space == "ebb.Tensor" or str(getattr(value, "__module__", "")).startswith("ebb")
        is_op = isinstance(value, (types.BuiltinFunctionType, types.MethodDescriptorType))
        if not name.startswith("_") and callable(value) and (is_own or is_op):
            found[name] = value
    return found


def examples_of(value):
    return doctest.DocTestParser().get_examples(inspect.getdoc(value) or "")


def members_of(space):
    """Return methods and properties of a namespace's classes, by name."""
    return {
        f"{owner}.{name}": getattr(kind, name)
        for owner, kind in public_objects(space).items()
        if isinstance(kind, type)
        for name, one in vars(kind).items()
        if not name.startswith("_") and isinstance(one, MEMBERS)
    }


@pytest.mark.parametrize("space", SPACES)
def test_every_public_name_has_a_text(space):
    found = {**public_objects(space), **members_of(space)}
    assert [name for name, one in found.items() if not inspect.getdoc(one)] == []


@pytest.mark.parametrize("space", SPACES)
def test_public_names_have_examples(space):
    lacking = [name for name, one in public_objects(space).items() if not examples_of(one)]
    hint = "tools/op_examples.py writes those of ops"
    assert lacking == [], f"these have no example: {lacking}\nhint: {hint}"


@pytest.mark.usefixtures("cpu_only")
@pytest.mark.parametrize("space", SPACES)
def test_examples_print_what_they_show(space, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    seen, report = set(), []
    documented = {space: owner_of(space), **public_objects(space)}
    if space == "ebb.torch_compat":
        ebb.torch_compat.install()  # as a program's first import of it does; the examples undo it
    for name, value in documented.items():
        text = inspect.getdoc(value) or ""
        home = getattr(value, "__module__", space)
        if text in seen or ">>>" not in text or (home != space and home in SPACES):
            continue  # it is tried there
        seen.add(text)
        test = doctest.DocTestParser().get_doctest(text, {"ebb": ebb}, name, None, None)
        runner.run(test, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


@pytest.mark.parametrize("function", [ebb.linalg.norm, ebb.nn.functional.pad, ebb.masked.var])
def test_help_prints_the_text_of_functions_written_in_python(function):
    assert function.__doc__.splitlines()[0] in pydoc.render_doc(function, renderer=pydoc.plaintext)
