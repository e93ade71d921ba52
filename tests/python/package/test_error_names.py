# tests/python/package/test_error_names.py -- errors say which op, which tensor and which lines.
#
# A line of this file that a message must name carries a mark, `# at <mark>`; at() gives its place.
# Each row of FAULTS is a fault that two tensors can make, told with and without their names.
"""Names of tensors in messages."""

import copy
import pickle
from pathlib import Path

import pytest

import ebb
from ebb.autograd import check_nan_inf, detect_anomaly

LINES = Path(__file__).read_text(encoding="utf-8").splitlines()


def at(mark):
    """Return the place of the line with a mark, as messages write it."""
    (number,) = (n for n, line in enumerate(LINES, 1) if line.endswith(f"# at {mark}"))
    return f"{__file__}:{number} in "


def named(tensor, name):
    """Give a tensor a name, or none."""
    tensor.name = name
    return tensor


def leaf(values, name=None):
    """Return a leaf that requires a gradient."""
    return named(ebb.tensor(values, requires_grad=True), name)


def cut_by_detach(x, w):
    loss = (x * w).detach()  # at detach
    named(loss, w.name).sum().backward()


def cut_by_no_grad(x, w):
    with ebb.no_grad():
        h = x * w  # at no_grad
    named(h, w.name).retain_grad()


def hook_without_history(x, w):
    w.detach().register_hook(print)


def leaf_written(x, w):
    w.mul_(2.0)


def view_of_a_leaf_written(x, w):
    w[0].fill_(2.0)  # at write_view


def saved_leaf_written(x, w):
    loss = (x * w).sum()  # at save_leaf
    with ebb.no_grad():
        w.add_(1.0)  # at write_leaf
    loss.backward()


def saved_constant_written(x, w):
    c = named(ebb.ones(2), w.name)
    loss = (x * c).sum()  # at save_constant
    c.add_(1.0)  # at write_constant
    loss.backward()


def saved_result_written(x, w):
    h = named(x.exp(), w.name)  # at save_result
    h.add_(1.0)  # at write_result
    h.sum().backward()


def saved_view_written(x, w):
    loss = (x * w.view(2)).sum()  # at save_view
    with ebb.no_grad():
        w.mul_(0.0)  # at write_viewed
    loss.backward()


def backward_twice(x, w):
    loss = (x * w).sum()  # at record_twice
    loss.backward()  # at first_run
    loss.backward()


def leaf_not_used(x, w):
    ebb.autograd.grad((x * 2).sum(), [x, w])


def result_not_used(x, w):
    h = named(x * w, w.name)  # at unused_result
    ebb.autograd.grad((x * 2).sum(), h)


def loss_of_many_elements(x, w):
    named(x * w, w.name).backward()  # at many


def wrong_seed(x, w):
    named(x * w, w.name).backward(ebb.ones(3))


def wrong_grad(x, w):
    w.grad = ebb.ones(3)


def shapes_do_not_broadcast(x, w):
    w + ebb.ones(3)


def shapes_do_not_multiply(x, w):
    ebb.ones(2, 3) @ w


def dtypes_do_not_agree(x, w):
    w @ ebb.ones(2, dtype=ebb.float64)


def no_such_dtype(x, w):
    ebb.bitwise_and(w, w)


def shapes_do_not_stack(x, w):
    ebb.stack([ebb.ones(3), w])


def nothing_to_reshape(x, w):
    w.reshape(3)


def read_only(x, w):
    named(ebb.ones(1).expand(2), w.name).add_(1.0)


def nan_in_a_result(x, w):
    with check_nan_inf():
        (w - 1.5).log()  # at log


def infinite_result(x, w):
    with check_nan_inf():
        x / (w * 0.0)  # at divide


def infinite_gradient(x, w):
    loss = w.sqrt().sum()  # at root
    with detect_anomaly():
        loss.backward()


