# satellites/torch/tests/test_helpers.py -- names that PyTorch keeps to itself and programs use.
import collections
import doctest
import importlib

import pytest

import ebb
from ebb import nn
from ebb.nn.attention import SDPBackend, sdpa_kernel
from ebb.torch_compat import finder, foreach, helpers, parallel_functions, pytree
from ebb.utils import cpp_extension

Point = collections.namedtuple("Point", "x y")
DOCUMENTED = ("torch_compat.dtypes", "torch_compat.privates", "nn.modules.utils", "nn.modules",
              "torch_compat.backcompat", "torch_compat.jit_internal", "profiler.itt",
              "torch_compat.config", "torch_compat.library", "torch_compat.torch_version",
              "torch_compat.pytree", "torch_compat.absent", "torch_compat.alone",
              "torch_compat.aten", "torch_compat.tensor_str", "torch_compat.parallel_functions",
              "torch_compat.foreach", "torch_compat.metadata", "torch_compat.switches",
              "torch_compat.fx", "utils.cpp_extension",
              "cuda.nvtx", "nn.attention")  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTED)
def test_examples_of_helpers_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    module = importlib.import_module(f"ebb.{name}")
    failed, tried = doctest.testmod(module, extraglobs={"ebb": ebb}, optionflags=doctest.ELLIPSIS)
    assert tried > 0 and failed == 0


@pytest.mark.parametrize("name", [*finder.SPELLED, *finder.HOMES, *sorted(finder._FILES)])
def test_every_name_that_is_spelled_otherwise_is_found(name):
    parent, _, last = name.rpartition(".")
    if name in finder.SPELLED:
        module, own = finder.SPELLED[name]
        found = getattr(importlib.import_module(parent), last)
        assert found is getattr(importlib.import_module(module), own)
    else:
        assert isinstance(importlib.import_module(name), finder.TorchModule)


def test_layers_are_known_by_their_kind():
    from torch.nn.modules.batchnorm import _BatchNorm
    from torch.nn.modules.conv import _ConvNd
    from torch.nn.modules.dropout import _DropoutNd
    from torch.nn.modules.pooling import _AvgPoolNd, _MaxPoolNd

    assert isinstance(nn.BatchNorm2d(2), _BatchNorm) and isinstance(nn.Conv1d(1, 1, 1), _ConvNd)
    assert isinstance(nn.Dropout(), _DropoutNd) and not isinstance(nn.ReLU(), _DropoutNd)
    assert isinstance(nn.MaxPool2d(2), _MaxPoolNd) and not isinstance(nn.MaxPool2d(2), _AvgPoolNd)


def test_packages_on_top_find_the_version():
    import importlib.metadata as metadata

    assert metadata.version("torch") == "2.15.0" and metadata.metadata("torch")["Name"] == "torch"
    assert metadata.version("torchvision") == importlib.import_module("torchvision").__version__
    assert {one.name for one in metadata.distributions()} >= {"torch", "numpy"}
    assert helpers.get_device_states(ebb.ones(1)) == ([], [])
    assert helpers.set_device_states([], []) is None
    with pytest.raises(ebb.errors.ValueError, match="set_device_states: needs no states, got 1"):
        helpers.set_device_states([0], [ebb.ones(1)])


def test_dtypes_that_no_tensor_has_are_compared_and_refused():
    import torch

    assert ebb.ones(1).dtype not in (torch.complex32, torch.float8_e5m2)
    assert torch.sparse_csc != ebb.ones(1).layout and {torch.qint8: 1}[torch.qint8] == 1
    with pytest.raises(TypeError, match=r"'dtype' .*must be ebb\.dtype, got MissingDtype"):
        torch.ones(1, dtype=torch.complex32)


