"""The types of the arguments and results of primitives' rules. The protocol is in
`core/primitive.py`.

    evaluate    Host, …             -> Host
    lower       Block, Operand, …   -> Operand
    jvp         Values, Tangents    -> Tangent
    transpose   Value, Argument, …  -> Tangents
    batch       Values, Batched     -> Value
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..core.aval import Aval
from ..core.primitive import Shared
from ..core.value import Value

Host: TypeAlias = np.ndarray[Any, np.dtype[Any]]
"""A NumPy array, or a NumPy scalar, which has the same interface."""

Kernel: TypeAlias = Callable[..., Any]
"""A function of NumPy arrays: (Host, …) -> Host."""

Ufunc: TypeAlias = np.ufunc
"""NumPy's elementwise function of two arrays, with its `reduce`, `accumulate` and `at`."""

Values: TypeAlias = Sequence[Value]
"""Arguments or results."""

Tangent: TypeAlias = Value | None
"""A tangent or cotangent; `None` is zero."""

Tangents: TypeAlias = Sequence[Tangent]
"""A tangent or cotangent for each argument or result."""

Argument: TypeAlias = Value | Aval
"""An argument of a transpose rule: its aval where the operation is linear in it."""

Batched: TypeAlias = Sequence[bool]
"""True for each argument that carries the batch along its axis 0."""

BatchedResult: TypeAlias = Value | Shared
"""A result with the batch along axis 0, or one result for the whole batch."""

Avals: TypeAlias = Sequence[Aval]
"""The types of arguments or results."""

Integers: TypeAlias = tuple[int, ...]
"""Axes, lengths, offsets: a parameter with one number for each axis, or with axis numbers."""

Names: TypeAlias = tuple[Hashable, ...]
"""The names of mapped axes."""

DType: TypeAlias = np.dtype[Any]
"""A NumPy dtype."""

Identity: TypeAlias = Callable[[DType], np.generic]
"""dtype -> the identity element, as a scalar of that dtype."""
