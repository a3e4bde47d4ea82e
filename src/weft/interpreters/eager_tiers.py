"""Chooses between the two eager tiers: NumPy (tier 0) or a compiled program (tier 1)."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ..config import thread
from ..core.aval import Aval
from ..core.jaxpr import Jaxpr
from ..core.primitive import Primitive
from ..core.trace import Params
from ..dtypes import float0
from ..primitives.products import are_matrices, dot_general


class _Machine:
    """Properties of the machine, found at the first operation."""

    accelerated: bool | None = None
    find_accelerator: Callable[[], bool] = staticmethod(lambda: False)


machine = _Machine()


def accelerated() -> bool:
    """True if an accelerator is the default device; determined at the first call."""
    if machine.accelerated is None:
        machine.accelerated = machine.find_accelerator()
    return machine.accelerated


_MAX_HOST_ELEMENTS = 4096


def made_on_device(size: int) -> bool:
    """True if the device should make an array of this size from a formula.

    On an accelerator that saves a transfer. A small array travels with the first operation instead.
    """
    return size > _MAX_HOST_ELEMENTS and thread.eager_tier != "host" and accelerated()


def numpy_may_compute() -> bool:
    """True if NumPy may compute operations for which it is faster."""
    tier = thread.eager_tier
    if tier != "auto":
        return bool(tier == "host")
    return not accelerated()


def host_share(
    primitive: Primitive, params: Params, avals: Sequence[Aval], outs: Sequence[Aval]
) -> float:
    """The work of an operation, as a fraction of the limit below which NumPy is faster than XLA.

    The fractions of a program's operations add up (`HostPolicy`). The switch `eager_tier` pins
    "host" or "xla". If there is an accelerator, everything runs on it.
    """
    if primitive.evaluate_rule is None:
        return math.inf
    if any(a.dtype == float0 for a in avals):  # devices do not support the dtype
        return 0.0
    if not numpy_may_compute():
        return math.inf
    if thread.eager_tier == "host":
        return 0.0
    return primitive.host.share(avals, outs, dict(params))


def host_function(
    primitive: Primitive, params: Params, avals: Sequence[Aval]
) -> Callable[..., Any]:
    """The NumPy function for an operation: its `evaluate` rule for one signature."""
    if primitive.host.kernel_rule is not None:
        kernel: Callable[..., Any] = primitive.host.kernel_rule(*avals, **dict(params))
        return kernel
    rule: Any = primitive.evaluate_rule
    if primitive.evaluate_in and avals:
        rule = primitive.evaluate_in.get(avals[0].dtype, rule)
    return functools.partial(rule, **dict(params)) if params else rule


def runs_by_products(jaxpr: Jaxpr) -> bool:
    """True if a program should run operation by operation, so that its products are computed as
    products of matrices (`matrix_products.py`): NumPy computes its other operations at every size.
    """
    products = []
    for e in jaxpr.equations:
        if e.primitive is dot_general:
            products.append(e)
        elif e.primitive.host.cost != "always":
            return False
    return numpy_may_compute() and not all(
        are_matrices(*[x.aval for x in e.inputs], **dict(e.params)) for e in products
    )