def test_losses_of_programs_have_a_base():
    from torch.nn.modules.loss import _Loss, _WeightedLoss

    class Scaled(_WeightedLoss):
        def forward(self, x):
            return (x * self.weight).sum() if self.reduction == "sum" else x * self.weight

    loss = Scaled(ebb.tensor([2.0]), reduction="sum")
    assert loss(ebb.ones(3)).item() == 6.0 and list(loss.state_dict()) == ["weight"]
    assert _Loss(size_average=False).reduction == "sum"
    assert _Loss(reduce=False).reduction == "none"


@pytest.mark.parametrize("shape", [(3, 2), (4, 2, 5), (1, 1, 1, 1)])
def test_fans_are_what_the_initialisers_use(shape):
    weight = ebb.empty(*shape)
    fan_in, fan_out = nn.init._calculate_fan_in_and_fan_out(weight)
    assert fan_in * shape[0] == fan_out * shape[1] == weight.numel()
    nn.init.kaiming_uniform_(weight)
    assert (
        weight.abs().max().item() <= (6 / nn.init._calculate_correct_fan(weight, "fan_in")) ** 0.5
    )
    with pytest.raises(ebb.errors.ShapeError, match=r"at least 2 dims, got \[3\]"):
        nn.init._calculate_fan_in_and_fan_out(ebb.ones(3))
    with pytest.raises(ebb.errors.ValueError, match="needs 'fan_in' or 'fan_out', got 'both'"):
        nn.init._calculate_correct_fan(weight, "both")


def test_parameters_become_one_vector_and_come_back():
    parts = [ebb.arange(6.0).reshape(2, 3), ebb.tensor(7.0), ebb.empty(0, 2)]
    flat = helpers.flatten_dense_tensors(parts)
    back = helpers.unflatten_dense_tensors(flat, parts)
    assert flat.tolist() == [0, 1, 2, 3, 4, 5, 7]
    assert all(ebb.equal(one, part) for one, part in zip(back, parts, strict=True))
    assert helpers.flatten_dense_tensors([]).shape == (0,)
    with pytest.raises(ebb.errors.ShapeError, match="needs 7 elements, got 6"):
        helpers.unflatten_dense_tensors(flat[1:], parts)


TREES = [
    1,
    [],
    (1, [2, {"a": 3, "b": (4,)}], None),
    Point(1, [2]),
    collections.OrderedDict(z=1, a=[2]),
    collections.deque([1, 2], maxlen=5),
]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_containers_come_apart_and_are_built_again(tree):
    leaves, spec = pytree.tree_flatten(tree)
    assert pytree.tree_unflatten(leaves, spec) == tree and spec.num_leaves == len(leaves)
    assert type(pytree.tree_map(str, tree)) is (type(tree) if not spec.is_leaf() else str)
    with pytest.raises(ebb.errors.ValueError, match="tree_unflatten: needs"):
        pytree.tree_unflatten([*leaves, 1], spec)


def test_several_trees_are_mapped_together():
    grown = collections.defaultdict(list, a=[1, 2])
    assert pytree.tree_map(lambda one: one + 1, grown) == {"a": [2, 3]}
    assert pytree.tree_map(max, {"a": [1, 5]}, {"a": [3, 2]}) == {"a": [3, 5]}
    assert pytree.tree_map_only(int, str, [1, 2.0, "x"]) == ["1", 2.0, "x"]
    assert pytree.tree_map_only(lambda one: one == 1, str, [1, 2]) == ["1", 2]
    assert pytree.tree_leaves([1, (2, 3)], is_leaf=lambda one: isinstance(one, tuple)) == [
        1,
        (2, 3),
    ]
    assert pytree.tree_all(bool, [1, [2]]) and not pytree.tree_any(bool, [0, [None]])
    with pytest.raises(ebb.errors.ValueError, match="tree_map: needs trees that are nested alike"):
        pytree.tree_map(max, [1], (1,))


