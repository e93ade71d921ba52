# tests/python/autograd/test_anomaly.py -- anomaly mode and NaN checks: who is to blame, and at
# which line.
"""Modes that look for faults."""

import asyncio

import numpy as np
import pytest

import ebb
from ebb.autograd import check_nan_inf, detect_anomaly
from ebb.errors import AutogradError, NonFiniteError
from tests.python.autograd.function_support import double
from tests.python.fresh import finished
from tests.python.lines import line
from tests.python.threads import on_threads

NAN, INF = float("nan"), float("inf")


def leaf(values) -> ebb.Tensor:
    """Return a leaf that requires a gradient."""
    return ebb.tensor(values, requires_grad=True)


def test_check_nan_inf_names_op_counts_first_index_and_range():
    x = leaf([[1.0, -2.0, 3.0], [0.5, -1.0, 4.0]])
    with check_nan_inf(), pytest.raises(NonFiniteError) as caught:
        at = line() + 1
        x.log()
    text = str(caught.value)
    assert text.startswith("log: the result (float32 [2, 3]) must be finite, got 2 nan in 6 elem")
    assert "the first (nan) at [0, 1]; input lies in [-2, 4]" in text
    assert f"test_anomaly.py:{at}" in text


def text_of_fault(function):
    with check_nan_inf(), pytest.raises(NonFiniteError) as caught:
        function()
    return str(caught.value)


def test_a_value_that_leaves_the_range_of_its_dtype_is_told_from_a_pole():
    x = ebb.tensor([300.0, -300.0, 1.0, 0.0], dtype=ebb.float16)
    ends = "left the range of float16, which ends at 65504"
    text = text_of_fault(lambda: (x * 200.0) * 2.0)
    assert f"got 1 inf and 1 -inf in 4 elements, the first (inf) at [0]; 2 {ends}; input" in text
    divisor = ebb.tensor([0.0, 0.001, 1.0, 1.0], dtype=ebb.float16)  # one of each
    assert f"got 1 inf and 1 -inf in 4 elements, the first (inf) at [0]; 1 {ends}" in text_of_fault(
        lambda: x / divisor
    )
    for at_pole in (lambda: x.abs().log(), lambda: x.reciprocal(), lambda: x / 0.0):
        assert "left the range" not in text_of_fault(at_pole)
    with ebb.autocast("cpu", ebb.float16):
        text = text_of_fault(lambda: ebb.full([2, 2], 7e4) @ ebb.ones(2, 2))
    assert text.startswith("amp_cast: the result (float16 [2, 2])") and f"; 4 {ends}" in text


def test_non_finite_error_is_an_ebb_error_and_a_floating_point_error():
    assert issubclass(NonFiniteError, ebb.Error)
    assert issubclass(NonFiniteError, FloatingPointError)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_every_dtype_is_checked(dtype, requires_grad):
    x = ebb.ones([37], dtype=getattr(ebb, dtype))
    x[36] = 0
    x.requires_grad_(requires_grad)
    with check_nan_inf(), pytest.raises(NonFiniteError, match=r"in 37 elements, the .* at \[36\]"):
        1.0 / x


