# tests/python/ops/reference/signal.py -- NumPy references of windows and of short transforms.
"""Functions that ``op_reference.NAMED`` takes in."""

from __future__ import annotations

from typing import Any

import numpy as np


def _window(a: dict[str, Any], shape: Any) -> np.ndarray:
    """Return the symmetric window with one element more, without it; 1 for one element."""
    length = a["window_length"]
    if length < 2:
        return np.ones(length)
    return shape(length + 1)[:-1] if a.get("periodic", True) else shape(length)


def cosine_window(a: dict[str, Any]) -> np.ndarray:
    alpha, beta = a.get("alpha", 0.5), a.get("beta", 0.5)
    return _window(a, lambda n: alpha - beta * np.cos(2 * np.pi * np.arange(n) / (n - 1)))


def blackman_window(a: dict[str, Any]) -> np.ndarray:
    return _window(a, np.blackman)


def bartlett_window(a: dict[str, Any]) -> np.ndarray:
    return _window(a, np.bartlett)


def kaiser_window(a: dict[str, Any]) -> np.ndarray:
    return _window(a, lambda n: np.kaiser(n, a.get("beta", 12.0)))


def _full_window(a: dict[str, Any]) -> np.ndarray:
    """Return the window with zeros around it, as long as the transform."""
    size = a["n_fft"]
    seen = size if a.get("win_length") is None else a["win_length"]
    window = np.ones(seen) if a.get("window") is None else a["window"]
    before = (size - seen) // 2
    return np.pad(window, (before, size - seen - before))


def _hop(a: dict[str, Any]) -> int:
    return a["n_fft"] // 4 if a.get("hop_length") is None else a["hop_length"]


def stft(a: dict[str, Any]) -> np.ndarray:
    signal, size, window = a["input"], a["n_fft"], _full_window(a)
    row = signal if signal.ndim == 2 else signal[None]
    if a.get("center", True):
        row = np.pad(row, ((0, 0), (size // 2, size // 2)), a.get("pad_mode") or "reflect")
    if a.get("align_to_window"):
        spare = size - (size if a.get("win_length") is None else a["win_length"])
        row = np.pad(row, ((0, 0), (spare // 2, spare - spare // 2)))
    starts = range(0, row.shape[1] - size + 1, _hop(a))
    pieces = np.stack([row[:, start : start + size] for start in starts], 1) * window
    is_real = not np.iscomplexobj(pieces)
    is_half = is_real if a.get("onesided") is None else a["onesided"]
    found = (np.fft.rfft if is_half else np.fft.fft)(pieces).swapaxes(1, 2)
    if a.get("normalized"):
        found = found / np.sqrt(size)
    return found if signal.ndim == 2 else found[0]


def istft(a: dict[str, Any]) -> np.ndarray:
    spectra, size, window, hop = a["input"], a["n_fft"], _full_window(a), _hop(a)
    columns = spectra if spectra.ndim == 3 else spectra[None]
    scale = np.sqrt(size) if a.get("normalized") else 1
    if a.get("return_complex"):
        pieces = np.fft.ifft(columns, axis=1) * scale
    else:
        pieces = np.fft.irfft(columns[:, : size // 2 + 1], size, axis=1) * scale
    count = columns.shape[2]
    sums = np.zeros((columns.shape[0], size + hop * (count - 1)), pieces.dtype)
    squares = np.zeros(sums.shape[1], window.dtype)
    for piece in range(count):
        place = slice(piece * hop, piece * hop + size)
        sums[:, place] += pieces[:, :, piece] * window
        squares[place] += window**2
    skipped = size // 2 if a.get("center", True) else 0
    stop = sums.shape[1] - skipped
    if a.get("length") is not None:
        stop = min(sums.shape[1], skipped + a["length"])
    found = sums[:, skipped:stop] / squares[skipped:stop]
    if a.get("length") is not None:
        found = np.pad(found, ((0, 0), (0, a["length"] - found.shape[1])))
    return found if spectra.ndim == 3 else found[0]


NAMED = {
    "cosine_window": cosine_window,
    "blackman_window": blackman_window,
    "bartlett_window": bartlett_window,
    "kaiser_window": kaiser_window,
    "stft": stft,
    "istft": istft,
}