def test_containers_are_looked_up_by_their_class():
    known = pytree.SUPPORTED_NODES
    for tree, kind in (([1], list), (Point(1, 2), collections.namedtuple), ({"a": 1}, dict)):
        assert pytree.node_type(tree) is kind and not pytree.tree_is_leaf(tree)
        parts, context = known[kind].flatten_fn(tree)
        assert known[kind].unflatten_fn(parts, context) == tree
    assert pytree.node_type(3) not in known and pytree.tree_is_leaf([1], lambda one: True)
    assert pytree.LeafSpec() == pytree.tree_structure(3) == pytree.LeafSpec()
    places = pytree.list_flatten_with_keys("ab")[0]
    assert places == [(pytree.SequenceKey(0), "a"), (pytree.SequenceKey(1), "b")]


def test_a_class_may_become_a_container():
    class Box:
        def __init__(self, content):
            self.content = content

    pytree.register_pytree_node(
        Box, lambda box: ([box.content], None), lambda parts, _: Box(*parts)
    )
    assert pytree.tree_map(str, Box([1])).content == ["1"]
    itself = []
    itself.append(itself)
    with pytest.raises(ebb.errors.ValueError, match="tree_flatten: needs at most 100 levels"):
        pytree.tree_flatten(itself)


def test_ops_go_through_lists_of_tensors():
    import torch

    x, y = [ebb.ones(2), ebb.zeros(1)], [ebb.ones(2), ebb.ones(1)]
    assert [one.tolist() for one in torch._foreach_add(x, y, alpha=2)] == [[3, 3], [2]]
    assert torch._foreach_mul_(x, [3.0, 4.0]) is None and x[0].tolist() == [3, 3]
    torch._foreach_lerp_(x, y, 1.0)
    torch._foreach_copy_(y, [ebb.zeros(2), ebb.zeros(1)])
    assert x[1].tolist() == [1] and y[0].tolist() == [0, 0]
    torch._foreach_maximum_(x, 2)
    assert torch._foreach_minimum(x, [ebb.zeros(2), ebb.ones(1)])[1].tolist() == [1]
    torch._foreach_minimum_(x, [ebb.zeros(2), ebb.ones(1)])
    assert [one.tolist() for one in x] == [[0, 0], [1]]
    assert foreach.function_of("_foreach_nothing") is None
    assert not hasattr(torch, "_foreach_nothing")


def test_options_of_compilers_are_kept_and_change_nothing():
    import torch
    import torch._dynamo
    import torch._inductor.config as config

    assert hasattr(config, "coordinate_descent_tuning") and not config.max_autotune
    config.coordinate_descent_tuning = torch._inductor.config.triton.cudagraphs = True
    torch._functorch.config.enable_autograd_cache = True
    assert torch._inductor.config.coordinate_descent_tuning and config.triton.cudagraphs
    assert torch._functorch.config.enable_autograd_cache
    with config.patch(max_autotune=True):
        torch._dynamo.reset()
    assert torch._C._jit_set_profiling_mode(False) is False
    assert not hasattr(torch._C, "_jit_nothing") and not hasattr(torch._inductor, "nothing")


@pytest.mark.parametrize("name", ["Graph", "GraphModule", "Interpreter", "Proxy", "Tracer"])
def test_classes_of_fx_may_be_derived_from_and_refuse_to_be_made(name):
    import torch.fx

    derived = type("Own", (getattr(torch.fx, name),), {})
    assert not isinstance(ebb.ones(1), derived)
    with pytest.raises(ebb.errors.NotImplementedError, match=r"fx.Own: ebb traces no modules"):
        derived()
    with pytest.raises(NotImplementedError, match=r"fx.symbolic_trace: ebb traces no"):
        torch.fx.symbolic_trace(nn.ReLU())


