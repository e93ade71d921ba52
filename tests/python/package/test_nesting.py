# tests/python/package/test_nesting.py -- containers and modules that hold themselves: an error, no
# hang.
#
# The class is tested by walking the package: every public callable is given lists and dicts that
# hold themselves, and every method of Module is called on trees that somebody tried to tie up.
import importlib
import inspect
import pkgutil
import signal
import subprocess
import sys
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

import ebb
from ebb.data import default_collate, default_convert
from ebb.nn.init import filling_nothing

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 5


@contextmanager
def limited(what):
    """Fail what computes longer than any refusal may; a busy machine counts for nothing."""

    def fail(*_):
        raise TimeoutError(f"{what} computed for more than {SECONDS} s")

    before = signal.signal(signal.SIGPROF, fail)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def cyclic_list(*items):
    made = list(items)
    return [*made, made] if made.append(made) else made


def cyclic_dict(item):
    made = {"a": item}
    made["b"] = made
    return made


@dataclass
class Holder:
    first: object
    second: object = None


def cyclic_dataclass(item):
    made = Holder(item)
    made.second = made
    return made


LEAF = ebb.ones(2, requires_grad=True)
WALKERS = {
    "graph": ebb.graph,
    "explain": lambda nest: ebb.explain(nest, LEAF),
    "default_collate": lambda nest: default_collate([nest, nest]),
    "default_convert": default_convert,
    "save": lambda nest: ebb.save([nest], "/dev/null/x.safetensors"),
}
NESTS = {
    "list": lambda: cyclic_list(LEAF),
    "dict": lambda: cyclic_dict(LEAF),
    "twice": lambda: (made := [], made.extend([made, made]), made)[-1],
    "chain": lambda: (made := [], [made := [made] for _ in range(5000)], made)[-1],
}


@pytest.mark.parametrize("kind", NESTS)
@pytest.mark.parametrize("call", WALKERS)
def test_every_walker_of_containers_refuses_one_without_end(call, kind):
    text = f"{call}: needs at most 100 levels, got a deeper nesting or a cycle"
    with limited(call), pytest.raises(ebb.errors.ValueError, match=text):
        WALKERS[call](NESTS[kind]())


def test_a_dataclass_that_holds_itself_is_refused_by_graphs():
    with limited("graph"), pytest.raises(ValueError, match="needs at most 100 levels"):
        ebb.graph(cyclic_dataclass(LEAF))
    with pytest.raises(TypeError, match="graph: needs tensors or edges, got type"):
        ebb.graph(Holder)  # the class is no container


def test_deep_containers_are_walked_up_to_the_limit():
    nest = LEAF
    for _ in range(100):
        nest = [nest]
    assert len(ebb.graph(nest)) == 1
    with pytest.raises(ValueError, match="at most 100 levels"):
        ebb.graph([[nest]])


def public_callables():
    """Each function and class that a package, or a module with a list of names, offers; once."""
    found = {}
    for module in pkgutil.walk_packages(ebb.__path__, "ebb."):
        if "._" in module.name or "torch_compat" in module.name:  # imports install a hook
            continue
        loaded = importlib.import_module(module.name)
        if not (module.ispkg or hasattr(loaded, "__all__")):
            continue
        for name in getattr(loaded, "__all__", vars(loaded)):
            value = getattr(loaded, name)
            if not name.startswith("_") and callable(value):
                found.setdefault(id(value), (f"{module.name}.{name}", value))
    for name, value in vars(ebb).items():
        if not name.startswith("_") and callable(value):
            found.setdefault(id(value), (f"ebb.{name}", value))
    return sorted(found.values(), key=lambda entry: entry[0])


def call_all():
    """Call each with containers that hold themselves; return how many calls came back."""
    called = 0
    for name, function in public_callables():
        # To draw the weights of a model is most of the work.
        quickly = filling_nothing if ".models." in name else nullcontext
        for nest in (cyclic_list(LEAF), cyclic_list(), cyclic_dict(LEAF)):
            for args in ((nest,), (LEAF, nest), ([nest, nest],)):
                called += 1
                try:
                    with limited(name), quickly():
                        result = function(*args)
                        if inspect.isgenerator(result):
                            next(result, None)
                except (RecursionError, TimeoutError) as error:
                    raise AssertionError(f"{name} recurses or hangs") from error
                except Exception:  # what it is, the tests of the function say
                    continue
    return called


def test_no_public_callable_hangs_or_recurses_on_a_container_that_holds_itself():
    # A process of its own: some of them, such as hooks of all modules, keep what they are given.
    command = [sys.executable, "-c", "from tests.python.package import test_nesting as t; t.main()"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 4000


def main():
    print(call_all())
