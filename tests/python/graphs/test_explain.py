# tests/python/graphs/test_explain.py -- why a parameter gets a gradient, or none, without traced
# cuts.
"""Every reason that ``ebb.explain`` gives, its ways, tables and texts."""

import pytest

import ebb
from ebb.utils import GradientFlow
from ebb.utils.checkpoint import checkpoint
from tests.python.lines import line


@pytest.fixture(autouse=True)
def no_notes():
    """Notes of other tests must not answer."""
    ebb.autograd.forget_cuts()


def leaf(values=(1.0, 2.0), **options) -> ebb.Tensor:
    """Return a leaf that requires a gradient."""
    return ebb.tensor(list(values), requires_grad=True, **options)


# Ways.


def test_ways_are_counted_and_the_shortest_is_listed_first():
    w = leaf()
    h = w * w
    at = line() + 1
    loss = (h.exp().sin() + h).sum()
    found = ebb.explain(loss, w)
    assert found.gets_gradient
    assert found.reason == "gets_gradient"
    assert found.ways == 2
    assert [[step.op for step in path] for path in found.paths] == [
        ["MulBackward", "AddBackward", "SumBackward"],
        ["MulBackward", "ExpBackward", "SinBackward", "AddBackward", "SumBackward"],
    ]
    assert str(found.paths[0][1].location).endswith(f"test_explain.py:{at}")
    assert found.cuts == found.trail == found.locations == []
    assert found.location is None


def test_two_edges_between_the_same_nodes_are_one_way():
    w = leaf()
    assert ebb.explain((w * w).sum(), w).ways == 1


def test_ways_are_counted_without_listing_them():
    w = x = leaf()
    for _ in range(40):
        x = x.exp() + x.sin()
    found = ebb.explain(x, w, paths=2)
    assert found.ways == 2**40
    assert len(found.paths) == 2
    for _ in range(40):
        x = x.exp() + x.sin()
    assert ebb.explain(x, w).ways == 2**64 - 1
    assert "by more than 10^19 ways" in str(ebb.explain(x, w))


def test_a_chain_of_a_million_nodes_is_no_problem():
    w = x = leaf([1.0])
    for _ in range(1_000_000):
        x = -x
    found = ebb.explain(x, w, paths=1)
    assert found.ways == 1
    assert len(found.paths[0]) == 1_000_000
    assert "... 999,988 more ..." in str(found)
    assert not ebb.explain(x, leaf()).gets_gradient
    del x
    assert len(ebb.explain(w * 1.0, w).paths[0]) == 1


def test_the_output_may_be_the_tensor_itself():
    w = leaf()
    found = ebb.explain(w, w)
    assert (found.reason, found.ways, found.paths) == ("gets_gradient", 1, [[]])


def test_an_inner_tensor_is_found_by_the_output_that_it_is():
    x = leaf([3.0, 1.0, 2.0])
    one, two = x.split(1)[:2]
    assert ebb.explain(one * 2.0, one).ways == 1
    assert ebb.explain(one * 2.0, two).reason == "not_used"
    assert ebb.explain(one * 2.0, x).ways == 1


def test_outputs_may_be_nested_and_one_without_history_does_not_matter():
    w, v = leaf(), leaf()
    outputs = {"loss": (w * 2.0).sum(), "more": [(w * v).sum(), ebb.ones(1)]}
    assert ebb.explain(outputs, w).ways == 2
    assert ebb.explain(outputs, v).ways == 1
    assert ebb.explain(outputs["more"], v).ways == 1
    assert ebb.explain(outputs["loss"], v).reason == "not_used"