def test_what_optimizers_of_libraries_ask_for_is_there():
    import torch
    from torch.optim.optimizer import (
        ParamsT,
        _default_to_fused_or_foreach,
        _get_value,
        _use_grad_for_differentiable,
    )

    class Halved(torch.optim.Optimizer):
        def __init__(self, params: ParamsT, differentiable=False):
            super().__init__(params, {"differentiable": differentiable})

        @_use_grad_for_differentiable
        def step(self):
            self.recorded = torch.is_grad_enabled()

    for wanted in (False, True):
        one = Halved([nn.Parameter(ebb.ones(1))], wanted)
        one.step()
        assert one.recorded is wanted and torch.is_grad_enabled()
    assert _default_to_fused_or_foreach([], False) == (False, False)
    assert _get_value(ebb.tensor(3)) == _get_value(3) == 3
    torch._assert(True, "holds")
    with pytest.raises(AssertionError, match="does not"):
        torch._assert(False, "does not")


def test_collectives_may_be_imported_and_refuse_their_call():
    from torch.distributed import all_reduce, barrier
    from torch.distributed.optim import ZeroRedundancyOptimizer

    with pytest.raises(NotImplementedError, match="ZeroRedundancyOptimizer: ebb runs in one"):
        ZeroRedundancyOptimizer([ebb.ones(1)], optimizer_class=ebb.optim.AdamW, lr=0.1)
    for call in (all_reduce, barrier):
        with pytest.raises(NotImplementedError, match=f"distributed.{call.__name__}: ebb runs in"):
            call(ebb.ones(1))
    with pytest.raises(AttributeError, match=r"distributed\.DeviceMesh: ebb runs in one process"):
        _ = ebb.distributed.DeviceMesh


def test_kernels_of_attention_are_chosen_by_name_only():
    q = ebb.randn(1, 3, 4)
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH], set_priority=True):
        assert nn.functional.scaled_dot_product_attention(q, q, q).shape == q.shape
    with (
        pytest.raises(ebb.errors.DTypeError, match="sdpa_kernel: needs an SDPBackend, got 'math'"),
        sdpa_kernel(["math"]),
    ):
        pass


def test_types_of_cuda_are_there_and_need_a_device():
    assert not isinstance(ebb.ones(1), ebb.cuda.FloatTensor)
    with pytest.raises(ebb.errors.ValueError, match="needs a device that is there, got cuda:0"):
        ebb.cuda.FloatTensor([1.0])
    assert ebb.cuda.nvtx.range_push("x") == ebb.cuda.nvtx.range_pop() == 0


@pytest.mark.parametrize("name", ["load", "load_inline", "CppExtension", "CUDAExtension"])
def test_compilers_of_pytorchs_kernels_refuse(name):
    with pytest.raises(NotImplementedError, match=f"cpp_extension.{name}: needs C\\+\\+ written"):
        getattr(cpp_extension, name)("kernel", sources=[])
    with pytest.raises(NotImplementedError, match=r"cpp_extension\.BuildExtension"):
        cpp_extension.BuildExtension()


def test_the_old_comparison_ignores_dtypes():
    helpers.assert_allclose(ebb.ones(2), ebb.ones(2, dtype=ebb.float64))
    with pytest.raises(AssertionError):
        helpers.assert_allclose(ebb.ones(2), [1.0, 2.0], rtol=0, atol=0.5)


def test_functions_of_several_devices_have_their_gradients_on_one():
    x, y = ebb.tensor([1.0, 2.0], requires_grad=True), ebb.tensor([3.0], requires_grad=True)
    copies = parallel_functions.Broadcast.apply([0, 1], x, y)
    assert [one.tolist() for one in copies] == [[1, 2], [3], [1, 2], [3]]
    first, second = parallel_functions.ReduceAddCoalesced.apply(0, 2, *copies)
    assert first.tolist() == [2, 4] and second.tolist() == [6]
    joined = parallel_functions.Gather.apply("cpu", 0, first, second)
    shares = parallel_functions.Scatter.apply([0, 1], [1, 2], 0, joined)
    assert [one.tolist() for one in shares] == [[2], [4, 6]]
    (shares[0].sum() + 3 * shares[1].sum()).backward()
    assert x.grad.tolist() == [2, 6] and y.grad.tolist() == [6]
    assert parallel_functions.Gather.apply("cpu", 0, x[0], y[0]).tolist() == [1, 3]