# A fault, what its message says with names, and without.
FAULTS = [
    (cut_by_detach, "backward: tensor 0 (float32 []) must require a gradient, got one that does "
     "not: its history was cut by detach() at {detach}", None),
    (cut_by_no_grad, "retain_grad: needs a tensor that requires a gradient, got one named 'w' that "
     "does not: its history was cut under no_grad at {no_grad}",
     "got one that does not: its history was cut under no_grad at {no_grad}"),
    (leaf_written, "mul_: a leaf that requires a gradient must not be written in place, got "
     "float32 [2] named 'w'", "got float32 [2]\n"),
    (view_of_a_leaf_written, "got a view of one, float32 [] viewing 'w' of [2], made at "
     "{write_view}", "got a view of one, float32 [] of [2], made at {write_view}"),
    (saved_leaf_written, "MulBackward: needs 'other' (float32 [2] named 'w') as it was when saved "
     "at {save_leaf}", "needs 'other' (float32 [2]) as it was when saved at {save_leaf}"),
    (saved_leaf_written, "modified in place by add_ at {write_leaf}", None),
    (saved_constant_written, "MulBackward: needs 'other' (float32 [2] named 'w') as it was when "
     "saved at {save_constant}", "'other' (float32 [2]) as it was when saved at {save_constant}"),
    (saved_constant_written, "modified in place by add_ at {write_constant}", None),
    (saved_result_written, "ExpBackward of 'w': needs 'out' (float32 [2] named 'w') as it was when "
     "saved at {save_result}", "ExpBackward: needs 'out' (float32 [2]) as it was when saved at"),
    (saved_result_written, "modified in place by add_ at {write_result}", None),
    (saved_view_written, "MulBackward: needs 'other' (float32 [2] viewing 'w') as it was when "
     "saved at {save_view}", "MulBackward: needs 'other' (float32 [2]) as it was"),
    (saved_view_written, "modified in place by mul_ at {write_viewed}", None),
    (backward_twice, "MulBackward: needs what it saved from 'x' and 'w' at {record_twice}",
     "MulBackward: needs what it saved at {record_twice}"),
    (backward_twice, "got it freed by the run at {first_run}", None),
    (leaf_not_used, "grad: input 1 (float32 [2] named 'w') must have been used",
     "grad: input 1 (float32 [2]) must have been used"),
    (result_not_used, "grad: input 0 (float32 [2] named 'w') must have been used",
     "grad: input 0 (float32 [2] made by MulBackward at {unused_result}"),
    (loss_of_many_elements, "tensor 0 must have one real floating element, got float32 [2] named "
     "'w'", "must have one real floating element, got float32 [2] made by MulBackward at {many}"),
    (wrong_seed, "gradient 0 must have its tensor's shape [2] named 'w', got [3]",
     "gradient 0 must have its tensor's shape [2], got [3]"),
    (wrong_grad, "grad: needs the tensor's shape [2], got [3] for 'w'",
     "grad: needs the tensor's shape [2], got [3]"),
    (shapes_do_not_broadcast, "add: shapes must broadcast together, got input [2] named 'w' and "
     "other [3] (sizes 2 and 3 differ in dim -1)", "got input [2] and other [3] (sizes 2 and 3"),
    (shapes_do_not_multiply, "matmul: inner sizes must agree, got float32 [2, 3] and float32 [2] "
     "named 'w'", "got float32 [2, 3] and float32 [2]"),
    (dtypes_do_not_agree, "need one dtype, got float32 [2] named 'w' and float64 [2]",
     "need one dtype, got float32 [2] and float64 [2]"),
    (no_such_dtype, "bitwise_and: 'input' must have dtype bool, uint8", None),
    (no_such_dtype, "got float32 named 'w'", "got float32"),
    (shapes_do_not_stack, "got [3] at position 0 and [2] named 'w' at position 1",
     "got [3] at position 0 and [2] at position 1"),
    (nothing_to_reshape, "elements of input, got shape [3] and input float32 [2] named 'w'",
     "got shape [3] and input float32 [2]"),
    (read_only, "got shape [2] named 'w' with strides [0]", "got shape [2] with strides [0]"),
    (nan_in_a_result, "log: the result (float32 [2]) must be finite, got 1 nan in 2 elements, the "
     "first (nan) at [0]", None),
    (nan_in_a_result, "\n  at {log}", None),
    (infinite_result, "div: the result (float32 [2]) must be finite, got 2 inf in 2 elements, the "
     "first (inf) at [0]; input named 'x' lies in [3, 4], other lies in [0, 0]",
     "; input lies in [3, 4], other lies in [0, 0]"),
    (infinite_result, "\n  at {divide}", None),
    (infinite_gradient, "\n  in SqrtBackward, recorded at {root}", None),
    (infinite_gradient, "SqrtBackward: the gradient of input 0 (float32 [2] named 'w') must be "
     "finite, got 1 inf", "the gradient of input 0 (float32 [2]) must be finite, got 1 inf"),
]  # fmt: skip


def filled(text):
    """Put the places of marks into a text."""
    parts = text.split("{")
    return parts[0] + "".join(at(rest.split("}")[0]) + rest.split("}")[1] for rest in parts[1:])


