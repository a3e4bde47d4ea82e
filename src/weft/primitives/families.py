"""Makers: what elementwise primitives have in common is written once, here.

Knows nothing of particular primitives.
"""

from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes
from ..core.aval import Aval
from ..core.primitive import Primitive
from .structural import align, broadcast_shape, unbroadcast, widen

Derivative = Callable[..., Any]

# What an operation accepts: a word for messages, and the test of a dtype.
KINDS: dict[str, Callable[[Any], bool]] = {
    "any": lambda d: True,
    "float": dtypes.is_float,
    "inexact": dtypes.is_inexact,
    "complex": dtypes.is_complex,
    "integer": dtypes.is_integer,
    "integer or bool": lambda d: dtypes.is_integer(d) or dtypes.is_bool(d),
    "number": lambda d: dtypes.is_integer(d) or dtypes.is_inexact(d),
    "real": lambda d: dtypes.is_integer(d) or dtypes.is_float(d),
    "real or bool": lambda d: not dtypes.is_complex(d),
}


def check_kind(name: str, accepts: str, *avals: Aval) -> None:
    """Refuses operands of dtypes that the operation isn't defined on."""
    for a in avals:
        if not KINDS[accepts](a.dtype):
            raise TypeError(f"{name}: expected operands of {accepts} dtype; got {', '.join(map(str, avals))}")


def same_dtype(name: str, *avals: Aval) -> None:
    """Refuses operands of different dtypes."""
    if any(a.dtype != avals[0].dtype for a in avals):
        raise TypeError(
            f"{name}: operands must have one dtype; got {' and '.join(map(str, avals))}\n"
            f"  fix: convert with .astype, or use weft.numpy, which promotes"
        )


def zero(*_: Any) -> None:
    """The derivative of a step: zero where it is defined."""
    return None


def unary(
    name: str,
    doc: str = "",
    *,
    evaluate: Callable[..., Any],
    stablehlo: str | Callable[..., Any],
    jvp: Derivative | None = None,
    linear: bool = False,
    accepts: str = "any",
    out_dtype: Callable[[Any], Any] | None = None,
    host_limit: int | None = 16384,
) -> Primitive:
    """An elementwise primitive of one operand.

    Args:
      evaluate: x -> out, on NumPy arrays.
      stablehlo: the operation's name, or a rule `(block, x, out) -> operand`.
      jvp: (dx, out, x) -> the output's tangent. `zero` for a derivative of zero.
      linear: the operation is linear and its own transpose (its `jvp` applied to a cotangent).
      accepts: one of `KINDS`.
      out_dtype: dtype -> the output's dtype, where it differs.
    """
    primitive = Primitive(name, doc, host_limit=host_limit, evaluate=evaluate)

    def type_rule(x: Aval) -> Aval:
        check_kind(name, accepts, x)
        return x.update(dtype=out_dtype(x.dtype)) if out_dtype else x

    if callable(stablehlo):
        lower_rule = stablehlo
    else:

        def lower_rule(block: Any, x: Any, out: Aval) -> Any:
            return block.elementwise(stablehlo, (x,), out)

    primitive.type(type_rule)
    primitive.lower(lower_rule)
    if jvp is not None:

        def jvp_rule(primals: Any, tangents: Any, out: Any) -> Any:
            return jvp(tangents[0], out, primals[0])

        primitive.jvp(jvp_rule)
    if linear:

        def transpose_rule(ct: Any, x: Any) -> Any:
            return (jvp(ct, None, x),)  # type: ignore[misc]

        primitive.transpose(transpose_rule)

    def batch_rule(args: Any, batched: Any, batch_size: int) -> Any:
        return primitive(args[0])

    primitive.batch(batch_rule)
    return primitive


def nary(
    name: str,
    doc: str = "",
    *,
    arity: int = 2,
    evaluate: Callable[..., Any],
    stablehlo: str | Callable[..., Any],
    jvp: Sequence[Derivative | None] | None = None,
    transpose: Sequence[Derivative | None] | None = None,
    accepts: str = "any",
    out_dtype: Callable[[Any], Any] | None = None,
    host_limit: int | None = 16384,
) -> Primitive:
    """An elementwise primitive of several operands, which broadcast as NumPy's do.

    Args:
      evaluate: (x, y, …) -> out, on NumPy arrays.
      stablehlo: the operation's name, or a rule `(block, x, y, …, out) -> operand`.
      jvp: for each operand, (its tangent, out, x, y, …) -> its share of the output's tangent.
      transpose: for each operand that it is linear in, (ct, x, y, …) -> its cotangent, before
        what was broadcast is summed; `None` for an operand that it isn't linear in.
      accepts, out_dtype: as in `unary`.
    """
    primitive = Primitive(name, doc, host_limit=host_limit, evaluate=evaluate)

    def type_rule(*avals: Aval) -> Aval:
        same_dtype(name, *avals)
        check_kind(name, accepts, *avals)
        shape = broadcast_shape(name, avals)
        dtype = out_dtype(avals[0].dtype) if out_dtype else avals[0].dtype
        weak = all(a.weak_type for a in avals) and not out_dtype
        return avals[0].update(shape=shape, dtype=dtype, weak_type=weak)

    if callable(stablehlo):
        lower_rule = stablehlo
    else:

        def lower_rule(block: Any, *operands: Any, out: Aval) -> Any:
            return block.elementwise(stablehlo, operands, out)

    primitive.type(type_rule)
    primitive.lower(lower_rule)
    if jvp is not None:

        def jvp_rule(primals: Any, tangents: Any, out: Any) -> Any:
            total = None
            for t, rule in zip(tangents, jvp, strict=True):
                if t is not None and rule is not None:
                    share = rule(t, out, *primals)
                    if share is not None:
                        total = share if total is None else total + share
            return None if total is None else widen(total, out.shape)

        primitive.jvp(jvp_rule)
    if transpose is not None:

        def transpose_rule(ct: Any, *args: Any) -> Any:
            return [
                unbroadcast(rule(ct, *args), x) if type(x) is Aval and rule is not None else None
                for x, rule in zip(args, transpose, strict=True)
            ]

        primitive.transpose(transpose_rule)

    def batch_rule(args: Any, batched: Any, batch_size: int) -> Any:
        return primitive(*align(args, batched))

    primitive.batch(batch_rule)
    return primitive


def comparison(name: str, doc: str, *, evaluate: Callable[..., Any], direction: str) -> Primitive:
    """An elementwise comparison: gives booleans; zero derivative."""

    def lower_rule(block: Any, x: Any, y: Any, out: Aval) -> Any:
        return block.compare(direction, x, y, out)

    return nary(
        name,
        doc,
        evaluate=evaluate,
        stablehlo=lower_rule,
        jvp=(zero, zero),
        out_dtype=lambda _: dtypes.bool_,
        host_limit=2_000_000,
    )
