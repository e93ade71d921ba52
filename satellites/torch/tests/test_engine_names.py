# satellites/torch/tests/test_engine_names.py -- what PyTorch keeps to itself of its engine,
# optimizers
# and profilers, and libraries ask for.
import pytest

import ebb


def leaf():
    return ebb.tensor([1.0, 2.0], requires_grad=True)


def test_the_engine_of_variables_runs_backwards_and_calls_back(torch):
    engine, x, seen = torch.autograd.Variable._execution_engine, leaf(), []
    y = (x * 3).sum()
    x.register_hook(lambda grad: engine.queue_callback(lambda: seen.append(x.grad.tolist())))
    engine.run_backward((y,), (None,), True, False, (), allow_unreachable=True,
                        accumulate_grad=True)  # fmt: skip
    assert seen == [[3.0, 3.0]] and engine.is_checkpoint_valid()
    [grad] = engine.run_backward((y,), (None,), False, False, (x,))
    assert grad.tolist() == [3.0, 3.0] and x.grad.tolist() == [3.0, 3.0]


def test_a_run_is_asked_by_pytorchs_private_names(torch):
    x, seen = leaf(), []
    y = x * 2

    def ask(grad):
        node = torch._C._current_autograd_node()
        seen.append((node is not None, torch._C._will_engine_execute_node(y.grad_fn)))
        seen.append(torch._C._current_graph_task_id() >= 0)

    x.register_hook(ask)
    y.sum().backward()
    assert seen[0][1] is True and seen[1] is True
    assert torch._C._current_graph_task_id() == -1


def test_the_level_of_forward_mode_is_told(torch):
    fwd = torch.autograd.forward_ad
    assert fwd._current_level == -1
    with fwd.dual_level() as outer:
        assert fwd._current_level == outer
        with fwd.dual_level() as inner:
            assert fwd._current_level == inner != outer
        assert fwd._current_level == outer
    assert fwd._current_level == -1


def test_hooks_of_all_optimizers_run_around_each_optimizers_own(torch):
    from torch.optim.optimizer import (
        register_optimizer_step_post_hook,
        register_optimizer_step_pre_hook,
    )

    def note(name):
        return lambda *given: seen.append(name)

    class Own(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {})

        def step(self):
            seen.append("step")

    handles = [register_optimizer_step_pre_hook(note("all before")),
               register_optimizer_step_post_hook(note("all after"))]  # fmt: skip
    for kind in (lambda params: torch.optim.Adam(params), Own):
        seen = []
        optimizer = kind([torch.nn.Parameter(torch.ones(1))])
        optimizer.register_step_pre_hook(note("before"))
        optimizer.register_step_post_hook(note("after"))
        optimizer.step()
        seen = [one for one in seen if one != "step"]
        assert seen == ["all before", "before", "after", "all after"]
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert seen[-1] != "all after"


def test_hooks_in_a_dict_change_the_gradient_of_their_tensor():
    x = leaf()
    y = x * 2
    y._backward_hooks = {}
    y.grad_fn._register_hook_dict(y)
    y._backward_hooks[0] = lambda grad: grad * 10
    y.sum().backward()
    assert x.grad.tolist() == [20.0, 20.0]
    with pytest.raises(TypeError, match="_register_hook_dict: needs a Tensor, got int"):
        y.grad_fn._register_hook_dict(1)


def test_switches_for_warnings_of_old_are_kept(torch):
    import torch.utils.backcompat as backcompat

    assert backcompat.broadcast_warning.enabled is backcompat.keepdim_warning.enabled is False
    backcompat.keepdim_warning.enabled = True
    assert torch.utils.backcompat.keepdim_warning.enabled
    backcompat.keepdim_warning.enabled = False


def test_marks_for_torchscript_leave_functions_as_they_are():
    from torch._jit_internal import (
        BroadcastingList2,
        _overload,
        boolean_dispatch,
        export,
        get_torchscript_modifier,
        is_scripting,
        unused,
    )

    def both(x, flag=False):
        return flag

    assert _overload(both) is both and unused(both) is both and export(both) is both
    assert not is_scripting() and BroadcastingList2[int] == int | list[int]
    chosen = boolean_dispatch("flag", 1, False, lambda x, flag: "yes", both, "m", "chosen")
    assert [chosen(0), chosen(0, True), chosen(0, flag=True)] == [False, "yes", "yes"]
    assert "default" in get_torchscript_modifier(both) and chosen.__name__ == "chosen"


def test_intels_marks_are_taken(torch):
    with torch.profiler.itt.range("step"):
        torch.profiler.itt.mark("here")
    assert torch.profiler.itt.is_available() is False
