# tests/python/io/test_tree.py -- nested objects, such as optimizer states, in safetensors files.
import json
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import ebb
from ebb import nn, optim

Point = namedtuple("Point", "x y")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.safetensors"


def same(first, second) -> bool:
    """Whether two trees are equal, their types and dtypes included."""
    if type(first) is not type(second):
        return False
    if isinstance(first, ebb.Tensor):
        return first.dtype is second.dtype and ebb.equal(first, second)
    if isinstance(first, dict):
        return list(first) == list(second) and all(same(first[k], second[k]) for k in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    return first == second or (first != first and second != second)


def test_every_kind_of_node_comes_back_as_it_was(path):
    saved = {
        "tensors": [ebb.ones(2, 3), (ebb.tensor(1), ebb.zeros(0, dtype=ebb.bfloat16))],
        "numbers": [0, -1, 2**80, 0.1, 1e-300, float("inf"), -float("inf"), float("nan"), -0.0],
        "texts": ["", "ü\u2028\0", "tensor"],
        "others": (None, True, False, (), [], {}),
        7: {"": {-1: "negative"}},
    }
    ebb.save(saved, path)
    loaded = ebb.load(path)
    assert same(loaded, saved)
    assert str(loaded["numbers"][-1]) == "-0.0"


@pytest.mark.parametrize("top", [[ebb.ones(1)], (1, 2), {}, {"a": 1.5}, []])
def test_any_container_may_be_at_the_top(path, top):
    ebb.save(top, path)
    assert same(ebb.load(path), top)


@pytest.mark.parametrize(
    "make",
    [
        lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: optim.Adam(p, lr=0.1, amsgrad=True),
        lambda p: optim.AdamW([{"params": p[:1], "lr": 0.5}, {"params": p[1:]}]),
    ],
)
def test_training_goes_on_bitwise_from_a_file(path, make):
    def setup():
        ebb.manual_seed(3)
        model = nn.Linear(3, 2)
        return model, make(list(model.parameters()))

    def steps(model, optimizer, count):
        for _ in range(count):
            optimizer.zero_grad()
            (model(ebb.ones(4, 3)) * model(ebb.ones(4, 3))).sum().backward()
            optimizer.step()

    model, optimizer = setup()
    steps(model, optimizer, 3)
    ebb.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 3}, path)
    steps(model, optimizer, 3)

    other, restored = setup()
    checkpoint = ebb.load(path)
    assert checkpoint["step"] == 3
    other.load_state_dict(checkpoint["model"])
    restored.load_state_dict(checkpoint["optimizer"])
    steps(other, restored, 3)
    assert ebb.equal(model.weight, other.weight) and ebb.equal(model.bias, other.bias)


def test_tensors_keep_readable_unique_names(path):
    ebb.save({"a.b": ebb.zeros(1), "a": {"b": ebb.ones(1)}, "__metadata__": ebb.ones(2)}, path)
    with ebb.io.safe_open(path) as file:
        assert file.keys() == ["a.b", "a.b#2", "__metadata__#2"]
    assert ebb.load(path)["a"]["b"].tolist() == [1.0]


def test_metadata_goes_beside_a_tree(path):
    ebb.save({"lr": 0.1}, path, metadata={"by": "me"})
    assert ebb.io.load_metadata(path) == {"by": "me"}
    assert ebb.load(path) == {"lr": 0.1}
    with pytest.raises(
        ValueError, match=r"save: needs metadata other than the reserved 'ebb.tree'"
    ):
        ebb.save({"lr": 0.1}, path, metadata={"ebb.tree": ""})
    with pytest.raises(TypeError, match="save: needs metadata as a dict, got list"):
        ebb.save({"lr": 0.1}, path, metadata=["a"])


def test_a_flat_dict_of_tensors_needs_no_tree(path):
    ebb.save(OrderedDict(a=ebb.ones(1)), path)
    assert b"ebb.tree" not in path.read_bytes()


def test_subclasses_that_would_be_lost_are_refused(path):
    with pytest.raises(TypeError, match=r"got Point at \['p'\]"):
        ebb.save({"p": Point(1, 2)}, path)
    ebb.save({"f": np.float64(0.5)}, path)  # a float by its class
    assert ebb.load(path) == {"f": 0.5}


def test_cycles_and_great_depth_are_refused(path):
    cycle = []
    cycle.append(cycle)
    with pytest.raises(ValueError, match="save: needs at most 100 levels"):
        ebb.save({"a": cycle}, path)
    assert not path.exists()


def write_tree(path, tree, tensors=None):
    """Write a file whose tree is this text."""
    text = tree if isinstance(tree, str) else json.dumps(tree)
    ebb._C._save(path, tuple(tensors or {}), tuple((tensors or {}).values()), {"ebb.tree": text})


@pytest.mark.parametrize(
    "tree, text",
    [
        ("{", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ('{"list":[' * 200 + "1" + "]}" * 200, "no known kind"),
        ("NaN", "wrong node of kind ''"),
        ([1], "no known kind"),
        ({}, "no known kind"),
        ({"list": [], "tuple": []}, "no known kind"),
        ({"list": 3}, "wrong node of kind 'list'"),
        ({"dict": [[1]]}, "wrong node of kind 'dict'"),
        ({"dict": [["a", 1], ["a", 2]]}, "wrong node of kind 'dict'"),
        ({"dict": [[None, 1]]}, "wrong node of kind 'dict'"),
        ({"float": "1"}, "wrong node of kind 'float'"),
        ({"float": ["nan"]}, "wrong node of kind 'float'"),
        ({"tensor": "b"}, "names 'b'"),
        ({"tensor": ["a"]}, "wrong node of kind 'tensor'"),
        ({"list": [{"tensor": "a"}, {"tensor": "a"}]}, "or twice"),
        ({"list": []}, "no place for 'a'"),
        ({"eval": "1"}, "wrong node of kind 'eval'"),
    ],
)
def test_wrong_trees_are_value_errors(path, tree, text):
    write_tree(path, tree, {"a": ebb.ones(1)})
    with pytest.raises(ebb.errors.ValueError, match=r"load: needs a tree as ebb.save") as caught:
        ebb.load(path)
    assert text in str(caught.value)
