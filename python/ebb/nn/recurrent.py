# python/ebb/nn/recurrent.py -- LSTM, GRU, RNN and their cells.
"""Recurrent networks, under PyTorch's names.

A network is a stack of layers of one or two directions; each direction of a layer is one op
(``ebb.lstm_layer`` and the like). All weights are drawn uniformly from ``+-1/sqrt(hidden_size)``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ebb import _C
from ebb._C import Tensor
from ebb.nn import functional, init
from ebb.nn.containers import check_layer_count
from ebb.nn.module import Module
from ebb.nn.parameter import Parameter
from ebb.nn.utils.rnn import PackedSequence, RecurrentChecks, runs

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]


def _check_sizes(name: str, **sizes: int) -> None:
    for size, value in sizes.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise _C.DTypeError(f"{name}: {size} needs an int, got {value!r}")
        if value < 1:
            raise _C.ValueError(f"{name}: {size} needs at least 1, got {value}")


def _check_switches(name: str, **switches: bool) -> None:
    # Else a dropout in the place of bias, `LSTM(8, 8, 2, 0.5)`, would pass for True.
    for switch, value in switches.items():
        if not isinstance(value, bool):
            raise _C.DTypeError(f"{name}: {switch} needs a bool, got {value!r}")


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


class RNNBase(RecurrentChecks, Module):
    """What LSTM, GRU and RNN share: parameters, layers, directions, layouts.

    Example:
        >>> lstm = ebb.nn.LSTM(3, 4, num_layers=2)
        >>> isinstance(lstm, ebb.nn.RNNBase), lstm.num_layers
        (True, 2)
    """

    _gates = 1  # per unit
    _states = 1  # kinds of state: h, and c for LSTM
    proj_size = 0  # of the output and h, if it is not hidden_size

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        name = type(self).__name__
        _check_sizes(name, input_size=input_size, hidden_size=hidden_size)
        _check_switches(name, bias=bias, batch_first=batch_first)
        check_layer_count(name, num_layers)
        if not 0 <= dropout <= 1:
            raise _C.ValueError(f"{name}: dropout needs a probability from 0 to 1, got {dropout}")
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout: float = float(dropout)
        self.bidirectional = bidirectional
        for layer in range(num_layers):
            for suffix in self._suffixes(layer):
                self._add_parameters(layer, suffix, device, dtype)
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _output_size(self) -> int:
        return self.proj_size or self.hidden_size

    def _suffixes(self, layer: int) -> list[str]:
        return [f"_l{layer}", f"_l{layer}_reverse"][: self._directions]

    def _add_parameters(self, layer: int, suffix: str, device: Any, dtype: Any) -> None:
        rows = self._gates * self.hidden_size
        columns = self.input_size if layer == 0 else self._output_size * self._directions
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, columns),
            "weight_hh": (rows, self._output_size),
        }
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        for name, shape in shapes.items():
            setattr(self, name + suffix, Parameter(_C.empty(shape, device=device, dtype=dtype)))

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each direction of each layer."""
        suffixes = [one for layer in range(self.num_layers) for one in self._suffixes(layer)]
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
        return [
            [self._parameters[name + suffix] for name in names if name + suffix in self._parameters]
            for suffix in suffixes
        ]

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        _draw(self, self.hidden_size)

    def flatten_parameters(self) -> None:
        """Do nothing: weights need no particular place in memory here."""

    def _layer(
        self, input: Tensor, states: tuple[Tensor, ...], weights: tuple[Any, ...], reverse: bool
    ):
        """Run one direction of one layer; return its output and last states."""
        raise NotImplementedError

    def _weights(self, suffix: str) -> tuple[Tensor | None, ...]:
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return tuple(getattr(self, name + suffix) if self.bias or name[0] == "w" else None
                     for name in names)  # fmt: skip

    def _given_states(self, hx: Any, is_batched: bool, batch: int, like: Tensor) -> list[Tensor]:
        """Return one tensor [layers * directions, batch, hidden_size] per kind of state."""
        name = type(self).__name__
        count = self.num_layers * self._directions
        widths = (self._output_size, self.hidden_size)[: self._states]
        if hx is None:
            where = {"dtype": like.dtype, "device": like.device}
            return [_C.zeros((count, batch, width), **where) for width in widths]
        given = [hx] if self._states == 1 else hx
        if self._states == 2 and (not isinstance(hx, tuple | list) or len(hx) != 2):
            raise _C.DTypeError(f"{name}: hx needs a pair (h_0, c_0), got {type(hx).__name__}")
        for state, what, width in zip(given, ("h_0", "c_0"), widths, strict=False):
            wanted = (count, batch, width) if is_batched else (count, width)
            _check_tensor(name, what, state, wanted)
        return [state if is_batched else state.unsqueeze(1) for state in given]

    def forward(self, input: Tensor | PackedSequence, hx: Any = None) -> tuple[Any, Any]:
        """Return the last layer's states at all times, and all layers' last states.

        Args:
            input: ``[T, B, input_size]``, ``[B, T, input_size]`` if ``batch_first``, or without
                batch ``[T, input_size]``; or a ``PackedSequence`` of such sequences, for which
                the output is packed too.
            hx: First states ``[num_layers * directions, B, hidden_size]``; zeros if None. With
                ``proj_size`` the last size of h, not of c, is that.
        """
        name = type(self).__name__
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
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
        output, last = self._run(input, states, self._layer)
        if not is_batched:
            output, last = output.squeeze(1), [one.squeeze(1) for one in last]
        elif self.batch_first:
            output = output.transpose(0, 1)
        return output, (tuple(last) if self._states == 2 else last[0])

    def _forward_packed(self, input: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        """Run packed sequences: states come, and are returned, in the sequences' first order."""
        data = input.data
        if data.ndim != 2 or data.shape[1] != self.input_size:
            raise _C.ShapeError(
                f"{type(self).__name__}: packed input needs shape [elements, {self.input_size}], "
                f"got {list(data.shape)}"
            )
        sizes = runs(input.batch_sizes)
        states = self._given_states(hx, True, sizes[0][1], data)
        order, back = input.sorted_indices, input.unsorted_indices
        if order is not None and hx is not None:
            states = [state.index_select(1, order) for state in states]
        output, last = self._run(data, states, functools.partial(self._packed_layer, sizes))
        if back is not None:
            last = [one.index_select(1, back) for one in last]
        ends = tuple(last) if self._states == 2 else last[0]
        return input._replace(data=output), ends

    def _packed_layer(
        self,
        sizes: list[tuple[int, int]],
        data: Tensor,
        states: tuple[Tensor, ...],
        weights: tuple[Any, ...],
        reverse: bool,
    ) -> tuple[Tensor, ...]:
        """Run one direction over elements packed in runs of times of one batch size.

        Forward, sequences end between runs, and their states are put aside; in reverse the shorter
        sequences join between runs, with their first states.
        """
        parts = data.split([times * batch for times, batch in sizes])
        outputs: list[Tensor] = []
        ended: list[tuple[Tensor, ...]] = []
        now: tuple[Tensor, ...] = tuple(one[:0] for one in states) if reverse else states
        steps = list(zip(parts, sizes, strict=True))
        for part, (times, batch) in reversed(steps) if reverse else steps:
            count = now[0].shape[0]
            if batch < count:
                ended.append(tuple(one[batch:] for one in now))
                now = tuple(one[:batch] for one in now)
            elif batch > count:
                joining = tuple(one[count:batch] for one in states)
                now = tuple(map(_C.cat, zip(now, joining, strict=True))) if count else joining
            output, *ends = self._layer(part.unflatten(0, (times, batch)), now, weights, reverse)
            outputs.append(output.flatten(0, 1))
            now = tuple(ends)
        ended.append(now)
        if reverse:
            outputs.reverse()
        last = (_C.cat(kind) for kind in zip(*reversed(ended), strict=True))
        return _C.cat(outputs), *last

    def _run(
        self, input: Tensor, states: list[Tensor], run_layer: Callable[..., tuple[Tensor, ...]]
    ) -> tuple[Tensor, list[Tensor]]:
        last: list[list[Tensor]] = [[] for _ in states]
        for layer in range(self.num_layers):
            outputs = []
            for direction, suffix in enumerate(self._suffixes(layer)):
                position = layer * self._directions + direction
                first = tuple(kind[position] for kind in states)
                output, *ends = run_layer(input, first, self._weights(suffix), direction == 1)
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
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False,
                 "dropout": 0.0, "bidirectional": False}  # fmt: skip
        parts += [
            f"{n}={getattr(self, n)}" for n, value in usual.items() if getattr(self, n) != value
        ]
        return ", ".join(parts)


