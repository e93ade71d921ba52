# tests/python/ops/network/test_signal.py -- what rows of windows and short transforms cannot say:
# those of ebb.signal, round trips, windows beside complex spectra.

import numpy as np
import pytest

import ebb
from ebb.autograd import gradcheck
from tests.python.fresh import printed

windows = ebb.signal.windows


def test_windows_follow_their_formulas():
    n = np.arange(6)
    wanted = {
        "cosine": np.sin(np.pi * (n + 0.5) / 6),
        "exponential": np.exp(-abs(n - 2.5) / 2),
        "gaussian": np.exp(-0.5 * ((n - 2.5) / 1.5) ** 2),
        "general_cosine": 0.5 - 0.3 * np.cos(2 * np.pi * n / 5) + 0.2 * np.cos(4 * np.pi * n / 5),
        "general_hamming": 0.6 - 0.4 * np.cos(2 * np.pi * n / 5),
        "hamming": np.hamming(6),
        "hann": np.hanning(6),
        "blackman": np.blackman(6),
        "bartlett": np.bartlett(6),
        "kaiser": np.kaiser(6, 12),
    }
    options = {"exponential": {"tau": 2.0}, "gaussian": {"std": 1.5}}
    options |= {"general_cosine": {"a": [0.5, 0.3, 0.2]}, "general_hamming": {"alpha": 0.6}}
    for name, values in wanted.items():
        made = getattr(windows, name)(6, dtype=ebb.float64, **options.get(name, {}))
        assert np.allclose(made.numpy(), values, atol=1e-15), name


@pytest.mark.parametrize("name", windows.__all__)
def test_a_periodic_window_lacks_the_last_of_one_element_more(name):
    make = getattr(windows, name)
    given = {"a": [0.5, 0.5]} if name == "general_cosine" else {}
    periodic = make(8, sym=False, **given)
    if name == "exponential":
        given["center"] = 4.0
        assert ebb.allclose(make(8, sym=False, **given), periodic)
        return
    assert ebb.allclose(make(9, **given)[:8], periodic, atol=1e-7)
    assert make(1, **given).tolist() == [1] and make(0, **given).shape == (0,)


def test_windows_take_what_creation_takes():
    made = windows.hann(4, dtype=ebb.float64, device="cpu", requires_grad=True)
    assert made.dtype == ebb.float64 and made.is_leaf and made.requires_grad
    assert ebb.hann_window(4, requires_grad=True).is_leaf
    assert windows.nuttall(4, dtype=ebb.float16, requires_grad=True).requires_grad


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: windows.cosine(-1), "cosine: M must be at least 0, got -1"),
        (lambda: windows.hann(-1), "hann: M must be at least 0, got -1"),
        (lambda: windows.gaussian(3, std=0), "gaussian: std must be above 0, got 0"),
        (lambda: windows.exponential(3, tau=0), "exponential: tau must be above 0, got 0"),
        (
            lambda: windows.exponential(3, center=1),
            "exponential: center must be None for sym, got 1",
        ),
        (lambda: windows.kaiser(3, beta=-1), "kaiser: beta must not be negative, got -1"),
        (lambda: windows.general_cosine(3, a=[]), "general_cosine: needs at least one weight in a"),
        (lambda: windows.nuttall(3, dtype=ebb.int64), "nuttall: dtype must be of floating point"),
    ],
)
def test_bad_windows_say_what_they_need(call, text):
    with pytest.raises(ebb.errors.Error) as caught:
        call()
    assert str(caught.value).startswith(text)


def test_signals_are_imported_when_they_are_first_used():
    code = "import sys, ebb; assert 'ebb.signal' not in sys.modules; ebb.signal.windows.hann(3)"
    printed(code)


@pytest.mark.parametrize("hop", [2, 3, 5])
@pytest.mark.parametrize("center", [True, False])
def test_istft_undoes_stft(hop, center):
    signal = ebb.randn(2, 60, dtype=ebb.float64)
    options = {"hop_length": hop, "window": ebb.hamming_window(10, dtype=ebb.float64)}
    options["center"] = center
    spectrum = signal.stft(10, return_complex=True, **options)
    back = spectrum.istft(10, **options)
    assert ebb.allclose(back, signal[:, : back.shape[1]])
    longer = ebb.istft(spectrum, 10, length=70, **options)
    assert longer.shape == (2, 70) and (longer[:, back.shape[1] + 10 :] == 0).all()


def test_windows_shorter_than_the_transform_lie_in_its_middle():
    signal = ebb.randn(60, dtype=ebb.float64)
    window = ebb.hamming_window(7, dtype=ebb.float64)
    spectrum = signal.stft(10, 3, 7, window, return_complex=True)
    longer = ebb.cat([ebb.zeros(1), window, ebb.zeros(2)])
    assert ebb.equal(spectrum, signal.stft(10, 3, window=longer, return_complex=True))
    assert ebb.allclose(spectrum.istft(10, 3, 7, window), signal)


def test_complex_signals_come_back_from_all_frequencies():
    signal = ebb.randn(40, dtype=ebb.complex128)
    spectrum = ebb.stft(signal, 8, normalized=True)
    assert spectrum.shape == (8, 21)
    back = ebb.istft(spectrum, 8, normalized=True, return_complex=True)
    assert ebb.allclose(back, signal)


def test_real_results_hold_the_parts_of_complex_ones():
    signal = ebb.randn(40)
    spectrum = ebb.stft(signal, 8, return_complex=True)
    parts = ebb.stft(signal, 8, return_complex=False)
    assert ebb.equal(parts, ebb.view_as_real(spectrum))


def test_istft_sends_gradients_to_spectrum_and_window():
    spectrum = ebb.randn(5, 4, dtype=ebb.complex128).requires_grad_()
    window = ebb.hamming_window(8, dtype=ebb.float64, requires_grad=True)
    assert gradcheck(lambda s, w: ebb.istft(s, 8, window=w), (spectrum, window))


def test_views_of_signals_are_cut_like_their_copies():
    signal = ebb.randn(100, 2)[::2].T
    made = ebb.stft(signal, 8, center=False, return_complex=True)
    assert ebb.equal(made, ebb.stft(signal.clone(), 8, center=False, return_complex=True))
