# tests/python/package/test_texts.py -- texts are taken whole: NUL ends neither a name nor a word of
# a mode. And interpreters: ebb is for the first one of a process.

import pytest

import ebb
from ebb.nn import functional as F
from tests.cases import each_of
from tests.python.fresh import printed

X = ebb.ones(2, 3)

DEVICES = {
    "device": ebb.device,
    "creation": lambda name: ebb.zeros(1, device=name),
    "to": X.to,
    "module": lambda name: ebb.nn.Linear(1, 1).to(name),
    "default": ebb.set_default_device,
}


@pytest.mark.parametrize("taken", DEVICES)
@pytest.mark.parametrize("name", ["cpu\0x", "cpu\0", "\0cpu", "cuda:0\0"])
def test_a_device_has_no_name_with_nul(taken, name):
    with pytest.raises(ebb.errors.ValueError) as caught:
        DEVICES[taken](name)
    assert caught.value.args[0].endswith(f"got {name!r}")


WORDS = {
    "reduction": lambda end: F.mse_loss(X, X, reduction="mean" + end),
    "cross_entropy": lambda end: F.cross_entropy(
        X, ebb.zeros(2, dtype=ebb.int64), reduction="sum" + end
    ),
    "pad": lambda end: F.pad(X, (1, 1), mode="constant" + end),
    "rounding_mode": lambda end: ebb.div(X, X, rounding_mode="floor" + end),
    "einsum": lambda end: ebb.einsum("ij->i" + end, X),
    "meshgrid": lambda end: ebb.meshgrid(ebb.ones(2), indexing="ij" + end),
    "dtype": lambda end: ebb.zeros(1, dtype="float32" + end),
    "interpolate": lambda end: F.interpolate(X[None], 4, mode="nearest" + end),
    "gelu": lambda end: F.gelu(X, approximate="none" + end),
    "optimizer": lambda end: ebb._C._optimizer("SGD" + end, [], {}),
}


@pytest.mark.parametrize("word", WORDS)
def test_a_word_of_a_mode_has_no_nul(word):
    with pytest.raises((ebb.Error, AttributeError)):
        WORDS[word]("\0x")


@pytest.mark.parametrize("word", sorted(set(WORDS) - {"dtype", "interpolate"}))
def test_a_wrong_word_writes_no_line_of_its_own_into_the_error(word):
    with pytest.raises(ebb.Error) as caught:
        WORDS[word]("\nhint: '\\ \u202e")
    assert "\\nhint: '\\\\ \\u202e\"" in str(caught.value)


@each_of(ebb.ops.__all__)
def test_a_keyword_has_no_nul(name):
    for word in ("input", "dim", "axis", "other", "tensors", "size"):
        with pytest.raises(TypeError) as caught:
            getattr(ebb, name)(**{word + "\0x": X})
        assert "NUL" not in str(caught.value)
    if name == "sum":
        with pytest.raises(TypeError, match=r"unexpected keyword argument 'dim\\x00x'"):
            ebb.sum(X, **{"dim\0x": 0})
        with pytest.raises(
            TypeError, match=r"to\(\): got an unexpected keyword argument 'copy\\x00'"
        ):
            X.to(ebb.float32, **{"copy\0": True})


def test_the_name_of_a_tensor_is_kept_whole():
    x = ebb.ones(2, requires_grad=True)
    x.name = "a\0b"
    assert x.name == "a\0b"
    assert [node.leaf for node in ebb.graph(x * 2).leaves] == ["a\0b"]
    assert [node.leaf for node in ebb.graph(x * 2, {"c\0d": x}).leaves] == ["c\0d"]


@pytest.mark.parametrize("first", ["import ebb", ""])
def test_a_sub_interpreter_is_refused_and_the_first_goes_on(first):
    pytest.importorskip("_xxsubinterpreters")
    lines = printed(f"""
        import _xxsubinterpreters as interpreters
        {first}
        for _ in range(2):
            try:
                interpreters.run_string(interpreters.create(), "import ebb")
            except Exception as error:
                print(error)
        import ebb
        x = ebb.ones(2, requires_grad=True)
        (x * 3).sum().backward()
        print(x.grad.tolist())
    """).splitlines()
    text = "ebb: needs the main interpreter of its process, got a sub-interpreter"
    assert len(lines) == 3 and all(text in line and "ImportError" in line for line in lines[:2])
    assert lines[2] == "[3.0, 3.0]"