def message_of(fault, names):
    """Return the text of the error that a fault raises; `names`: those of its tensors, if any."""
    values = [0.0, 2.0] if fault is infinite_gradient else [1.0, 2.0]
    x_name, w_name = names or (None, None)
    x, w = leaf([3.0, 4.0], x_name), leaf(values, w_name)
    with pytest.raises(ebb.Error) as caught:
        fault(x, w)
    return str(caught.value)


def title_of(value):
    """Return what a test is called by: no address, which differs from process to process."""
    return getattr(value, "__name__", str(value)[:40])


@pytest.mark.parametrize(
    ("fault", "text"),
    [(row[0], row[1]) for row in FAULTS],
    ids=title_of,
)
def test_a_message_names_op_tensor_and_lines(fault, text):
    message = message_of(fault, names=("x", "w"))
    assert filled(text) in message


@pytest.mark.parametrize(
    ("fault", "text"),
    [(row[0], row[1]) for row in FAULTS],
    ids=title_of,
)
def test_a_message_quotes_names_as_python_does(fault, text):
    x, w = "it's\nhint: \\", "\x00\u202e'\""
    message = message_of(fault, names=(x, w))
    assert filled(text.replace("'w'", repr(w)).replace("'x'", repr(x))) in message


@pytest.mark.parametrize(
    ("fault", "text"),
    [(row[0], row[2]) for row in FAULTS if row[2] is not None],
    ids=title_of,
)
def test_a_message_about_unnamed_tensors_says_the_rest(fault, text):
    message = message_of(fault, names=None)
    assert filled(text) in message
    assert "named" not in message and "viewing" not in message


def test_the_line_of_the_write_is_that_of_the_program():
    message = message_of(saved_leaf_written, names=("x", "w"))
    assert message.count(__file__) == 2 and "hint: " in message


def test_a_name_given_later_is_used():
    x, w = leaf([3.0, 4.0]), leaf([1.0, 2.0])
    loss = (x * w).sum()
    named(w, "late")
    with ebb.no_grad():
        w.add_(1.0)
    with pytest.raises(ebb.AutogradError, match=r"\(float32 \[2\] named 'late'\)"):
        loss.backward()


def test_what_a_result_was_called_is_known_when_it_is_gone():
    x = leaf([3.0, 4.0])
    h = named(x.exp(), "hidden")
    loss = (h * h).sum()
    del h
    loss.backward()
    with pytest.raises(ebb.AutogradError, match="needs what it saved from 'hidden' at"):
        loss.backward()


class Block(ebb.nn.Module):
    def __init__(self, inner=3):
        super().__init__()
        self.layers = ebb.nn.Sequential(ebb.nn.Linear(2, 3), ebb.nn.Linear(inner, 1))
        self.register_buffer("shift", ebb.ones(2))

    def forward(self, x):
        return self.layers(x + self.shift)


def test_a_parameter_goes_by_its_path_in_forward():
    with pytest.raises(ebb.ShapeError, match=r"float32 \[1, 4\] named 'layers.1.weight'"):
        Block(inner=4)(ebb.ones(5, 2))
    with pytest.raises(ebb.ShapeError, match=r"other \[2\] named 'shift'"):
        Block()(ebb.ones(5, 3))


def test_a_parameter_goes_by_its_path_in_backward():
    block = Block()
    loss = block(ebb.ones(5, 2)).sum()
    with ebb.no_grad():
        block.layers[1].weight.add_(1.0)
    with pytest.raises(ebb.AutogradError, match=r"named 'layers.1.weight'") as caught:
        loss.backward()
    assert "LinearBackward" in str(caught.value)


def test_a_parameter_that_was_not_used_goes_by_its_path():
    block = Block()
    out = block.layers[0](block.shift)
    block(block.shift)
    with pytest.raises(ebb.errors.ValueError, match=r"input 0 .* named 'layers.1.bias'"):
        ebb.autograd.grad(out.sum(), block.layers[1].bias)


def test_a_name_of_its_own_comes_before_the_path():
    block = Block()
    block.layers[0].weight.name = "first"
    loss = block(ebb.ones(5, 2)).sum()
    loss.backward()
    with pytest.raises(ebb.AutogradError, match=r"from 'layers.1.weight'"):
        loss.backward()
    assert block.layers[0].weight.name == "first" and block.layers[1].weight.name is None
    assert {node.leaf for node in ebb.graph(loss).leaves} == {
        "first", "layers.0.bias", "layers.1.weight", "layers.1.bias"
    }  # fmt: skip


