# tests/python/package/test_help.py -- help() of public names: a text, and an example that runs.
#
# Whatever a namespace offers is looked at, ops of the table included (their examples stand in
# ops/examples/), and those of the bindings (in python/src, of Tensor in tensor/method_docs.h).
import doctest
import inspect
import types

import pytest

import ebb
from ebb import distributions, masked, signal, sparse

SPACES = {
    "ebb": ebb,
    "ebb.Tensor": ebb.Tensor,
    "ebb.linalg": ebb.linalg,
    "ebb.fft": ebb.fft,
    "ebb.special": ebb.special,
    "ebb.nn": ebb.nn,
    "ebb.nn.functional": ebb.nn.functional,
    "ebb.nn.init": ebb.nn.init,
    "ebb.nn.utils": ebb.nn.utils,
    "ebb.optim": ebb.optim,
    "ebb.optim.lr_scheduler": ebb.optim.lr_scheduler,
    "ebb.data": ebb.data,
    "ebb.autograd": ebb.autograd,
    "ebb.func": ebb.func,
    "ebb.amp": ebb.amp,
    "ebb.distributions": distributions,
    "ebb.masked": masked,
    "ebb.sparse": sparse,
    "ebb.signal.windows": signal.windows,
    "ebb.random": ebb.random,
    "ebb.flags": ebb.flags,
    "ebb.io": ebb.io,
    "ebb.errors": ebb.errors,
}


def public_objects(space):
    """Return functions, classes and methods that a namespace offers, by name."""
    owner = SPACES[space]
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


@pytest.mark.parametrize("space", SPACES)
def test_every_public_name_has_a_text(space):
    assert [name for name, one in public_objects(space).items() if not inspect.getdoc(one)] == []


@pytest.mark.parametrize("space", SPACES)
def test_public_names_have_examples(space):
    lacking = [name for name, one in public_objects(space).items() if not examples_of(one)]
    hint = "tools/op_examples.py writes those of ops"
    assert lacking == [], f"these have no example: {lacking}\nhint: {hint}"


@pytest.mark.parametrize("space", SPACES)
def test_examples_print_what_they_show(space, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    seen, report = set(), []
    for name, value in public_objects(space).items():
        text = inspect.getdoc(value) or ""
        if text in seen or ">>>" not in text:
            continue
        seen.add(text)
        test = doctest.DocTestParser().get_doctest(text, {"ebb": ebb}, name, None, None)
        runner.run(test, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)
