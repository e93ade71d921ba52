# python/ebb/nn/recurrent.py -- LSTM, GRU, RNN and their cells.
"""Recurrent networks, under PyTorch's names.

A network is a stack of layers of one or two directions; each direction of a layer is one op
(``ebb.lstm_layer`` and the like). All weights are drawn uniformly from ``+-1/sqrt(hidden_size)``.
"""

from __future__ import annotations

import math
from typing import Any

from ebb import _C
from ebb._C import Tensor
from ebb.nn import init
from ebb.nn.containers import check_layer_count
from ebb.nn.module import Module
from ebb.nn.parameter import Parameter

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell"]


def _check_sizes(name: str, **sizes: int) -> None:
    for size, value in sizes.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise _C.DTypeError(f"{name}: {size} needs an int, got {value!r}")
        if value < 1:
            raise _C.ValueError(f"{name}: {size} needs at least 1, got {value}")


def _check_tensor(
    name: str, what: str, value: object, shape: tuple[int, ...] | None = None
) -> None:
    if not isinstance(value, Tensor):
        raise _C.DTypeError(f"{name}: {what} needs a tensor, got {type(value).__name__}")
    if shape is not None and tuple(value.shape) != shape:
        raise _C.ShapeError(f"{name}: {what} needs shape {list(shape)}, got {list(value.shape)}")


def _draw(module: Module, hidden_size: int) -> None:
    bound = 1 / math.sqrt(hidden_size)
    for parameter in module.parameters():
        init.uniform_(parameter, -bound, bound)


class _Recurrent(Module):
    """What LSTM, GRU and RNN share: parameters, layers, directions, layouts."""

    _gates = 1  # per unit
    _states = 1  # kinds of state: h, and c for LSTM

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: Any = None,
    ):
        super().__init__()
        name = type(self).__name__
        _check_sizes(name, input_size=input_size, hidden_size=hidden_size)
        check_layer_count(name, num_layers)
        if not 0 <= dropout <= 1:
            raise _C.ValueError(f"{name}: dropout needs a probability from 0 to 1, got {dropout}")
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        for layer in range(num_layers):
            for suffix in self._suffixes(layer):
                self._add_parameters(layer, suffix, dtype)
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _suffixes(self, layer: int) -> list[str]:
        return [f"_l{layer}", f"_l{layer}_reverse"][: self._directions]

    def _add_parameters(self, layer: int, suffix: str, dtype: Any) -> None:
        rows = self._gates * self.hidden_size
        columns = self.input_size if layer == 0 else self.hidden_size * self._directions
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, columns),
            "weight_hh": (rows, self.hidden_size),
        }
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        for name, shape in shapes.items():
            setattr(self, name + suffix, Parameter(_C.empty(shape, dtype=dtype)))

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        _draw(self, self.hidden_size)

    def flatten_parameters(self) -> None:
        """Do nothing: weights need no particular place in memory here."""

    def _layer(self, input: Tensor, states: tuple[Tensor, ...], weights: tuple, reverse: bool):
        """Run one direction of one layer; return its output and last states."""
        raise NotImplementedError

    def _weights(self, suffix: str) -> tuple[Tensor | None, ...]:
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return tuple(self.__dict__[name + suffix] if self.bias or name[0] == "w" else None
                     for name in names)  # fmt: skip

    def _given_states(self, hx: Any, is_batched: bool, batch: int, like: Tensor) -> list[Tensor]:
        """Return one tensor [layers * directions, batch, hidden_size] per kind of state."""
        name = type(self).__name__
        count = self.num_layers * self._directions
        shape = (count, batch, self.hidden_size)
        if hx is None:
            return [_C.zeros(shape, dtype=like.dtype)] * self._states
        given = [hx] if self._states == 1 else hx
        if self._states == 2 and (not isinstance(hx, tuple | list) or len(hx) != 2):
            raise _C.DTypeError(f"{name}: hx needs a pair (h_0, c_0), got {type(hx).__name__}")
        wanted = shape if is_batched else (count, self.hidden_size)
        for state, what in zip(given, ("h_0", "c_0"), strict=False):
            _check_tensor(name, what, state, wanted)
        return [state if is_batched else state.unsqueeze(1) for state in given]

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Any]:
        """Return the last layer's states at all times, and all layers' last states.

        Args:
            input: ``[T, B, input_size]``, ``[B, T, input_size]`` if ``batch_first``, or without
                batch ``[T, input_size]``.
            hx: First states ``[num_layers * directions, B, hidden_size]``; zeros if None.
        """
        name = type(self).__name__
        _check_tensor(name, "input", input)
        if input.ndim not in (2, 3) or input.shape[-1] != self.input_size:
            raise _C.ShapeError(
                f"{name}: input needs 2 or 3 dims, the last of size {self.input_size}, "
                f"got {list(input.shape)}"
            )
        is_batched = input.ndim == 3
        if not is_batched:
            input = input.unsqueeze(1)
        elif self.batch_first:
            input = input.transpose(0, 1)
        states = self._given_states(hx, is_batched, input.shape[1], input)
        output, last = self._run(input, states)
        if not is_batched:
            output, last = output.squeeze(1), [one.squeeze(1) for one in last]
        elif self.batch_first:
            output = output.transpose(0, 1)
        return output, (tuple(last) if self._states == 2 else last[0])

    def _run(self, input: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        last: list[list[Tensor]] = [[] for _ in states]
        for layer in range(self.num_layers):
            outputs = []
            for direction, suffix in enumerate(self._suffixes(layer)):
                position = layer * self._directions + direction
                first = tuple(kind[position] for kind in states)
                output, *ends = self._layer(input, first, self._weights(suffix), direction == 1)
                outputs.append(output)
                for kind, end in zip(last, ends, strict=True):
                    kind.append(end.unsqueeze(0))
            input = outputs[0] if len(outputs) == 1 else _C.cat(outputs, -1)
            if self.dropout > 0 and self.training and layer + 1 < self.num_layers:
                input = _C.dropout(input, self.dropout)
        return input, [kind[0] if len(kind) == 1 else _C.cat(kind, 0) for kind in last]

    def extra_repr(self) -> str:
        """Return the sizes, and the options that are not the usual ones."""
        parts = [f"{self.input_size}, {self.hidden_size}"]
        usual = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0,
                 "bidirectional": False}  # fmt: skip
        parts += [
            f"{n}={getattr(self, n)}" for n, value in usual.items() if getattr(self, n) != value
        ]
        return ", ".join(parts)


