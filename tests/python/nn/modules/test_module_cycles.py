# tests/python/nn/modules/test_module_cycles.py -- no way of registering makes a module a part of
# itself.
#
# The class is tested twice: by every way in, and by every method of every kind of container, called
# after the attempts.
import copy
import inspect
import signal

import pytest

import ebb
from ebb import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)

    def forward(self, x):
        return self.first(x)


def tied():
    """A dict, list and sequence of modules, each in the next, and how to reach the outermost."""
    lowest = nn.ModuleDict({"net": Net()})
    return lowest, nn.Sequential(nn.ModuleList([lowest]))


WAYS = {
    "attribute": lambda low, top: setattr(low, "top", top),
    "attribute of a part": lambda low, top: setattr(low["net"], "first", top),
    "add_module": lambda low, top: low.add_module("top", top),
    "register_module": lambda low, top: low.register_module("top", top),
    "dict item": lambda low, top: low.__setitem__("net", top),
    "dict update": lambda low, top: low.update({"top": top}),
    "append": lambda low, top: top[0].append(top),
    "extend": lambda low, top: top[0].extend([top]),
    "insert": lambda low, top: top[0].insert(0, top),
    "list item": lambda low, top: top[0].__setitem__(0, top),
    "in-place add": lambda low, top: top[0].__iadd__([top]),
    "wrapped": lambda low, top: low.add_module("top", nn.Sequential(nn.ModuleList([top]))),
    "itself": lambda low, top: low.add_module("low", low),
    "append itself": lambda low, top: top.append(top),
    "insert itself": lambda low, top: top.insert(0, top),
    "attribute itself": lambda low, top: setattr(top, "me", top),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_module_that_holds_this_one_is_refused_and_nothing_changes(way):
    low, top = tied()
    before = [name for name, _ in top.named_modules()], list(vars(low)), list(vars(top[0]))
    with pytest.raises(ValueError, match=r"needs a module that does not hold this \w+, got one"):
        WAYS[way](low, top)
    after = [name for name, _ in top.named_modules()], list(vars(low)), list(vars(top[0]))
    assert after == before


def test_a_module_further_out_may_be_kept_in_a_list():
    low, top = tied()
    low.further_out = [top]
    assert len(list(top.modules())) == 5 and "ModuleDict" in repr(top)


def test_modules_may_be_shared_and_moved():
    shared = nn.Linear(1, 1)
    both = nn.ModuleList([nn.Sequential(shared), nn.Sequential(shared)])
    both[0].append(both[1])  # not a cycle: the second does not hold the first
    inner = both[1]
    del both[1]
    del both[0][1]
    inner.append(both)  # nor any more
    assert len(list(inner.modules())) == 4


def test_a_shallow_copy_registers_on_its_own():
    module = nn.Sequential(Net())
    twin = copy.copy(module)
    assert type(twin) is nn.Sequential and twin[0] is module[0] and twin[0].first is module[0].first
    twin.append(module)  # holds the module, which does not hold the copy
    twin.register_buffer("count", ebb.zeros(1), persistent=False)
    assert len(module) == 1 and not list(module.buffers()) and list(module.state_dict())
    assert [name for name, _ in twin.named_modules()] == ["", "0", "0.first", "1"]
    with pytest.raises(ValueError, match="needs a module that does not hold this Sequential"):
        module.append(twin)


def methods():
    for kind in (Net, nn.Sequential, nn.ModuleList, nn.ModuleDict):
        for name, _ in inspect.getmembers(kind, callable):
            if not name.startswith("__") or name in ("__repr__", "__len__", "__iter__"):
                yield pytest.param(kind, name, id=f"{kind.__name__}.{name}")


ARGUMENTS = {"apply": (lambda module: None,), "type": (ebb.float64,), "to": (ebb.float64,)}


@pytest.mark.parametrize(("kind", "name"), list(methods()))
def test_every_method_comes_to_an_end_after_all_attempts(kind, name):
    low, top = tied()
    for way in WAYS.values():
        with pytest.raises(ValueError):
            way(low, top)
    module = next(one for one in top.modules() if isinstance(one, kind))
    signal.alarm(10)  # ends the process: nothing below may take that long
    try:
        getattr(module, name)(*ARGUMENTS.get(name, ()))
    except (TypeError, ValueError, LookupError, AttributeError, NotImplementedError):
        pass  # it needs arguments, or a definition
    finally:
        signal.alarm(0)
