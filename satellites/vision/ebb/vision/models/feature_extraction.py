# satellites/vision/ebb/vision/models/feature_extraction.py -- what modules inside a network return,
# by name.
#
# torchvision traces the network into a graph; here hooks see what its modules return while it runs
# as it is. So nodes are modules: what functions between them return has no name.
"""``create_feature_extractor`` and ``get_graph_node_names``, as torchvision spells them."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ebb import _C, nn

__all__ = ["create_feature_extractor", "get_graph_node_names"]

Nodes = Mapping[str, str] | Iterable[str]


def get_graph_node_names(
    model: nn.Module,
    tracer_kwargs: Any = None,
    suppress_diff_warning: bool = False,
    concrete_args: Any = None,
) -> tuple[list[str], list[str]]:
    """Return names of modules that an extractor may return, for training and for evaluation.

    They are those of modules without parts, in the order in which the network has them; names of
    modules above, such as ``layer1``, are taken too. Functions and methods have none.

    Args:
        model: A network.
        tracer_kwargs: Nothing: the network is not traced.
        suppress_diff_warning: Nothing: both lists are the same.
        concrete_args: Nothing.
    Example:
        >>> from ebb.vision.models import feature_extraction, resnet18
        >>> feature_extraction.get_graph_node_names(resnet18())[0][:5]
        ['conv1', 'bn1', 'relu', 'maxpool', 'layer1.0.conv1']
    """
    del tracer_kwargs, suppress_diff_warning, concrete_args
    names = [name for name, one in model.named_modules() if name and _is_leaf(one)]
    return names, list(names)


def create_feature_extractor(
    model: nn.Module,
    return_nodes: Nodes | None = None,
    train_return_nodes: Nodes | None = None,
    eval_return_nodes: Nodes | None = None,
    tracer_kwargs: Any = None,
    suppress_diff_warning: bool = False,
    concrete_args: Any = None,
) -> nn.Module:
    """Return a network that returns what some modules of another return, in a dict.

    It shares the other's parts, under the same names, and runs all of it. The second call of a
    module in one run is ``name_1``, the third ``name_2``; of a module with parts, the last call
    counts. What functions and methods return, torchvision's ``add`` or ``flatten``, is not served.

    Args:
        model: A network.
        return_nodes: Names of modules, and under which name each output is returned; a list for
            the same names.
        train_return_nodes: The same for training only; then ``eval_return_nodes`` is needed.
        eval_return_nodes: The same for evaluation only.
        tracer_kwargs: Nothing: the network is not traced.
        suppress_diff_warning: Nothing.
        concrete_args: Nothing.
    Raises:
        ValueError: If a name is none of a module's, or nodes are given in neither or both ways;
            from the extractor, if a module is not called as often as its name says.
    Example:
        >>> from ebb.vision.models import feature_extraction, resnet18
        >>> nodes = {"layer1": "low", "layer3.1.bn2": "high"}
        >>> body = feature_extraction.create_feature_extractor(resnet18(), nodes)
        >>> [(name, x.shape) for name, x in body(ebb.zeros(2, 3, 32, 32)).items()]
        [('low', ebb.Size([2, 64, 8, 8])), ('high', ebb.Size([2, 256, 2, 2]))]
    """
    del tracer_kwargs, suppress_diff_warning, concrete_args
    two = (train_return_nodes, eval_return_nodes)
    is_one = return_nodes is not None
    if is_one == (two != (None, None)) or (not is_one and None in two):
        raise _C.ValueError(
            "create_feature_extractor: needs either 'return_nodes' or both 'train_return_nodes' "
            "and 'eval_return_nodes'"
        )
    training, evaluation = (return_nodes, return_nodes) if is_one else two
    return FeatureExtractor(model, _targets(model, training), _targets(model, evaluation))


def _is_leaf(module: nn.Module) -> bool:
    return next(module.children(), None) is None


def _targets(model: nn.Module, nodes: Any) -> list[tuple[str, int, str]]:
    """Return a module's name, which of its calls (-1: the last), and the output's name for each."""
    named = nodes.items() if isinstance(nodes, Mapping) else ((one, one) for one in nodes)
    modules = dict(model.named_modules())
    found = []
    for node, out in named:
        name, call = str(node), 0
        again = re.fullmatch(r"(.+)_(\d+)", name)
        if name not in modules and again is not None:
            name, call = again[1], int(again[2])
        if name not in modules or not name:
            raise _C.ValueError(
                f"create_feature_extractor: needs names of modules, got {str(node)!r}\n"
                "hint: get_graph_node_names lists them; what functions return is not served"
            )
        is_last = call == 0 and not _is_leaf(modules[name])
        found.append((name, -1 if is_last else call, str(out)))
    return found


class FeatureExtractor(nn.Module):
    """What ``create_feature_extractor`` returns."""

    def __init__(
        self,
        model: nn.Module,
        training: list[tuple[str, int, str]],
        evaluation: list[tuple[str, int, str]],
    ):
        super().__init__()
        self._source = (model,)  # in a tuple, so that it is no part with names of its own
        self._nodes = {True: training, False: evaluation}
        for name, child in model.named_children():
            self.add_module(name, child)
        for name, parameter in model.named_parameters(recurse=False):
            self.register_parameter(name, parameter)
        for name, buffer in model.named_buffers(recurse=False):
            self.register_buffer(name, buffer)
        self.train(model.training)

    def train(self, mode: bool = True) -> FeatureExtractor:
        """Set the mode of the shared parts too."""
        super().train(mode)
        self._source[0].training = mode
        return self

    def forward(self, *args: Any, **kwargs: Any) -> OrderedDict[str, Any]:
        """Run the network and return the outputs by name, in the order in which they came."""
        model = self._source[0]
        # `to()` or `half()` may have put others in place of these.
        own = (*self.named_parameters(recurse=False), *self.named_buffers(recurse=False))
        for name, tensor in own:
            setattr(model, name, tensor)
        calls: Counter[str] = Counter()
        found: OrderedDict[str, Any] = OrderedDict()
        wanted: dict[str, dict[int, str]] = {}
        for name, call, out in self._nodes[self.training]:
            wanted.setdefault(name, {})[call] = out

        def watch(name: str) -> Callable[..., None]:
            def hook(module: Any, inputs: Any, output: Any) -> None:
                for call in (calls[name], -1):
                    if call in wanted[name]:
                        found[wanted[name][call]] = output
                        found.move_to_end(wanted[name][call])
                calls[name] += 1

            return hook

        handles = [model.get_submodule(name).register_forward_hook(watch(name)) for name in wanted]
        try:
            model(*args, **kwargs)
        finally:
            for handle in handles:
                handle.remove()
        for name, call, out in self._nodes[self.training]:
            if out not in found:
                raise _C.ValueError(
                    f"create_feature_extractor: needs a call number {max(call, 0)} of {name!r}, "
                    f"got {calls[name]} calls"
                )
        return found