def test_steps_name_module_and_line():
    class Net(ebb.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = ebb.nn.Linear(2, 2)

        def forward(self, x):
            return self.inner(x)

    net = Net()
    found = ebb.explain(net(ebb.ones(1, 2)).sum(), "inner.weight", names=net)
    assert found.name == "inner.weight"
    first = found.paths[0][0]
    assert (first.op, first.module, first.kind) == ("LinearBackward", "inner", "recorded")
    assert first.location.function.endswith("forward")
    text = str(found)
    assert text.startswith("inner.weight gets a gradient by 1 way:\n  inner.weight\n")
    assert "-> LinearBackward at " in text
    assert " in inner\n" in text


def test_freed_values_and_hooks_on_the_way_are_told():
    w = leaf()
    h = w.exp()
    h.register_hook(lambda grad: grad * 0.0)
    loss = h.sum()
    found = ebb.explain(loss, w)
    assert [step.op for step in found.hooked] == ["ExpBackward"]
    assert found.freed == []
    assert "hooks on the way" in str(found)
    loss.backward()
    found = ebb.explain(loss, w)
    assert found.gets_gradient
    assert "ExpBackward" in [step.op for step in found.freed]
    assert "needs retain_graph=True" in str(found)
    assert found.gradient == "zero"
    assert str(found).endswith("but the gradient that is there now is zero everywhere")


@pytest.mark.parametrize(
    ("factor", "state"),
    [(0.0, "zero"), (float("inf"), "not_finite"), (1.0, "finite")],
)
def test_state_of_the_gradient_is_that_of_gradient_flow(factor, state):
    w = leaf([1.0])
    loss = (w * factor).sum()
    assert ebb.explain(loss, w).gradient == "missing"
    loss.backward()
    found = ebb.explain(loss, w)
    assert found.gradient == state
    flow = GradientFlow({"w": w, "unused": leaf()})
    flow.record()
    assert flow.unused() == ["unused"]
    assert flow.zero() == (["w"] if state == "zero" else [])
    assert flow.non_finite() == ({"w": 0} if state == "not_finite" else {})
    assert ("gradient that is there now" in str(found)) == (state != "finite")


# Reasons why none comes.


def test_a_frozen_parameter_requires_none():
    net = ebb.nn.Linear(2, 2)
    at = line() + 1
    net.weight.requires_grad_(False)
    loss = net(ebb.ones(1, 2)).sum()
    found = ebb.explain(loss, "weight", names=net)
    assert (found.reason, found.gets_gradient) == ("requires_no_grad", False)
    assert found.location.line == ebb.explain(loss, net)["weight"].step.location.line == at
    told = f"it was told not to by requires_grad_() at {found.location}"
    assert str(found).startswith(
        f"weight gets no gradient: it does not require one; {told}\nhint: "
    )


def test_where_a_parameter_was_frozen_is_forgotten_when_it_is_asked_again():
    w = leaf()
    w.requires_grad = False
    assert ebb.explain(leaf(), w).location is not None
    w.requires_grad = True
    assert ebb.explain(leaf(), w).reason == "not_used"
    never = ebb.ones(2)
    found = ebb.explain(leaf(), never)
    assert (found.reason, found.cuts) == ("requires_no_grad", [])
    assert "it does not require one\nhint: requires_grad_()" in str(found)


def test_a_tensor_that_was_detached_tells_where():
    at = line() + 1
    w = (leaf() * 2.0).detach()
    found = ebb.explain((leaf() * w).sum(), w)
    assert found.reason == "requires_no_grad"
    assert found.cuts[0].cut == "detached"
    assert found.location.line == at
    assert f"was cut by detach() at {found.location}" in str(found)


@pytest.mark.parametrize("cut", ["no_grad", "detached", "not_differentiable"])
def test_an_output_without_history_tells_what_cut_it_and_where(cut):
    w = leaf()
    at = line() + 2
    if cut == "no_grad":
        with ebb.no_grad(): loss = (w * 2.0)  # fmt: skip  # noqa: E701
    elif cut == "detached":
        at, loss = line(), (w * 2.0).detach()
    else:
        at, loss = line(), w.argmax()
    found = ebb.explain(loss * 1.0, w)
    assert found.reason == "output_without_history"
    assert [step.cut for step in found.cuts] == [cut]
    assert found.location.line == at
    assert "the output requires none: its history was cut" in str(found)
    assert "ebb.trace_cuts()" in str(found)


@pytest.mark.parametrize(
    "make",
    [
        lambda w: w > 1.0,
        lambda w: w == w,
        lambda w: w.argmin(),
        lambda w: w.isnan(),
        lambda w: w.long(),
        lambda w: w.argsort(),
        lambda w: ebb.logical_not(w),
    ],
)
def test_ops_without_derivative_are_told_from_constants(make):
    at = line() + 1
    found = ebb.explain(make(w := leaf()).float().sum(), w)
    assert found.reason == "output_without_history"
    assert [step.cut for step in found.cuts] == ["not_differentiable"]
    assert found.location.line == make.__code__.co_firstlineno or found.location.line == at


def test_ops_that_take_the_shape_only_cut_nothing():
    w = leaf()
    found = ebb.explain(ebb.zeros_like(w), w)
    assert (found.reason, found.cuts) == ("output_without_history", [])
    assert "nothing it was computed from requires a gradient" in str(found)


def test_data_tells_the_line_as_detach_does():
    w = leaf()
    at = line() + 1
    loss = w.data * 2.0
    assert ebb.explain(loss, w).location.line == at


def test_a_branch_that_was_not_taken_is_not_used():
    class Net(ebb.nn.Module):
        def __init__(self):
            super().__init__()
            self.left, self.right = ebb.nn.Linear(2, 2), ebb.nn.Linear(2, 2)

        def forward(self, x, is_left):
            return self.left(x) if is_left else self.right(x)

    net = Net()
    found = ebb.explain(net(ebb.ones(1, 2), True).sum(), net.right.weight, names=net)
    assert (found.reason, found.name) == ("not_used", "right.weight")
    assert "nothing recorded leads from it to the output" in str(found)


def test_values_without_history_that_nodes_saved_are_candidates():
    w, v = leaf(), leaf()
    at = line() + 1
    cut = (w * 2.0).detach()
    found = ebb.explain((cut * v).sum(), w)
    assert found.reason == "not_used"
    assert found.cuts_are_candidates
    assert [step.cut for step in found.cuts] == ["detached"]
    assert found.location.line == at
    assert "they may come from elsewhere" in str(found)


def test_two_losses_have_their_own_reasons():
    w, v = leaf(), leaf()
    first, second = (w * 1.0).sum(), (v * 1.0).sum()
    assert ebb.explain(first, v).reason == "not_used"
    assert ebb.explain(second, v).gets_gradient
    assert ebb.explain([first, second], v).gets_gradient


def test_a_checkpointed_region_is_on_the_way():
    net = ebb.nn.Linear(2, 2)
    x = ebb.ones([1, 2], requires_grad=True)
    loss = checkpoint(net, x).sum()
    assert ebb.explain(loss, x).gets_gradient
    assert ebb.explain(loss, "weight", names=net).gets_gradient


# Tables.


class TwoLayers(ebb.nn.Module):
    """A net that forgets a layer, and has a frozen one."""

    def __init__(self):
        super().__init__()
        self.used, self.forgotten = ebb.nn.Linear(2, 2), ebb.nn.Linear(2, 2, bias=False)
        self.frozen = ebb.nn.Parameter(ebb.ones(2), requires_grad=False)

    def forward(self, x):
        return self.used(x) * self.frozen


def test_a_module_gives_a_table_that_shows_unused_parameters_first():
    net = TwoLayers()
    table = ebb.explain(net(ebb.ones(1, 2)).sum(), net)
    assert list(table) == ["frozen", "used.weight", "used.bias", "forgotten.weight"]
    assert table.without_gradient == ["forgotten.weight"]
    assert table.frozen == ["frozen"]
    row = table["used.weight"]
    assert (row.gets_gradient, row.ways, row.step.op) == (True, 1, "LinearBackward")
    lines = str(table).splitlines()
    assert lines[0] == "4 parameters: 2 get a gradient, 1 get none, 1 require none"
    assert [text.split()[0] for text in lines[3:]] == [
        "frozen", "forgotten.weight", "used.weight", "used.bias", "hint:",
    ]  # fmt: skip
    assert "none: not used, or cut: untraced" in lines[4]


def test_a_table_of_pairs_counts_tied_tensors_twice_and_folds_long_lists():
    w = leaf()
    others = [leaf() for _ in range(35)]
    pairs = [(f"{kind}{index}", one) for index, other in enumerate(others)
             for kind, one in (("w", w), ("other", other))]  # fmt: skip
    table = ebb.explain((w * 2.0).sum() + sum(other.exp().sum() for other in others), pairs)
    assert table["w0"].ways == table["w34"].ways == 1
    assert str(table).endswith("... and 10 more parameters")
    assert "other34" in table.table(limit=None)


def test_rows_that_say_the_same_are_folded():
    net = ebb.nn.ModuleList([ebb.nn.Linear(2, 2) for _ in range(75)])
    table = ebb.explain(net[0](ebb.ones(1, 2)).sum(), net)
    lines = str(table).splitlines()
    assert lines[0] == "150 parameters: 2 get a gradient, 148 get none"
    assert [text.split("  ")[0] for text in lines[3:]] == [
        "1.weight", "... 146 more alike ...", "74.bias", "0.weight", "0.bias",
        "hint: compute the output under ebb.trace_cuts() to tell a cut from no use",
    ]  # fmt: skip
    assert len(table.table(limit=None).splitlines()) == 3 + 150 + 1
    assert table.table(limit=2).splitlines()[-2] == "... and 3 more parameters"


def test_many_ways_are_told_roughly():
    w = x = leaf()
    for _ in range(36):
        x = x.exp() + x.sin()
    assert "gets a gradient by about 7 x 10^10 ways; the shortest:" in str(ebb.explain(x, w))
    assert "about 7 x 10^10" in str(ebb.explain(x, {"w": w}))
    assert "about 7 x 10^10 ways" in repr(ebb.explain(x, w))


def test_leaves_that_are_in_no_module_are_counted_and_named():
    class Listed(ebb.nn.Module):
        def __init__(self):
            super().__init__()
            self.head = ebb.nn.Linear(2, 2)
            self.layers = [ebb.nn.Linear(2, 2) for _ in range(8)]

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return self.head(x)

    net, scale = Listed(), leaf()
    scale.name = "scale"
    table = ebb.explain((net(ebb.ones(1, 2)) * scale).sum(), net)
    assert table.other_leaves == [*["Linear.weight", "Linear.bias"] * 8, "scale"]
    assert str(table).splitlines()[:3] == [
        "2 parameters: 2 get a gradient, 0 get none",
        "17 more leaves get a gradient, but no parameter of the module is one: "
        "Linear.weight (8 times), Linear.bias (8 times), scale",
        "hint: modules in a plain list or dict are no part of it: use ModuleList, ModuleDict",
    ]
    assert repr(table) == ("<explanations of 2 parameters, 0 get no gradient, 17 other leaves>")
    of_input = ebb.explain((net.head(ebb.ones(1, 2)) * scale).sum(), net.head)
    assert str(of_input).splitlines()[1].endswith("is one: scale") and "hint" not in str(of_input)
    whole = ebb.explain(net(ebb.ones(1, 2)).sum(), dict(net.named_parameters()))
    assert whole.other_leaves == [] and len(str(whole).splitlines()) == 5


CUTS = {
    "detach": ("detached", lambda w: w.detach()),
    "data": ("detached", lambda w: w.data),
    "view of it": ("detached", lambda w: w.detach().view(2, 1).squeeze(1)),
    "no_grad": ("no_grad", lambda w: ebb.no_grad()(lambda: w.view(2))()),
}


@pytest.mark.parametrize("kind", CUTS)
def test_a_parameter_whose_own_memory_went_in_without_history_is_cut_there(kind):
    cut, make = CUTS[kind]
    w, v, unused = leaf(), leaf(), leaf()
    loss = (make(w) * v).exp().sum()
    found = ebb.explain(loss, w)
    assert (found.reason, found.cuts_are_candidates) == ("cut", False)
    assert [step.cut for step in found.cuts] == [cut]
    assert [step.op for step in found.trail[1:]] == ["MulBackward", "ExpBackward", "SumBackward"]
    assert found.location.line == make.__code__.co_firstlineno
    assert "its values reach the output, but were cut off:" in str(found)
    table = ebb.explain(loss, {"w": w, "v": v, "unused": unused})
    assert [row.reason for row in table.values()] == ["cut", "gets_gradient", "not_used"]
    assert table["w"].step.cut == cut
    del make


def test_parts_of_one_buffer_are_told_apart():
    buffer = ebb.zeros(4)
    first, second = (buffer[:2].detach().requires_grad_(), buffer[2:].detach().requires_grad_())
    loss = (first.detach() * leaf()).sum()
    assert ebb.explain(loss, first).reason == "cut"
    assert ebb.explain(loss, second).reason == "not_used"


def test_without_traced_cuts_no_use_is_not_told_from_a_cut():
    w, v = leaf(), leaf()
    loss = (v + w.detach()).sum()  # an addition saves nothing
    text = str(ebb.explain(loss, w))
    assert "it was not used, or its history was cut where nobody noted it" in text
    assert "hint: compute the output under ebb.trace_cuts()" in text
    lines = str(ebb.explain(loss, {"w": w})).splitlines()
    assert lines[-2].split(maxsplit=1) == ["w", "none: not used, or cut: untraced"]
    assert lines[-1].startswith("hint: compute the output under ebb.trace_cuts()")
    with ebb.trace_cuts():
        loss = (v + w.detach()).sum()
    assert ebb.explain(loss, w).reason == "cut"
    unused = ebb.explain(loss, {"other": leaf()})
    assert "none: not used\n" in str(unused) + "\n" and "hint" not in str(unused)


def test_a_table_of_an_output_without_history_says_so():
    net = TwoLayers()
    with ebb.no_grad():
        out = net(ebb.ones(1, 2))
    table = ebb.explain(out, dict(net.named_parameters()))
    assert table["used.bias"].reason == "output_without_history"
    assert not table["used.bias"].gets_gradient


def test_a_row_tells_a_gradient_of_zeros():
    net = ebb.nn.Linear(2, 1)
    loss = (net(ebb.ones(1, 2)) * 0.0).sum()
    loss.backward()
    table = ebb.explain(loss, net)
    assert table["weight"].gradient == "zero"
    assert "yes, zero everywhere" in str(table)


# Mistakes.


def test_what_cannot_be_explained_is_refused():
    w = leaf()
    with pytest.raises(ebb.errors.ValueError, match="needs names to find 'w', got none"):
        ebb.explain(w, "w")
    with pytest.raises(ebb.errors.ValueError, match="got 'weigth'; there is weight"):
        ebb.explain(w, "weigth", names=ebb.nn.Linear(1, 1))
    with pytest.raises(ebb.errors.ValueError, match="at least one output, got none"):
        ebb.explain([], w)
    with pytest.raises(ebb.errors.DTypeError, match="explain: needs tensors or edges, got int"):
        ebb.explain(3, w)
    with pytest.raises(ebb.errors.ValueError, match="needs paths of at least 0, got -1"):
        ebb.explain(w, w, paths=-1)


def test_explaining_changes_nothing():
    w = leaf()
    loss = (w * w).sum()
    repr(ebb.explain(loss, w))
    expected = "<explanation of the float32 [2] tensor: gets_gradient, 1 way>"
    assert repr(ebb.explain(loss, w)) == expected
    loss.backward()
    assert w.grad.tolist() == [2.0, 4.0]


def test_a_parameter_is_called_as_its_module_calls_it():
    net = ebb.nn.Sequential(ebb.nn.Linear(2, 1))
    loss = net(ebb.ones(1, 2)).sum()
    assert str(ebb.explain(loss, net[0].weight)).startswith("0.weight gets a gradient by 1 way:")
    net[0].weight.name = "w"
    assert str(ebb.explain(loss, net[0].weight)).startswith("w gets a gradient by 1 way:")
