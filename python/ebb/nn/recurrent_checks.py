# python/ebb/nn/recurrent_checks.py -- what programs that derive from LSTM and kin ask their inputs.
"""``RecurrentChecks``, a base of ``RNNBase``; the networks themselves check as they run."""

from __future__ import annotations

from typing import Any

from ebb import _C
from ebb._C import Tensor


class RecurrentChecks:
    """PyTorch's checks of inputs and states, which ``forward`` of a subclass may call."""

    input_size: int
    hidden_size: int
    num_layers: int
    proj_size: int
    bidirectional: bool
    batch_first: bool

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise unless the input is of the layer: 3 dims, or 2 if it is packed.

        Raises:
            ShapeError: If it is not.
        """
        dims = 3 if batch_sizes is None else 2
        if input.ndim != dims or input.shape[-1] != self.input_size:
            raise _C.ShapeError(
                f"check_input: needs {dims} dims, the last of {self.input_size}, "
                f"got {list(input.shape)}"
            )

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """Return the shape of the state h for an input."""
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.shape[0] if self.batch_first else input.shape[1]
        layers = self.num_layers * (2 if self.bidirectional else 1)
        return layers, batch, self.proj_size or self.hidden_size

    def get_expected_cell_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """Return the shape of the state c for an input."""
        return (*self.get_expected_hidden_size(input, batch_sizes)[:2], self.hidden_size)

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """Raise unless a state has a shape.

        Args:
            msg: The error's text, with places for the shape that is wanted and for the other.

        Raises:
            ShapeError: If it has another.
        """
        if tuple(hx.shape) != tuple(expected_hidden_size):
            raise _C.ShapeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise unless the input and the state, or the pair of an LSTM's, fit each other."""
        self.check_input(input, batch_sizes)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        if isinstance(hidden, Tensor):
            self.check_hidden_size(hidden, expected)
            return
        self.check_hidden_size(hidden[0], expected, "Expected hidden[0] size {}, got {}")
        cell = self.get_expected_cell_size(input, batch_sizes)
        self.check_hidden_size(hidden[1], cell, "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return a state, or a pair of them, with its batch in another order; None: the same."""
        if permutation is None:
            return hx
        if isinstance(hx, Tensor):
            return hx.index_select(1, permutation)
        return tuple(one.index_select(1, permutation) for one in hx)
