# tests/python/graphs/test_graph.py -- snapshots: what they hold, and that they hold nothing else.
import gc
import json
import weakref
from dataclasses import dataclass
from functools import partial

import pytest

import ebb
from tests.python.graphs import graph_models as models
from tests.python.leaves import leaf
from tests.python.threads import on_threads


@pytest.fixture
def product():
    x, w = leaf(1.0, 2.0, 3.0), leaf(4.0, 5.0, 6.0)
    return ebb.graph((x * w).sum(), {"x": x, "w": w})


def test_nodes_are_ops_from_the_root_and_then_leaves(product):
    assert [node.name for node in product] == [
        "SumBackward", "MulBackward", "AccumulateGrad", "AccumulateGrad",
    ]  # fmt: skip
    assert [node.kind for node in product] == ["op", "op", "leaf", "leaf"]
    assert [node.leaf for node in product.leaves] == ["x", "w"]
    assert product.roots == [product[0]] and product[-1] == product.nodes[3]
    assert product[0].sequence > product[1].sequence and product[2].sequence == -1


def test_edges_tell_what_flows(product):
    first = product.edges[0]
    assert (first.source, first.target) == (product[0], product[1])
    assert (first.shape, first.dtype, first.device) == ((3,), "float32", "cpu")
    assert [(edge.input, edge.target.leaf) for edge in product[1].edges] == [(0, "x"), (1, "w")]
    assert all(edge.requires_grad for edge in product.edges)


def test_edges_to_a_leaf_that_wants_no_gradient_say_so():
    x, w = leaf(1.0), leaf(2.0)
    y = x * w
    w.requires_grad_(False)
    assert [edge.requires_grad for edge in ebb.graph(y).edges] == [True, False]


def test_a_node_tells_what_it_was_called_with():
    node = ebb.graph(leaf(1.0, 2.0).sum(0, keepdim=True))[0]
    assert node.attributes == {"dim": (0,), "keepdim": True}
    assert (node.shape, node.dtype, node.device) == ((1,), "float32", "cpu")
    assert node.location.file == __file__
    assert node.location.function.endswith("called_with")


def inner(x):
    return x.exp()


def outer(x):
    return inner(x) * 2


def functions(node):
    return [place.function.rpartition(".")[2] for place in node.stack]


def test_nodes_know_their_stack_where_it_was_recorded():
    x = leaf(1.0, 2.0)
    with ebb.autograd.record_stacks():
        y = outer(x)
    graph = ebb.graph(y.sum(), {"x": x})
    (exp,) = graph.find("Exp")
    assert functions(exp)[:2] == ["inner", "outer"] and len(exp.stack) > 2
    assert exp.stack[0] == exp.location
    assert all(place.file == __file__ for place in exp.stack[:3])
    assert graph[0].stack == (graph[0].location,)  # outside of the block: its line only
    assert graph.leaves[0].stack == ()


def test_stacks_are_in_the_json_and_checks_are_off():
    x = leaf(0.0)
    with ebb.autograd.record_stacks():
        y = outer(x.log())
        y.sum().backward(retain_graph=True)  # -inf and nan pass
    data = json.loads(ebb.graph(y).to_json())
    exp = next(node for node in ebb.graph(y) if node.name == "ExpBackward")
    places = data["locations"]
    stack = [
        (data["strings"][places["file"][line]], places["line"][line])
        for line in data["nodes"]["stacks"][str(exp.index)]
    ]
    assert stack == [place[:2] for place in exp.stack]
    known = {str(node.index) for node in ebb.graph(y) if node.stack}
    assert data["nodes"]["stacks"].keys() == known


def test_record_stacks_is_a_decorator_and_can_be_switched_off_inside():
    x = leaf(1.0)

    @ebb.autograd.record_stacks()
    def known():
        with ebb.autograd.record_stacks(False):
            unknown = inner(x)
        return inner(unknown)

    first, second, _ = ebb.graph(known())
    assert len(first.stack) > 2 and len(second.stack) == 1
    assert not ebb.autograd.is_anomaly_enabled()


def test_saved_tensors_share_memory():
    x = leaf(1.0, 2.0, 3.0)
    graph = ebb.graph(x * x)
    one, other = graph[0].saved
    assert (one.name, one.shape, one.bytes, one.version) == ("other", (3,), 12, 0)
    assert one.storage == other.storage
    assert graph.saved_bytes() == ebb.autograd.graph.saved_bytes(x * x)


def test_saved_bytes_by_op_module_and_line_add_up():
    net = models.ResidualNet(2)
    graph = ebb.graph(net(ebb.ones(2, 3, 8, 8)).sum(), net)
    total = graph.saved_bytes()
    assert total > 0
    for by in ("op", "module", "line"):
        sums = graph.saved_bytes(by=by)
        assert sum(sums.values()) == total
        assert list(sums.values()) == sorted(sums.values(), reverse=True)
    assert "blocks.0.conv1" in graph.saved_bytes("module")


