# tests/python/optim/test_reference.py -- optimizers and schedules against PyTorch's own
# numbers.
"""The numbers are recorded in reference_optim.json by reference_optim.py, with PyTorch 1.13.1."""

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
    np.testing.assert_allclose(path, RECORDED["optimizers"][name], rtol=1e-11, atol=1e-12)


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