@pytest.mark.parametrize("count", [1, 2, 15, 16, 31, 32, 33, 63, 64, 65, 127, 129, 1000])
def test_a_bad_element_is_found_wherever_it_is(count):
    for bad in {0, count // 2, count - 1}:
        for value in (NAN, INF, -INF):
            data = np.ones(count, np.float32)
            data[bad] = value
            with check_nan_inf():
                if np.isnan(value):
                    with pytest.raises(NonFiniteError, match=rf"\(nan\) at \[{bad}\]"):
                        ebb.tensor(data) + 1.0
                else:
                    ebb.tensor(data) + 1.0  # it was infinite before


def test_infinity_is_a_fault_where_it_arises_only():
    mask = ebb.tensor([[True, False]])
    x = leaf([[1.0, 2.0]])
    with check_nan_inf():
        scores = x.masked_fill(mask, -INF)
        probabilities = (scores + 1.0).softmax(1)
        assert probabilities.tolist() == [[0.0, 1.0]]
        with pytest.raises(NonFiniteError, match=r"div: .* got 1 inf in 2 elements"):
            x / ebb.tensor([[1.0, 0.0]])


def test_a_fault_found_in_backward_hints_at_the_check_of_ops():
    hint = "hint: compute the loss under check_nan_inf(), which names the first op with such a res"
    x = leaf([0.0, 4.0])
    for mode, is_told in ((detect_anomaly, True), (check_nan_inf, False)):
        for loss in (x.log().sum(), (x.log() * 0.0 * x).masked_fill(x == 0.0, 0.0).sum()):
            with pytest.raises(NonFiniteError) as caught, mode():
                loss.backward()
            assert (hint in str(caught.value)) == is_told
    with pytest.raises(NonFiniteError) as caught, detect_anomaly():
        x.sqrt().sum().backward()  # the forward pass is finite
    assert hint not in str(caught.value)
    with pytest.raises(NonFiniteError, match="log: the result"), check_nan_inf():
        x.log().sum()


def test_only_nan_is_a_fault_if_asked():
    x = leaf([0.0, 1.0])
    with check_nan_inf(inf=False):
        x.log()
        with pytest.raises(NonFiniteError, match="must not be nan"):
            (x - 1.0).log()


def test_values_that_were_given_are_no_fault():
    with check_nan_inf():
        x = ebb.zeros([3])
        x.fill_(NAN)
        ebb.full([2], INF)


def test_in_place_and_out_forms_are_checked():
    x = ebb.tensor([1.0, -1.0])
    with check_nan_inf():
        with pytest.raises(NonFiniteError, match="log_: "):
            x.clone().log_()
        with pytest.raises(NonFiniteError, match=r"log_out: |log: "):
            ebb.log(x, out=ebb.empty([2]))
        y = leaf([1.0, 1.0]) * 1.0
        with pytest.raises(NonFiniteError, match="div_: "):
            y.div_(ebb.zeros([2]))


def test_results_in_strided_views_are_checked():
    base = ebb.ones([4, 6])
    with check_nan_inf(), pytest.raises(NonFiniteError, match=r"1 inf in 8 elements.* at \[3, 1\]"):
        base[:, 1::4].div_(ebb.tensor([[1.0, 1.0]] * 3 + [[1.0, 0.0]]))


def test_nan_among_several_results_is_found():
    with check_nan_inf(), pytest.raises(NonFiniteError, match="max"):
        ebb.tensor([[1.0, NAN]]).max(1)


def test_backward_checks_what_nodes_compute():
    x = leaf([4.0, 0.0])
    with check_nan_inf():
        at = line() + 1
        root = x.sqrt()
        with pytest.raises(NonFiniteError) as caught:
            root.sum().backward()
    text = str(caught.value)
    assert text.startswith("SqrtBackward: the gradient of input 0 (float32 [2]) must be finite, ")
    assert "got 1 inf in 2 elements, the first (inf) at [1]" in text
    assert "the gradient that arrived lies in [1, 1]" in text
    assert f"in SqrtBackward, recorded at {__file__}:{at}" in text
    assert x.grad is None


@pytest.mark.parametrize("mode", [detect_anomaly, check_nan_inf])
def test_loss_and_seed_are_checked(mode):
    x = leaf([1.0])
    loss = (x * NAN).sum()
    with mode():
        with pytest.raises(NonFiniteError, match=r"backward: tensor 0 .* got 1 nan in 1 element"):
            loss.backward()
        y = x * 2.0
        with pytest.raises(NonFiniteError, match=r"backward: gradient 0 .* got 1 inf"):
            y.backward(ebb.tensor([INF]))
        with pytest.raises(NonFiniteError, match=r"grad: gradient 0 .* got 1 nan"):
            ebb.autograd.grad(y, x, ebb.tensor([NAN]))


def test_intermediate_values_inside_a_rule_are_no_fault():
    x = leaf([0.0, 4.0])
    with check_nan_inf():
        ebb.where(ebb.tensor([False, True]), x.sqrt(), x).sum().backward()
    assert x.grad.tolist() == [1.0, 0.25]


def test_anomaly_mode_without_check_nan_lets_values_pass():
    x = leaf([0.0])
    with detect_anomaly(check_nan=False):
        x.sqrt().sum().backward()
    assert x.grad.tolist() == [INF]


def test_anomaly_mode_does_not_look_at_results_of_ops():
    with detect_anomaly():
        assert ebb.tensor([-1.0]).log().isnan().item()


def make_root(x):
    """Record one node."""
    return x.sqrt()


def call_make_root(x):
    """Call another function that records."""
    return make_root(x)


def test_nodes_recorded_in_anomaly_mode_know_the_whole_stack():
    x = leaf([4.0])
    with detect_anomaly():
        at = line() + 1
        root = call_make_root(x)
    stack = root.grad_fn.stack
    assert [entry[2] for entry in stack[:3]] == [
        "make_root",
        "call_make_root",
        "test_nodes_recorded_in_anomaly_mode_know_the_whole_stack",
    ]
    assert stack[2][1] == at
    assert stack[0] == root.grad_fn.location
    assert make_root(x).grad_fn.stack == [root.grad_fn.location]


def test_in_place_and_composite_ops_know_the_stack_too():
    x = leaf([[4.0, 1.0]])
    with detect_anomaly():
        y = call_make_root(x)
        y.mul_(2.0)
        z = ebb.nn.functional.softplus(y).var()
    for result in (y, z):
        assert len(result.grad_fn.stack) > 1
        assert "test_anomaly.py" in result.grad_fn.stack[0][0]


def test_an_error_of_a_run_shows_the_stack():
    x = leaf([0.0])
    with detect_anomaly(), pytest.raises(NonFiniteError) as caught:
        call_make_root(x).sum().backward()
    text = str(caught.value)
    assert "in SqrtBackward, recorded at" in text
    assert text.count("called from") >= 2
    assert "in call_make_root" in text


def test_a_stale_value_shows_the_stack():
    x = leaf([4.0])
    with detect_anomaly():
        root = call_make_root(x)
        with ebb.no_grad():
            root.mul_(2.0)
        with pytest.raises(AutogradError, match=r"(?s)modified in place.*called from"):
            root.sum().backward()


def test_gradients_of_gradients_belong_to_the_forward_stack():
    x = leaf([4.0])
    with detect_anomaly():
        root = call_make_root(x)
        (first,) = ebb.autograd.grad(root.sum(), x, create_graph=True)
    assert first.grad_fn.stack == root.grad_fn.stack


def test_nodes_behind_a_fault_are_not_blamed():
    x = leaf([0.0])
    with detect_anomaly(), pytest.raises(NonFiniteError, match=r"^SqrtBackward"):
        (x * 1.0).sqrt().sum().backward()


def test_a_hook_that_makes_nan_is_blamed_at_the_next_node():
    x = leaf([1.0])
    y = x * 2.0
    y.register_hook(lambda grad: grad * NAN)
    with detect_anomaly(), pytest.raises(NonFiniteError, match="that arrived has 1 nan"):
        (y * 3.0).sum().backward()


def test_custom_functions_are_checked():
    bad = double(lambda ctx, grad: grad / 0.0, name="Bad")
    x = leaf([1.0])
    with detect_anomaly(), pytest.raises(NonFiniteError, match=r"BadBackward.* got 1 inf"):
        bad(x).sum().backward()


def test_modes_nest_and_are_restored():
    assert not ebb.autograd.is_anomaly_enabled()
    with detect_anomaly():
        assert ebb.autograd.is_anomaly_enabled()
        with check_nan_inf(), check_nan_inf(False):
            ebb.tensor([-1.0]).log()
        with pytest.raises(ZeroDivisionError), detect_anomaly(check_nan=False):
            _ = 1 / 0
        assert ebb.autograd.is_anomaly_enabled()
        with pytest.raises(NonFiniteError):
            leaf([0.0]).sqrt().sum().backward()
    assert not ebb.autograd.is_anomaly_enabled()
    leaf([0.0]).sqrt().sum().backward()


def test_set_detect_anomaly_acts_at_once():
    ebb.autograd.set_detect_anomaly(True)
    try:
        assert ebb.autograd.is_anomaly_enabled()
        with ebb.autograd.set_detect_anomaly(False):
            assert not ebb.autograd.is_anomaly_enabled()
        assert ebb.autograd.is_anomaly_enabled()
    finally:
        ebb.autograd.set_detect_anomaly(False)
    with ebb.autograd.set_check_nan_inf(True), pytest.raises(NonFiniteError):
        ebb.tensor([-1.0]).log()
    ebb.tensor([-1.0]).log()


def test_the_modes_are_decorators():
    @check_nan_inf()
    def compute(x):
        return x.log()

    @detect_anomaly()
    async def later():
        await asyncio.sleep(0)
        return ebb.autograd.is_anomaly_enabled()

    with pytest.raises(NonFiniteError):
        compute(ebb.tensor([-1.0]))
    assert asyncio.run(later())
    assert not ebb.autograd.is_anomaly_enabled()


def test_modes_belong_to_one_thread():
    seen = []
    with detect_anomaly():
        on_threads(lambda: seen.append(ebb.autograd.is_anomaly_enabled()))
    assert seen == [False]


def test_checked_and_unchecked_steps_compute_the_same():
    def step():
        ebb.manual_seed(0)
        net = ebb.nn.Sequential(ebb.nn.Linear(7, 5), ebb.nn.Tanh(), ebb.nn.Linear(5, 3))
        loss = ebb.nn.functional.cross_entropy(net(ebb.randn([4, 7])), ebb.tensor([0, 1, 2, 0]))
        loss.backward()
        return [p.grad.numpy().tobytes() for p in net.parameters()]

    plain = step()
    with check_nan_inf(), detect_anomaly():
        assert step() == plain


def test_a_large_backward_run_on_several_threads_is_checked():
    x = leaf(np.full(200_000, 4.0, np.float32))
    with check_nan_inf():
        branches = [(x * float(i)).sqrt() for i in range(8)]
        with pytest.raises(NonFiniteError, match=r"SqrtBackward.* got 200000 inf in 200000"):
            sum(branch.sum() for branch in branches).backward()


def test_retain_all_grads_keeps_the_gradient_of_every_result():
    x = leaf([1.0, 2.0])
    with ebb.autograd.retain_all_grads():
        y = x * 2.0
        first, second = y.split(1)
        with ebb.autograd.retain_all_grads(False):
            z = first * 3.0
        root = (z + second).sum()
    root.backward()
    assert y.grad.tolist() == [3.0, 1.0]
    assert (first.grad.tolist(), second.grad.tolist()) == ([3.0], [1.0])
    assert root.grad.item() == 1.0
    assert not z.retains_grad
    assert x.grad.tolist() == [6.0, 2.0]


def test_retain_all_grads_leaves_other_results_alone():
    with ebb.autograd.retain_all_grads():
        plain = ebb.ones([2]) * 2.0
        with ebb.no_grad():
            cut = leaf([1.0]) * 2.0
        y = leaf([1.0]) * 1.0
        y.mul_(2.0)
    y.sum().backward()
    assert not plain.requires_grad
    assert not cut.requires_grad
    assert y.grad.tolist() == [1.0]


def program(text, **settings):
    """Run a program under these settings and return what it says of its failure."""
    return finished("import ebb\nx = ebb.zeros(1, requires_grad=True)\n" + text, **settings).stderr


def test_the_environment_turns_checks_on():
    assert "log: the result (float32 [1]) must be" in program("x.log()", EBB_CHECK_NAN_INF="1")
    assert program("x.log()", EBB_CHECK_NAN_INF="nan") == ""
    assert program("x.log()", EBB_CHECK_NAN_INF="0", EBB_DETECT_ANOMALY="0") == ""
    backward = program("x.sqrt().backward()", EBB_DETECT_ANOMALY="1")
    assert "SqrtBackward: the gradient of input 0" in backward
    assert program("x.sqrt().backward()", EBB_DETECT_ANOMALY="") == ""
    off = "ebb.autograd.set_check_nan_inf(False)\nx.log()"
    assert program(off, EBB_CHECK_NAN_INF="1") == ""