def test_hooks_are_counted_by_kind():
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda grad: None)
    x.register_post_accumulate_grad_hook(lambda leaf: None)
    y.grad_fn.register_prehook(lambda grads: None)
    graph = ebb.graph(y)
    assert graph[0].hooks == (1, 1, 0, 0)
    assert graph[1].hooks.post_accumulate == 1


def test_a_freed_graph_has_its_ops_but_no_saved_tensors():
    x = leaf(1.0, 2.0)
    loss = (x * x).sum()
    loss.backward()
    graph = ebb.graph(loss)
    assert [node.is_freed for node in graph] == [False, True, False]
    assert graph.saved_bytes() == 0 and graph[1].saved == []
    assert "1 ops were freed" in str(graph)


def test_a_snapshot_keeps_no_tensor_alive():
    x = ebb.ones(1000, requires_grad=True)
    y = x * x
    watch = weakref.ref(y)
    node = weakref.ref(y.grad_fn)
    graph = ebb.graph(y.sum(), {"x": x})
    del x, y
    gc.collect()
    assert watch() is None and node() is None
    assert graph.leaves[0].leaf == "x"


def test_a_leaf_that_is_gone_has_no_name():
    y = leaf(1.0) * 2
    assert ebb.graph(y).leaves[0].leaf == ""


def test_tensors_with_a_name_need_not_be_named():
    x = leaf(1.0)
    x.name = "temperature"
    assert ebb.graph(x * 2).leaves[0].leaf == "temperature"
    assert ebb.graph(x * 2, [("t", x)]).leaves[0].leaf == "t"


def test_names_come_from_modules_and_dicts_of_them():
    one, other = models.Cell(4), models.Cell(4)
    out = models.unrolled(one, 1) + models.unrolled(other, 1)
    names = {node.leaf for node in ebb.graph(out, {"one": one, "other": other}).leaves}
    assert "one.ours.weight" in names and "other.theirs.bias" in names
    assert ebb.graph(out, [one, other]).leaves[0].leaf == "ours.weight"


@dataclass
class Result:
    loss: object
    count: int


def test_roots_may_be_what_a_module_returns():
    x = leaf(1.0)
    y, z = x * 2, x * 3
    constant = ebb.ones(2)
    assert len(ebb.graph([y, (z, constant)])) == 3
    assert len(ebb.graph({"y": y, "rest": [Result(z, 7)]})) == 3
    assert len(ebb.graph(ebb.autograd.graph.get_gradient_edge(y))) == 2
    assert len(ebb.graph(y.grad_fn)) == 2
    assert len(ebb.graph(x)) == 1


def test_several_outputs_of_one_op_are_roots_of_their_own():
    parts = ebb.ones(4, requires_grad=True).split(2)
    graph = ebb.graph(list(parts))
    assert [root.index for root in graph.roots] == [0, 0]
    assert len(graph[0].outputs) == 2


@pytest.mark.parametrize(
    ("roots", "kind", "words"),
    [
        (17, TypeError, "graph: needs tensors or edges, got int"),
        ([], ValueError, "graph: needs at least one root, got none"),
        (ebb.ones(2), RuntimeError, "graph: needs roots that require a gradient"),
    ],
)
def test_wrong_roots_are_refused(roots, kind, words):
    with pytest.raises(kind, match=words):
        ebb.graph(roots)


def test_wrong_names_are_refused():
    x = leaf(1.0)
    with pytest.raises(TypeError, match="names needs a module, a dict or pairs, got int"):
        ebb.graph(x, 3)
    with pytest.raises(TypeError, match="got str with int"):
        ebb.graph(x, {"x": 3})


def test_numbers_depend_on_the_graph_alone():
    net = models.Transformer(2)
    tokens = ebb.arange(0, 6).reshape(2, 3)

    def data():
        text = json.loads(ebb.graph(net(tokens).mean(), net).to_json())
        first = text["nodes"]["sequence"][0]
        text["nodes"]["sequence"] = [first - number for number in text["nodes"]["sequence"]]
        return text["nodes"]["name"], text["edges"], text["leaves"], text["saved"], text["modules"]

    assert data() == data()


def test_indices_are_checked(product):
    with pytest.raises(IndexError, match="needs a node from -4 to 3, got 4"):
        product[4]
    other = ebb.graph(leaf(1.0))
    with pytest.raises(ValueError, match="needs a node of this graph"):
        product.ancestors(other[0])


# Modules.


def test_nodes_know_the_module_whose_call_recorded_them():
    net = models.Transformer(4)
    graph = ebb.graph(net(ebb.arange(0, 6).reshape(2, 3)).mean(), net)
    (node,) = graph.find(name="Linear", module="blocks.3.attn.q")
    assert node.module == "blocks.3.attn.q" and node.module_type == "Linear"
    assert graph[0].module is None
    assert [one.module for one in graph.find(name="Softmax")] == [
        f"blocks.{k}.attn" for k in (3, 2, 1, 0)
    ]
    types = {path: kind for path, kind, _ in graph.modules}
    assert types[""] == "Transformer" and types["blocks"] == "ModuleList"