class LSTM(RNNBase):
    """Layers of long short-term memory.

    Args:
        proj_size: Size that h and the output are projected to at each step; none if 0.
    Example:
        >>> net = ebb.nn.LSTM(16, 32, num_layers=2)
        >>> output, (h_n, c_n) = net(ebb.zeros([5, 3, 16]))
        >>> output.shape
        ebb.Size([5, 3, 32])
    """

    _gates = 4
    _states = 2
    mode = "LSTM"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ):
        # Sizes are checked below, before proj_size is compared with them.
        is_size = isinstance(proj_size, int) and not isinstance(proj_size, bool)
        if not is_size or (proj_size != 0 and not 0 < proj_size < hidden_size):
            raise _C.ValueError(
                f"LSTM: proj_size needs an int from 0 to below hidden_size {hidden_size}, got "
                f"{proj_size!r}"
            )
        object.__setattr__(self, "proj_size", proj_size)
        super().__init__(
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device,
            dtype,
        )

    def _layer(
        self, input: Tensor, states: tuple[Tensor, ...], weights: tuple[Any, ...], reverse: bool
    ):
        if not self.proj_size:
            return _C.lstm_layer(input, *states, *weights, reverse)
        return self._projected_layer(input, states, weights, reverse)

    def _weights(self, suffix: str) -> tuple[Tensor | None, ...]:
        weights = super()._weights(suffix)
        return (*weights, getattr(self, "weight_hr" + suffix)) if self.proj_size else weights

    def _projected_layer(
        self, input: Tensor, states: tuple[Tensor, ...], weights: tuple[Any, ...], reverse: bool
    ) -> tuple[Tensor, ...]:
        """Run a layer whose h is projected at each step.

        What one step gives to the next is ``weight_hh @ weight_hr`` times the h before its
        projection; only the first step begins with a projected one.
        """
        weight_ih, weight_hh, bias_ih, bias_hh, weight_hr = weights
        room = (0, self.hidden_size - self.proj_size)
        first, rest = (input[-1:], input[:-1]) if reverse else (input[:1], input[1:])
        h, c = functional.pad(states[0], room), states[1]
        wide = functional.pad(weight_hh, room)
        output, h, c = _C.lstm_layer(first, h, c, weight_ih, wide, bias_ih, bias_hh, reverse)
        if len(rest) > 0:
            joined = weight_hh.matmul(weight_hr)
            more, h, c = _C.lstm_layer(rest, h, c, weight_ih, joined, bias_ih, bias_hh, reverse)
            output = _C.cat([more, output] if reverse else [output, more])
        return functional.linear(output, weight_hr), functional.linear(h, weight_hr), c


