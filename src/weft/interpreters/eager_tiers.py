"""The policy of the two eager tiers: NumPy at once (tier 0), or an executable of one operation (1).

Knows primitives, sizes and the switch; computes nothing.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..config import thread
from ..core.aval import Aval
from ..core.host_threads import LEAST, in_parts
from ..core.primitive import Primitive
from ..core.quiet import unbuffered
from ..core.trace import Params
from ..dtypes import float0


class _Machine:
    """The properties of the machine that the policy asks for, found at the first operation."""

    accelerated: bool | None = None
    find_accelerator: Callable[[], bool] = staticmethod(lambda: False)


machine = _Machine()


def accelerated() -> bool:
    """True if an accelerator is the default device; looked for at the first call."""
    if machine.accelerated is None:
        machine.accelerated = machine.find_accelerator()
    return machine.accelerated


_SMALL = 4096


_BROADCAST = 400_000
"""The highest limit where operands have several shapes, but for arithmetic on long rows: NumPy
takes twice as long for them."""

_ARITHMETIC = (np.add, np.subtract, np.multiply, np.divide)
"""The functions that are as fast with a number for an operand as with an array."""

_COSTLY = (np.exp, np.log, np.tanh, np.sqrt, np.sin, np.cos, np.tan, np.fmod)
"""The functions that take several times as long as reading the operands does."""

_ROW, _BUFFER = 512, 8192
"""The lengths of rows, from and below, for which NumPy's buffers cost more than they save."""

_MANY = 16_384
"""The number of elements from which on going without them is worth half a microsecond."""


def made_on_device(size: int) -> bool:
    """True if an array of so many elements that a formula gives is best made on the device.

    On an accelerator that saves a transfer; a small one goes along with the first operation.
    """
    return size > _SMALL and thread.eager_tier != "host" and accelerated()


def runs_on_host(
    primitive: Primitive, params: Params, avals: Sequence[Aval], outs: Sequence[Aval]
) -> bool:
    """True if NumPy carries an operation out at once.

    `host_limit` of the primitive is the number of elements (of the largest operand or output) up
    to which NumPy is the faster one: `None` means always, 0 never. Where elements don't tell the
    work (a matrix product), the primitive's `host_when` rule decides instead. The switch
    `eager_tier` pins "host" or "xla"; with an accelerator everything runs there.

    Measured (benchmarks/eager.py): NumPy wins for add and multiply up to 1.5 million elements, for
    exp and tanh up to 131,072 and more (`primitives/processor.py`), for sin always (XLA's sine
    isn't vectorised).
    """
    if primitive.evaluate_rule is None:
        return False
    if any(a.dtype == float0 for a in avals):  # devices have no such dtype
        return True
    if primitive.host_limit == 0:
        return False
    if not numpy_may_compute():
        return False
    if thread.eager_tier == "host":
        return True
    if primitive.host_when_rule is not None:
        return bool(primitive.host_when_rule(avals, outs, **dict(params)))
    limit = primitive.host_limit
    if limit is None:
        return True
    if limit > _BROADCAST and several_shapes(avals) and not in_long_rows(primitive, avals):
        limit = _BROADCAST
    return max([a.size for a in (*avals, *outs)], default=0) <= limit


def in_long_rows(primitive: Primitive, avals: Sequence[Aval]) -> bool:
    """True for arithmetic on long rows, in which an operand stays the same or is repeated."""
    return primitive.evaluate_rule in _ARITHMETIC and row_length(avals) >= _ROW


def several_shapes(avals: Sequence[Aval]) -> bool:
    """True if operands have several shapes; numbers don't count."""
    return len({a.shape for a in avals if a.size > 1}) > 1


def row_length(avals: Sequence[Aval]) -> int:
    """The number of elements, at the end of the shape that operands are broadcast to, over which
    each operand either goes on or stays the same: the length of NumPy's inner loop.
    """
    ndim = max(a.ndim for a in avals)
    shapes = [(1,) * (ndim - a.ndim) + a.shape for a in avals]
    length, before = 1, None
    for sizes in reversed(list(zip(*shapes, strict=True))):
        if max(sizes) > 1:
            moving = [n > 1 for n in sizes]
            if before not in (None, moving):
                break
            length, before = length * max(sizes), moving
    return length


def numpy_may_compute() -> bool:
    """True if NumPy may carry out an operation that it is the faster one for."""
    tier = thread.eager_tier
    if tier != "auto":
        return bool(tier == "host")
    return not accelerated()


def host_kernel(
    primitive: Primitive, params: Params, avals: Sequence[Aval], out: Any
) -> Callable[..., Any] | None:
    """The NumPy function that carries the operation out, or `None` for tier 1."""
    outs = out if primitive.multiple else (out,)
    rule = primitive.evaluate_rule
    if rule is None or not runs_on_host(primitive, params, avals, outs):
        return None
    if primitive.kernel_rule is not None:
        kernel: Callable[..., Any] = primitive.kernel_rule(*avals, **dict(params))
        return kernel
    if primitive.evaluate_in and avals:
        rule = primitive.evaluate_in.get(avals[0].dtype, rule)
    if params:
        return functools.partial(rule, **dict(params))
    if rule in _COSTLY and outs[0].size >= LEAST:
        return in_parts(rule, outs[0].shape, outs[0].dtype)
    if rule in _ARITHMETIC and outs[0].size >= _MANY and several_shapes(avals):
        return unbuffered(rule) if _ROW <= row_length(avals) < _BUFFER else rule
    return rule