def test_ops_of_the_outermost_module_have_an_empty_path():
    class Twice(ebb.nn.Module):
        def forward(self, x):
            return x * 2

    node = ebb.graph(Twice()(leaf(1.0)))[0]
    assert node.module == "" and node.module_type == "Twice"


def test_a_module_that_is_no_part_of_another_goes_by_its_class():
    helper = ebb.nn.Tanh()

    class Net(ebb.nn.Module):
        def forward(self, x):
            return helper(x)

    assert ebb.graph(Net()(leaf(1.0)))[0].module == "Tanh"


def test_a_module_at_the_address_of_a_dead_one_has_its_own_name():
    class Net(ebb.nn.Module):
        def __init__(self, name):
            super().__init__()
            self.add_module(name, ebb.nn.Tanh())

        def forward(self, x):
            return next(self.children())(x)

    for name in [f"part{k}" for k in range(50)]:
        assert ebb.graph(Net(name)(leaf(1.0)))[0].module == name


def test_an_exception_leaves_the_module():
    class Fails(ebb.nn.Module):
        def forward(self, x):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Fails()(1)
    assert ebb.graph(leaf(1.0) * 2)[0].module is None


def test_a_shared_module_belongs_to_each_caller():
    class Net(ebb.nn.Module):
        def __init__(self):
            super().__init__()
            shared = ebb.nn.Tanh()
            self.left = ebb.nn.Sequential(shared)
            self.right = ebb.nn.Sequential(shared)

        def forward(self, x):
            return self.left(x) + self.right(x)

    graph = ebb.graph(Net()(leaf(1.0)))
    assert [node.module for node in graph.find(name="Tanh")] == ["right.0", "left.0"]


def test_hooks_of_modules_belong_to_the_module():
    net = ebb.nn.Sequential(ebb.nn.Tanh())
    net[0].register_forward_hook(lambda module, args, out: out * 2)
    assert [node.module for node in ebb.graph(net(leaf(1.0))).find(kind="op")] == ["0", "0"]


def test_a_class_with_a_call_of_its_own_belongs_to_its_module():
    class Counted(ebb.nn.Tanh):
        calls = 0

        def __call__(self, *args):
            self.calls += 1
            return super().__call__(*args)

    net = ebb.nn.Sequential(Counted())
    assert ebb.graph(net(leaf(1.0)))[0].module == "0" and net[0].calls == 1


def test_modules_on_several_threads_do_not_mix():
    nets = [ebb.nn.Sequential(*(ebb.nn.Tanh() for _ in range(20))) for _ in range(4)]
    wrong = []

    def work(net):
        for _ in range(50):
            graph = ebb.graph(net(leaf(1.0)))
            paths = [node.module for node in graph.find(kind="op")]
            if paths != [str(k) for k in reversed(range(20))]:
                wrong.append(paths)

    on_threads(*(partial(work, net) for net in nets))
    assert wrong == []


def test_many_modules_are_named_in_linear_time():
    net = ebb.nn.Sequential(*(ebb.nn.Identity() for _ in range(3000)), ebb.nn.Tanh())
    assert ebb.graph(net(leaf(1.0)))[0].module == "3000"


def test_a_module_in_a_new_place_is_found_by_its_new_name():
    net = ebb.nn.Sequential(ebb.nn.Tanh())
    net(leaf(1.0))
    moved = ebb.nn.Sequential(ebb.nn.ReLU(), ebb.nn.Sequential(net[0]))
    assert ebb.graph(moved(leaf(1.0))).find(name="Tanh")[0].module == "1.0"
    net.last = ebb.nn.Sigmoid()
    net[0] = ebb.nn.Softplus()
    assert {node.module for node in ebb.graph(net(leaf(1.0))).find(kind="op")} == {"0", "last"}


# What hooks keep instead of saved tensors.


def test_packed_values_tell_what_is_kept_instead():
    x = leaf(1.0, 2.0, 3.0)
    with ebb.autograd.graph.saved_tensors_hooks(lambda t: t.to(ebb.float16), lambda t: t.float()):
        y = x.exp()
    (saved,) = ebb.graph(y)[0].saved
    assert saved.packed and saved.shape == (3,) and saved.dtype == "float32"
    assert saved.bytes == 6


def test_what_hooks_keep_elsewhere_takes_no_known_memory():
    with ebb.autograd.graph.saved_tensors_hooks(lambda t: "away", lambda t: ebb.ones(3)):
        y = leaf(1.0, 2.0, 3.0).exp()
    graph = ebb.graph(y)
    assert graph[0].saved[0].packed and graph.saved_bytes() == 0
    assert ebb.viz.to_html(graph)
