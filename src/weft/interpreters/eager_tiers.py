"""The policy of the two eager tiers: NumPy at once (tier 0), or an executable of one operation (1).

Knows primitives, sizes and the switch; computes nothing.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..config import thread
from ..core.aval import Aval
from ..core.primitive import Primitive
from ..core.trace import Params


class _Machine:
    """The properties of the machine that the policy asks for, found at the first operation."""

    accelerated: bool | None = None
    find_accelerator: Callable[[], bool] = staticmethod(lambda: False)


machine = _Machine()


def runs_on_host(
    primitive: Primitive, params: Params, avals: Sequence[Aval], outs: Sequence[Aval]
) -> bool:
    """True if NumPy carries an operation out at once.

    `host_limit` of the primitive is the number of elements (of the largest operand or output) up
    to which NumPy is the faster one: `None` means always, 0 never. Where elements don't tell the
    work (a matrix product), the primitive's `host_when` rule decides instead. The switch
    `eager_tier` pins "host" or "xla"; with an accelerator everything runs there.

    Measured (benchmarks/eager.py): NumPy wins for add and multiply up to a million elements, for
    exp and tanh up to some ten thousand, for sin always (XLA's sine isn't vectorised).
    """
    if primitive.evaluate_rule is None or primitive.host_limit == 0:
        return False
    tier = thread.eager_tier
    if tier != "auto":
        return bool(tier == "host")
    if machine.accelerated is None:
        machine.accelerated = machine.find_accelerator()
    if machine.accelerated:
        return False
    if primitive.host_when_rule is not None:
        return bool(primitive.host_when_rule(avals, outs, **dict(params)))
    limit = primitive.host_limit
    return limit is None or max([a.size for a in (*avals, *outs)], default=0) <= limit


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
    return functools.partial(rule, **dict(params)) if params else rule
