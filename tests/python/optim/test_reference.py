# tests/python/optim/test_reference.py -- optimizers and schedules against PyTorch's own
# numbers.
"""The numbers are recorded in reference_optim.json by reference_optim.py, with PyTorch 2.15.0."""

import json
import pathlib

import numpy as np
import pytest

import ebb
from tests.python.optim import reference_optim as reference

RECORDED = json.loads(pathlib.Path(__file__).with_name("reference_optim.json").read_text())


@pytest.mark.parametrize("name", reference.OPTIMIZERS)
def test_optimizer_follows_pytorch(name):
    path = reference.run_optimizer(ebb, name)
    # PyTorch keeps the product of momenta and the falling step size in float32.
    is_rounded = name.startswith(("nadam", "asgd"))
    close = {"rtol": 2e-6, "atol": 2e-7} if is_rounded else {"rtol": 1e-11, "atol": 1e-12}
    np.testing.assert_allclose(path, RECORDED["optimizers"][name], **close)


@pytest.mark.parametrize("kind", reference.OPTIONS)
def test_every_combination_of_options_follows_pytorch(kind):
    ends = reference.run_options(ebb, kind)
    # PyTorch keeps the product of momenta and the falling step size in float32.
    close = {"rtol": 1e-5} if kind in ("NAdam", "ASGD") else {"rtol": 1e-11, "atol": 1e-12}
    for end, expected, options in zip(
        ends, RECORDED["options"][kind], reference.combinations(kind), strict=True
    ):
        np.testing.assert_allclose(end, expected, **close, err_msg=str(options))


@pytest.mark.parametrize("name", reference.MATRICES)
def test_steps_of_matrices_follow_pytorch(name):
    path = reference.run_matrix(ebb, name)
    # Muon computes in bfloat16, whose sums are rounded in another order.
    close = {"rtol": 2e-2, "atol": 2e-2} if name.startswith("muon") else {"rtol": 1e-11}
    np.testing.assert_allclose(path, RECORDED["matrices"][name], **close)


@pytest.mark.parametrize("name", reference.SEARCHES)
def test_lbfgs_follows_pytorch(name):
    path = reference.run_search(ebb, name)
    np.testing.assert_allclose(path, RECORDED["searches"][name], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", reference.SCHEDULES)
def test_schedule_follows_pytorch(name):
    path = reference.run_schedule(ebb, name)
    np.testing.assert_allclose(path, RECORDED["schedules"][name], rtol=1e-12, atol=1e-15)


def test_one_cycle_leads_the_first_beta_as_in_pytorch():
    path = reference.run_schedule(ebb, "one_cycle", "Adam")
    np.testing.assert_allclose(path, RECORDED["schedules"]["one_cycle_adam"], rtol=1e-12)


@pytest.mark.parametrize("name", reference.PLATEAUS)
def test_plateau_follows_pytorch(name):
    path = reference.run_plateau(ebb, name)
    np.testing.assert_allclose(path, RECORDED["plateaus"][name], rtol=1e-12)


@pytest.mark.parametrize("name", reference.AVERAGES)
def test_averaged_models_follow_pytorch(name):
    path = reference.run_average(ebb, name)
    # PyTorch divides by the count in float32 where it averages lists.
    close = {"rtol": 1e-6} if name.startswith("mean") else {"rtol": 1e-12, "atol": 1e-13}
    np.testing.assert_allclose(path, RECORDED["averages"][name], **close)


@pytest.mark.parametrize("name", reference.JUMPS)
@pytest.mark.filterwarnings("ignore:scheduler.step.epoch. is deprecated")
def test_jumps_to_epochs_follow_pytorch(name):
    path = reference.run_jumps(ebb, name)
    np.testing.assert_allclose(path, RECORDED["jumps"][name], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", reference.SCHEDULES)
def test_a_schedule_goes_on_from_a_state_of_pytorch(name):
    states, expected = RECORDED["resumed"][name]
    _, path = reference.run_resumed(ebb, name, states)
    np.testing.assert_allclose(path, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", reference.COUNTERS)
def test_states_hold_the_numbers_that_pytorchs_do(name):
    assert reference.run_counters(ebb, name) == pytest.approx(RECORDED["counters"][name], rel=1e-6)