class LSTM(_Recurrent):
    """Layers of long short-term memory.

    Example:
        >>> net = ebb.nn.LSTM(16, 32, num_layers=2)
        >>> output, (h_n, c_n) = net(ebb.zeros([5, 3, 16]))
        >>> output.shape
        (5, 3, 32)
    """

    _gates = 4
    _states = 2

    def _layer(self, input: Tensor, states: tuple[Tensor, ...], weights: tuple, reverse: bool):
        return _C.lstm_layer(input, *states, *weights, reverse)


class GRU(_Recurrent):
    """Layers of gated recurrent units."""

    _gates = 3

    def _layer(self, input: Tensor, states: tuple[Tensor, ...], weights: tuple, reverse: bool):
        return _C.gru_layer(input, *states, *weights, reverse)


class RNN(_Recurrent):
    """Layers of plain recurrent units.

    Args:
        nonlinearity: "tanh" or "relu".
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: Any = None,
    ):
        _check_nonlinearity("RNN", nonlinearity)
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, dtype
        )
        self.nonlinearity = nonlinearity

    def _layer(self, input: Tensor, states: tuple[Tensor, ...], weights: tuple, reverse: bool):
        return _C.rnn_layer(input, *states, *weights, self.nonlinearity, reverse)


def _check_nonlinearity(name: str, nonlinearity: object) -> None:
    if nonlinearity not in ("tanh", "relu"):
        raise _C.ValueError(f"{name}: nonlinearity needs tanh or relu, got {nonlinearity!r}")


class _Cell(Module):
    """What the cells share: one step of one layer."""

    _gates = 1
    _states = 1

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, dtype: Any = None):
        super().__init__()
        _check_sizes(type(self).__name__, input_size=input_size, hidden_size=hidden_size)
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = self._gates * hidden_size
        self.weight_ih = Parameter(_C.empty((rows, input_size), dtype=dtype))
        self.weight_hh = Parameter(_C.empty((rows, hidden_size), dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(
                name, Parameter(_C.empty((rows,), dtype=dtype)) if bias else None
            )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        _draw(self, self.hidden_size)

    def _step(self, input: Tensor, hx: Any) -> list[Tensor]:
        """Return the new states for an input of one or two dims."""
        name = type(self).__name__
        _check_tensor(name, "input", input)
        if input.ndim not in (1, 2) or input.shape[-1] != self.input_size:
            raise _C.ShapeError(
                f"{name}: input needs 1 or 2 dims, the last of size {self.input_size}, "
                f"got {list(input.shape)}"
            )
        shape = (*input.shape[:-1], self.hidden_size)
        states = [_C.zeros(shape, dtype=input.dtype)] * self._states
        if hx is not None:
            if self._states == 2 and (not isinstance(hx, tuple | list) or len(hx) != 2):
                raise _C.DTypeError(f"{name}: hx needs a pair (h_0, c_0), got {type(hx).__name__}")
            states = [hx] if self._states == 1 else list(hx)
        for state, what in zip(states, ("h_0", "c_0"), strict=False):
            _check_tensor(name, what, state, shape)
        is_batched = input.ndim == 2
        if not is_batched:
            input, states = input.unsqueeze(0), [one.unsqueeze(0) for one in states]
        ends = self._layer(input.unsqueeze(0), states)[1:]
        return [one if is_batched else one.squeeze(0) for one in ends]

    def _layer(self, input: Tensor, states: list[Tensor]) -> tuple[Tensor, ...]:
        raise NotImplementedError

    @property
    def _weights(self) -> tuple[Tensor | None, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class LSTMCell(_Cell):
    """One step of an LSTM layer: ``(h, c) = cell(input, (h, c))``."""

    _gates = 4
    _states = 2

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Tensor]:
        """Return the new state and cell; the old ones are zeros if None."""
        h, c = self._step(input, hx)
        return h, c

    def _layer(self, input: Tensor, states: list[Tensor]) -> tuple[Tensor, ...]:
        return _C.lstm_layer(input, *states, *self._weights)


class GRUCell(_Cell):
    """One step of a GRU layer: ``h = cell(input, h)``."""

    _gates = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the new state; the old one is zeros if None."""
        return self._step(input, hx)[0]

    def _layer(self, input: Tensor, states: list[Tensor]) -> tuple[Tensor, ...]:
        return _C.gru_layer(input, *states, *self._weights)


class RNNCell(_Cell):
    """One step of a plain recurrent layer: ``h = cell(input, h)``."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        dtype: Any = None,
    ):
        _check_nonlinearity("RNNCell", nonlinearity)
        super().__init__(input_size, hidden_size, bias, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the new state; the old one is zeros if None."""
        return self._step(input, hx)[0]

    def _layer(self, input: Tensor, states: list[Tensor]) -> tuple[Tensor, ...]:
        return _C.rnn_layer(input, *states, *self._weights, self.nonlinearity)