def test_the_module_that_was_called_is_named_with_the_line():
    block = Block()
    with ebb.no_grad():
        block.layers[1].weight.fill_(float("nan"))
    with check_nan_inf(), pytest.raises(ebb.NonFiniteError) as caught:
        block(ebb.ones(1, 2))
    text = str(caught.value)
    assert "weight named 'layers.1.weight' has 3 nan" in text
    assert text.endswith(" in Block.forward in module layers.1")


class Root(ebb.nn.Module):
    def forward(self, x):
        return x.sqrt()  # at root_of_module


def test_the_module_that_recorded_a_node_is_named_with_the_line():
    loss = ebb.nn.Sequential(Root())(leaf([0.0])).sum()
    with detect_anomaly(), pytest.raises(ebb.NonFiniteError) as caught:
        loss.backward()
    text = f"\n  in SqrtBackward in module 0, recorded at {at('root_of_module')}"
    assert text in str(caught.value)


def test_a_name_can_be_set_read_and_taken_away():
    x = leaf([1.0], "x")
    assert x.name == "x" and "name='x'" in repr(x)
    x.name = None
    assert x.name is None and "name" not in repr(x)
    x.name = "again"
    del x.name
    assert x.name is None
    x.name = "größe 'quoted'"
    assert x.name == "größe 'quoted'" and not x.__dict__
    with pytest.raises(TypeError, match="name: needs a str or None, got int"):
        x.name = 3


def test_views_copies_and_results_have_no_name():
    x = leaf([1.0, 2.0], "x")
    others = (x.detach(), x.clone(), x[0], x.view(2), x * 1, x.data, x.to(ebb.float64))
    assert [other.name for other in others] == [None] * len(others)


def test_deepcopy_and_pickle_keep_the_name():
    x = named(ebb.nn.Parameter(ebb.ones(2)), "x")
    x.note = "kept"
    for copied in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert copied.name == "x" and copied.note == "kept" and type(copied) is ebb.nn.Parameter
    plain = pickle.loads(pickle.dumps(ebb.ones(2)))
    assert plain.name is None


def test_a_name_stays_through_all_that_a_tensor_becomes():
    x = named(ebb.ones(2), "x")
    x.requires_grad_()
    assert x.name == "x"
    x.requires_grad_(False).add_(leaf([1.0, 2.0]))  # at rewritten
    assert x.name == "x" and not x.is_leaf
    assert ebb.graph(x.sum()).find("Add")[0].outputs[0].name == "x"
    x.detach_()
    assert x.name == "x" and x.is_leaf
    x.data = ebb.zeros(2)
    assert x.name == "x"


def test_a_view_that_follows_its_base_keeps_its_name():
    base = leaf([1.0, 2.0]) * 1.0
    part = named(base[0], "part")
    base.mul_(2.0)
    assert part.name == "part" and part.grad_fn is not None
    assert ebb.graph(part).find("AsStrided")[0].outputs[0].name == "part"


def test_graph_views_show_names_of_results():
    x = leaf([1.0, 2.0], "x")
    h = named(x.exp(), "hidden")
    graph = ebb.graph(h.sum())
    node = graph.find("Exp")[0]
    assert node.outputs[0].name == "hidden" and "hidden" in repr(node)
    assert "hidden" in graph.to_dot() and '"hidden"' in graph.to_json()
    assert "ExpBackward hidden" in graph.table()
    h.name = None
    assert ebb.graph(h.sum()).find("Exp")[0].outputs[0].name == ""


def test_a_custom_function_may_name_what_it_returns():
    class Double(ebb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return named(x * 2, "doubled")

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    out = Double.apply(leaf([1.0]))
    assert out.name == "doubled"
    assert ebb.graph(out).find("Double")[0].outputs[0].name == "doubled"


def test_a_named_operand_written_in_place_carries_its_tangent():
    x = named(ebb.ones(2), "x")
    with ebb.autograd.forward_ad.dual_level():
        dual = named(ebb.autograd.forward_ad.make_dual(x, ebb.ones(2)), "dual")
        w = leaf([3.0, 4.0])
        dual.mul_(w)
        tangent = ebb.autograd.forward_ad.unpack_dual(dual).tangent
        assert tangent.tolist() == [3.0, 4.0]
        (grad,) = ebb.autograd.grad(tangent.sum(), w)
        assert grad.tolist() == [1.0, 1.0]
