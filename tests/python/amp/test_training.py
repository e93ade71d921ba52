# tests/python/amp/test_training.py -- networks learn under autocast as they do in float32.
import pytest

from benchmarks.python import amp_training
from benchmarks.python.amp_training import MODES, WORKLOADS

# Of the steps of the whole figures (docs/amp.md), and how far from float32 a mode may end: a few
# times what seeds differ by there.
SHARES = {"digits CNN": (0.2, 4.0), "char GPT": (0.1, 0.1), "char LSTM": (0.1, 0.1)}


@pytest.fixture(scope="module", params=WORKLOADS)
def workload(request):
    share, tolerance = SHARES[request.param]
    made = WORKLOADS[request.param]()
    return made, share, tolerance, amp_training.train(made, MODES[0], 0, share)


@pytest.mark.parametrize("mode", MODES[1:], ids=lambda mode: mode.name)
def test_a_network_learns_as_in_float32(workload, mode):
    made, share, tolerance, wanted = workload
    found = amp_training.train(made, mode, 0, share)
    assert found.skipped == (1 if mode.is_scaled else 0)  # where the overflow is forced
    assert found.score == pytest.approx(wanted.score, abs=tolerance)


def test_it_learns_at_all(workload):
    made, _, _, wanted = workload
    untrained = amp_training.train(made, MODES[0], 0, 0.0).score
    gain = abs(wanted.score - untrained)
    assert gain > (50 if "accuracy" in made.unit else 0.5)
