"""Requests: Prompts are sequences of tokens of several lengths, and start_tokens begin them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as onp

from .. import option_checks
from ..errors import ShapeError
from ..user_lines import noted

__all__ = ["Prompts", "start_tokens"]


class Prompts(NamedTuple):
    """Sequences in the rows of an array, and their lengths."""

    tokens: onp.ndarray
    lengths: onp.ndarray

    @classmethod
    def read(cls, name: str, inputs: Any, batch_size: Any, pad_id: Any = None) -> "Prompts":
        """Reads the sequences passed to a function `name`.

        Args:
          name: the function, for its errors.
          inputs: integers [batch_size, length], a list of sequences of several lengths, or None for
            empty ones.
          batch_size: the number of sequences.
          pad_id: the padding token, which is removed at both ends; None if there is no padding.
        Returns: the sequences, padded with zeros.
        Raises: TypeError, ShapeError, ValueError: they are invalid.
        Example:
          >>> prompts = Prompts.read("f", [[5, 6], [7]], 2)
          >>> prompts.tokens.tolist(), prompts.lengths.tolist()
          ([[5, 6], [7, 0]], [2, 1])
        """
        n = option_checks.whole_number(name, "batch_size", batch_size)
        if inputs is None:
            return cls(onp.zeros((n, 0), onp.int32), onp.zeros(n, onp.int32))
        rows = _rows(name, inputs)
        if len(rows) != n:
            raise noted(
                ValueError(
                    f"{name}: batch_size must be the number of rows of inputs, {len(rows)}; got {n}"
                    f"\n  fix: batch_size={len(rows)}"
                )
            )
        if pad_id is not None:
            pad = option_checks.whole_number(name, "pad_id", pad_id, least=0)
            rows = [_without_padding(row, pad) for row in rows]
        lengths = onp.array([len(row) for row in rows], onp.int32)
        tokens = onp.zeros((n, lengths.max(initial=0)), onp.int32)
        for row, sequence in zip(tokens, rows, strict=True):
            row[: len(sequence)] = sequence
        return cls(tokens, lengths)

    def behind(self, start: onp.ndarray) -> "Prompts":
        """The sequences with a token before each, [batch, 1]."""
        return Prompts(onp.concatenate([start, self.tokens], axis=1), self.lengths + 1)


def start_tokens(name: str, start_id: Any, batch_size: int) -> onp.ndarray:
    """The first tokens of sequences: int32 [batch_size, 1].

    Args:
      name: the function, for its errors.
      start_id: a token, or integers [batch_size, 1].
      batch_size: the number of sequences.
    Raises: TypeError, ShapeError: `start_id` is invalid.
    Example:
      >>> start_tokens("f", 3, 2).tolist()
      [[3], [3]]
    """
    tokens = _integers(name, "start_id", start_id)
    if tokens.ndim == 0:
        return onp.full((batch_size, 1), tokens, onp.int32)
    if tokens.shape != (batch_size, 1):
        raise noted(
            ShapeError(
                f"{name}: start_id must be a token, or tokens of shape {(batch_size, 1)}; got "
                f"shape {tokens.shape}"
            )
        )
    return tokens


def _rows(name: str, inputs: Any) -> Sequence[onp.ndarray]:
    """Each sequence as an array of integers."""
    if isinstance(inputs, list | tuple):
        rows = [_integers(name, f"inputs[{i}]", row) for i, row in enumerate(inputs)]
        shape = "a list of arrays of shapes " + ", ".join(str(row.shape) for row in rows[:3])
    else:
        tokens = _integers(name, "inputs", inputs)
        rows, shape = [*onp.atleast_1d(tokens)], f"shape {tokens.shape}"
    if any(row.ndim != 1 for row in rows):
        raise noted(
            ShapeError(
                f"{name}: inputs must be tokens [batch_size, length], or a list of sequences; got "
                f"{shape}"
            )
        )
    return rows


def _integers(name: str, option: str, value: Any) -> onp.ndarray:
    tokens = onp.asarray(value)
    if tokens.size == 0:
        tokens = tokens.astype(onp.int32)
    if tokens.dtype.kind not in "iu":
        raise noted(
            TypeError(f"{name}: {option} must be tokens, integers; got {tokens.dtype} values")
        )
    if tokens.size and tokens.min() < 0:
        raise noted(ValueError(f"{name}: {option} must be tokens >= 0; got {tokens.min()}"))
    return tokens.astype(onp.int32)


def _without_padding(row: onp.ndarray, pad: int) -> onp.ndarray:
    places = onp.flatnonzero(row != pad)
    return row[places[0] : places[-1] + 1] if len(places) else row[:0]