class GRU(RNNBase):
    """Layers of gated recurrent units.

    Example:
        >>> layer = ebb.nn.GRU(3, 4, batch_first=True)
        >>> output, hidden = layer(ebb.ones(2, 5, 3))
        >>> output.shape, hidden.shape
        (ebb.Size([2, 5, 4]), ebb.Size([1, 2, 4]))
    """

    _gates = 3
    mode = "GRU"

    def _layer(
        self, input: Tensor, states: tuple[Tensor, ...], weights: tuple[Any, ...], reverse: bool
    ):
        return _C.gru_layer(input, *states, *weights, reverse)


class RNN(RNNBase):
    """Layers of plain recurrent units.

    Args:
        nonlinearity: "tanh" or "relu".

    Example:
        >>> layer = ebb.nn.RNN(3, 4, batch_first=True)
        >>> output, hidden = layer(ebb.ones(2, 5, 3))
        >>> output.shape, hidden.shape
        (ebb.Size([2, 5, 4]), ebb.Size([1, 2, 4]))
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
        device: Any = None,
        dtype: Any = None,
    ):
        _check_nonlinearity("RNN", nonlinearity)
        super().__init__(
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device,
            dtype,
        )
        self.nonlinearity = nonlinearity
        self.mode = f"RNN_{nonlinearity.upper()}"

    def _layer(
        self, input: Tensor, states: tuple[Tensor, ...], weights: tuple[Any, ...], reverse: bool
    ):
        return _C.rnn_layer(input, *states, *weights, self.nonlinearity, reverse)


def _check_nonlinearity(name: str, nonlinearity: object) -> None:
    if nonlinearity not in ("tanh", "relu"):
        raise _C.ValueError(f"{name}: nonlinearity needs tanh or relu, got {nonlinearity!r}")


class RNNCellBase(Module):
    """What the cells share: one step of one layer.

    Example:
        >>> isinstance(ebb.nn.GRUCell(3, 4), ebb.nn.RNNCellBase)
        True
    """

    _gates = 1
    _states = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        _check_sizes(type(self).__name__, input_size=input_size, hidden_size=hidden_size)
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = self._gates * hidden_size
        self.weight_ih: Parameter = Parameter(
            _C.empty((rows, input_size), device=device, dtype=dtype)
        )
        self.weight_hh: Parameter = Parameter(
            _C.empty((rows, hidden_size), device=device, dtype=dtype)
        )
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(
                name, Parameter(_C.empty((rows,), device=device, dtype=dtype)) if bias else None
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
        states = [_C.zeros(shape, dtype=input.dtype, device=input.device)] * self._states
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


class LSTMCell(RNNCellBase):
    """One step of an LSTM layer: ``(h, c) = cell(input, (h, c))``.

    Example:
        >>> hidden, cell = ebb.nn.LSTMCell(3, 4)(ebb.ones(2, 3))
        >>> hidden.shape, cell.shape
        (ebb.Size([2, 4]), ebb.Size([2, 4]))
    """

    _gates = 4
    _states = 2

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Tensor]:
        """Return the new state and cell; the old ones are zeros if None."""
        h, c = self._step(input, hx)
        return h, c

    def _layer(self, input: Tensor, states: list[Tensor]) -> tuple[Tensor, ...]:
        return _C.lstm_layer(input, *states, *self._weights)


class GRUCell(RNNCellBase):
    """One step of a GRU layer: ``h = cell(input, h)``.

    Example:
        >>> cell = ebb.nn.GRUCell(3, 4)
        >>> cell(ebb.ones(2, 3)).shape
        ebb.Size([2, 4])
    """

    _gates = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the new state; the old one is zeros if None."""
        return self._step(input, hx)[0]

    def _layer(self, input: Tensor, states: list[Tensor]) -> tuple[Tensor, ...]:
        return _C.gru_layer(input, *states, *self._weights)


class RNNCell(RNNCellBase):
    """One step of a plain recurrent layer: ``h = cell(input, h)``.

    Example:
        >>> cell = ebb.nn.RNNCell(3, 4)
        >>> cell(ebb.ones(2, 3)).shape
        ebb.Size([2, 4])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ):
        _check_nonlinearity("RNNCell", nonlinearity)
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def extra_repr(self) -> str:
        """Return the sizes, and the nonlinearity if it is not tanh."""
        usual = self.nonlinearity == "tanh"
        return super().extra_repr() + ("" if usual else f", nonlinearity={self.nonlinearity}")

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the new state; the old one is zeros if None."""
        return self._step(input, hx)[0]

    def _layer(self, input: Tensor, states: list[Tensor]) -> tuple[Tensor, ...]:
        return _C.rnn_layer(input, *states, *self._weights, self.nonlinearity)
