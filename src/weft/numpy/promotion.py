"""Promotion: operands of any kind to values of one dtype, planned once for each pair of types.

Knows the lattice of dtypes; knows nothing of operators.
"""

import warnings
from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..config import config, thread
from ..core.array import Array, as_value, literal
from ..core.aval import Aval
from ..core.primitive import Primitive
from ..core.source import note_user_line
from ..core.trace import current
from ..core.value import Value
from ..interpreters.evaluate import quietly
from ..primitives.structural import convert_element_type

SCALARS = frozenset((bool, int, float, complex))
_base = current.base
_ToDtype = Callable[[Any], Any]


def cast(x: Any, dtype: Any, weak_type: bool = False) -> Any:
    """A value in another dtype; itself if it is in it already."""
    if x.aval.dtype == dtype and x.aval.weak_type == weak_type:
        return x
    return current.trace.process(
        convert_element_type, (x,), (("dtype", dtype), ("weak_type", weak_type))
    )


def operand_type(x: Any) -> tuple[Any, bool]:
    """(dtype, weak) of an operand."""
    if isinstance(x, Value):
        return x.aval.dtype, x.aval.weak_type
    if x.__class__ in SCALARS:
        kind = x.__class__
        if kind is bool:
            return dtypes.bool_, False
        if kind is int:
            return dtypes.default_int(), True
        return (dtypes.default_float() if kind is float else dtypes.default_complex()), True
    return as_value(x).aval.dtype, False


def promote_values(*xs: Any, to_inexact: bool = False) -> list[Any]:
    """Operands as values of one dtype.

    Args:
      to_inexact: integers and booleans become the default float.
    """
    dtype, weak = operand_type(xs[0])
    for x in xs[1:]:
        dtype, weak = dtypes.promote(dtype, weak, *operand_type(x))
    if to_inexact and not dtypes.is_inexact(dtype):
        dtype, weak = dtypes.promote(dtype, weak, dtypes.default_float(), True)
    return [to_dtype(x, dtype) for x in xs]


def to_dtype(x: Any, dtype: Any) -> Any:
    """An operand as a value of a dtype; Python scalars and weak values stay weak."""
    if x.__class__ in SCALARS:
        return literal(x, dtype)
    x = as_value(x)
    if x.aval.dtype == dtype:
        return x
    return cast(x, dtype, x.aval.weak_type and x.aval.dtype != dtypes.bool_)


_plan_caches: list[dict[Any, Any]] = []


@config.on_change
def _forget() -> None:
    for cache in _plan_caches:
        cache.clear()


def binary(primitive: Primitive, name: str, *, to_inexact: bool = False) -> Callable[..., Any]:
    """A function of two operands with promotion, applying one primitive.

    Its plans, kept for each pair of operand types, say how to cast each operand, the NumPy kernel
    if the operation is done at once on the host, and the output's aval: 0.1 µs a look-up.
    """
    plans: dict[Any, tuple[_ToDtype | None, _ToDtype | None, Any, Aval]] = {}
    _plan_caches.append(plans)

    def function(x: Any, y: Any, /) -> Any:
        try:
            if y.__class__ in SCALARS:
                cast_x, cast_y, kernel, out = plans[x.aval, y.__class__, thread.x64]
            elif x.__class__ in SCALARS:
                cast_x, cast_y, kernel, out = plans[x.__class__, y.aval, thread.x64]
            else:
                cast_x, cast_y, kernel, out = plans[x.aval, y.aval]
        except (AttributeError, KeyError):
            return planned(x, y)
        if cast_x is not None:
            x = cast_x(x)
        if cast_y is not None:
            y = cast_y(y)
        trace = current.trace
        if trace is _base and kernel is not None and x.__class__ is Array and y.__class__ is Array:
            hx, hy = x._host, y._host
            if hx is None:
                hx = _base.fetch(x)
            if hy is None:
                hy = _base.fetch(y)
            return Array((current.quiet or quietly())(kernel, hx, hy), out)
        try:
            return trace.process(primitive, (x, y), (), out)
        except (TypeError, ValueError) as error:
            note_user_line(error)
            raise

    def planned(x: Any, y: Any) -> Any:
        try:
            x = x if x.__class__ in SCALARS else as_value(x)
            y = y if y.__class__ in SCALARS else as_value(y)
            check_ranks(name, x, y)
            vx, vy = promote_values(x, y, to_inexact=to_inexact)
            out = primitive.out((vx, vy), ())
            kernel = None
            if vx.__class__ is Array and vy.__class__ is Array:
                kernel, _ = _base.prepare(primitive, (vx, vy), ())
                key: Any = (
                    x.__class__ if x.__class__ in SCALARS else x.aval,
                    y.__class__ if y.__class__ in SCALARS else y.aval,
                )
                if x.__class__ in SCALARS or y.__class__ in SCALARS:
                    key = (*key, thread.x64)
                if len(plans) > 4096:
                    plans.clear()
                plans[key] = (
                    caster(x, vx.aval.dtype),
                    caster(y, vy.aval.dtype),
                    kernel,
                    out,
                )
            elif x.__class__ not in SCALARS and y.__class__ not in SCALARS:
                if caster(x, vx.aval.dtype) is None and caster(y, vy.aval.dtype) is None:
                    plans[x.aval, y.aval] = (None, None, None, out)
            return current.trace.process(primitive, (vx, vy), (), out)
        except (TypeError, ValueError) as error:
            note_user_line(error)
            raise

    function.__name__ = function.__qualname__ = name
    return function


def caster(x: Any, dtype: Any) -> _ToDtype | None:
    """What turns operands like `x` into `dtype`, or `None` if nothing has to be done."""
    if x.__class__ not in SCALARS and x.aval.dtype == dtype:
        return None
    return lambda operand: to_dtype(operand, dtype)


def check_ranks(name: str, x: Any, y: Any) -> None:
    """The switch numpy_rank_promotion."""
    mode = thread.numpy_rank_promotion
    if mode == "allow":
        return
    ranks = [getattr(v, "ndim", 0) for v in (x, y)]
    if 0 not in ranks and ranks[0] != ranks[1]:
        message = (
            f"{name}: operands of different ranks: {x.aval} and {y.aval} "
            f"(numpy_rank_promotion is {mode!r})\n  fix: add the missing axes with x[None]"
        )
        if mode == "raise":
            raise ValueError(message)
        _warn(message)


def _warn(message: str) -> None:
    """Warns at the user's line."""
    warnings.warn(message, stacklevel=5)


def unary(primitive: Primitive, name: str, *, to_inexact: bool = False) -> Callable[..., Any]:
    """A function of one operand applying one primitive; planned as in `binary`."""
    plans: dict[Aval, tuple[Any, Aval]] = {}
    _plan_caches.append(plans)

    def function(x: Any, /) -> Any:
        if x.__class__ is Array and current.trace is _base:
            plan = plans.get(x.aval)
            if plan is not None:
                host = x._host
                if host is None:
                    host = _base.fetch(x)
                return Array((current.quiet or quietly())(plan[0], host), plan[1])
        try:
            (value,) = promote_values(x, to_inexact=to_inexact)
            out = primitive.out((value,), ())
            if value is x and value.__class__ is Array:
                kernel, _ = _base.prepare(primitive, (x,), ())
                if kernel is not None:
                    plans[x.aval] = (kernel, out)
            return current.trace.process(primitive, (value,), (), out)
        except (TypeError, ValueError) as error:
            note_user_line(error)
            raise

    function.__name__ = function.__qualname__ = name
    return function
