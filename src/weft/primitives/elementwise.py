"""Makers of elementwise primitives: `unary`, `nary`, `transcendental`, `comparison`."""

import functools
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from .. import dtypes
from ..core.aval import Aval
from ..core.primitive import Primitive, Rule
from ..core.value import Value
from ..errors import ShapeError
from ..extended_dtypes import KEYS
from ..stablehlo import Block, Operand
from .rule_types import Argument, Batched, DType, Kernel, Tangent, Tangents, Values
from .structural import align, broadcast_shape, unbroadcast, widen

Derivative = Callable[..., Any]

_FLOATS, _INTEGERS = set(dtypes.FLOATS), {*dtypes.SIGNED, *dtypes.UNSIGNED}
_COMPLEX, _EVERY = set(dtypes.COMPLEX), {*dtypes.DTYPES, dtypes.float0, *KEYS}

KINDS: dict[str, Set[DType]] = {
    "any": _EVERY,
    "float": _FLOATS,
    "float of 16 bits or more": {d for d in _FLOATS if d.itemsize > 1},
    "float32 or float64": {dtypes.float32, dtypes.float64},
    "inexact": _FLOATS | _COMPLEX,
    "complex": _COMPLEX,
    "integer": _INTEGERS,
    "integer or bool": _INTEGERS | {dtypes.bool_},
    "number": _INTEGERS | _FLOATS | _COMPLEX,
    "real": _INTEGERS | _FLOATS,
    "real or bool": _EVERY - _COMPLEX,
}
"""The dtypes that an operation accepts, by the word that error messages use."""


def check_kind(name: str, accepts: str, *avals: Aval) -> None:
    """Raises an error for operands of dtypes that the operation does not accept."""
    for a in avals:
        if a.dtype not in KINDS[accepts]:
            raise ShapeError(
                f"{name}: expected operands of {accepts} dtype; got {', '.join(map(str, avals))}\n"
                "  fix: convert with .astype"
            )


def same_dtype(name: str, *avals: Aval) -> None:
    """Raises an error for operands of different dtypes."""
    if len({a.dtype for a in avals}) > 1:
        raise ShapeError(
            f"{name}: operands must have one dtype; got {' and '.join(map(str, avals))}\n"
            f"  fix: convert with .astype, or use weft.numpy, which promotes"
        )


# The wider dtypes in which NumPy computes elements of narrow dtypes, as XLA does.
WIDER: dict[DType, DType] = {
    **{d: dtypes.int8 if dtypes.is_signed(d) else dtypes.uint8 for d in dtypes.SMALL_INTS},
    **dict.fromkeys(dtypes.SMALL_FLOATS, dtypes.float32),
}
HALF: dict[DType, DType] = {
    dtypes.float16: dtypes.float32,
    np.dtype(dtypes.bfloat16): dtypes.float32,
}


def in_wider(
    evaluate: Kernel, wide_dtype: DType, out_dtype: Callable[[DType], DType] | None = None
) -> Rule:
    """An evaluate rule that computes in a wider dtype and rounds to the operand's (or to
    `out_dtype(its dtype)`)."""

    def rule(x: Value, *others: Value, **params: object) -> Value:
        dtype = out_dtype(x.dtype) if out_dtype else x.dtype
        other_operands = [y.astype(wide_dtype) if y.dtype == x.dtype else y for y in others]
        return evaluate(x.astype(wide_dtype), *other_operands, **params).astype(dtype)

    return rule


def evaluate_in_wider(
    primitive: Primitive,
    accepts: str,
    out_dtype: Callable[[DType], DType] | None = None,
    table: dict[DType, DType] = WIDER,
) -> None:
    """Adds evaluate rules for the dtypes in which NumPy's functions are not exact."""
    evaluate = primitive.evaluate_rule
    assert evaluate is not None
    for dtype, wide_dtype in table.items():
        if dtype in KINDS[accepts]:
            evaluate_wide = primitive.evaluate_in.get(wide_dtype, evaluate)
            primitive.evaluate_in.setdefault(dtype, in_wider(evaluate_wide, wide_dtype, out_dtype))


def zero(*_: Value, **params: object) -> None:
    """The derivative of a step function, which is zero where it is defined."""
    return None


def lowering_by(operation: str) -> Rule:
    """Lowers to one elementwise operation on operands that broadcast."""

    def lower_rule(block: Block, *operands: Operand, out: Aval) -> Operand:
        if out.dtype != operands[0].aval.dtype or "." in operation:
            return block.op(operation, *[block.widen(x, out.shape) for x in operands], out=out)
        return block.elementwise(operation, operands, out)

    return lower_rule


def by_kind(real: Rule, complex_: Rule) -> Rule:
    """A lowering rule for real numbers, and another one for complex numbers."""

    def lower_rule(block: Block, x: Operand, out: Aval) -> Operand:
        rule = complex_ if out.dtype.kind == "c" else real
        return rule(block, x, out=out)

    return lower_rule


def lowered_in_bytes(rule: Rule) -> Rule:
    """A lowering rule that converts 2-bit integers to 8 bits for the operation.

    XLA's CPU packs four of them in a byte, but cannot concatenate or sort them (jaxlib 0.10 to 0.12
    crashes or loses elements), and does not multiply them.
    """

    def widened(x: Aval) -> Aval:
        is_2_bits = dtypes.bit_width(x.dtype) == 2
        return x.update(dtype=WIDER[x.dtype], weak_type=False) if is_2_bits else x

    def lower_rule(block: Block, *operands: Operand, out: Any, **params: object) -> Any:
        outs = [out] if isinstance(out, Aval) else list(out)
        if all(dtypes.bit_width(o.dtype) != 2 for o in outs):
            return rule(block, *operands, out=out, **params)
        xs = [block.convert(x, widened(x.aval).dtype) for x in operands]
        byte_outs = [widened(o) for o in outs]
        result = rule(block, *xs, out=byte_outs[0] if outs[0] is out else byte_outs, **params)
        results = [result] if outs[0] is out else result
        converted = [block.convert(x, o.dtype) for x, o in zip(results, outs, strict=True)]
        return converted[0] if outs[0] is out else converted

    return lower_rule


def sum_of_shares(contributions: Sequence[Derivative | None]) -> Rule:
    """The jvp rule that adds the contributions of the operands' tangents, and broadcasts the
    sum."""

    @functools.wraps(next(filter(None, contributions), zero))
    def jvp_rule(primals: Values, tangents: Tangents, out: Value) -> Tangent:
        total = None
        for t, rule in zip(tangents, contributions, strict=True):
            if t is not None and rule is not None:
                contribution = rule(t, out, *primals)
                if contribution is not None:
                    total = contribution if total is None else total + contribution
        return None if total is None else widen(total, out.shape)

    return jvp_rule


def unary(
    name: str,
    doc: str = "",
    *,
    evaluate: Kernel,
    stablehlo: str | Rule,
    jvp: Derivative | None = None,
    linear: bool = False,
    accepts: str = "any",
    out_dtype: Callable[[DType], DType] | None = None,
    evaluate_in: Mapping[DType, Kernel] | None = None,
    host: str = "arithmetic",
) -> Primitive:
    """An elementwise primitive of one operand.

    Args:
      evaluate: x -> out, on NumPy arrays. `evaluate`, `stablehlo` and `jvp` get the primitive's
        params by keyword.
      stablehlo: the operation's name (with `chlo.` in front if need be), or a rule
        `(block, x, out) -> operand`.
      jvp: (dx, out, x) -> the output's tangent. `zero` for a derivative of zero.
      linear: the operation is linear and its own transpose (its `jvp` applied to a cotangent).
      accepts: one of `KINDS`.
      out_dtype: dtype -> the output's dtype, where it differs.
      evaluate_in: dtype -> its own `evaluate`. 4-bit integers and 8-bit floats without one are
        computed in a wider dtype.
    Example:
      >>> import numpy
      >>> from weft.extend import unary
      >>> root = unary("cube_root", "x^(1/3).", evaluate=numpy.cbrt, stablehlo="cbrt",
      ...              jvp=lambda dx, out, x: dx / (3 * out * out), accepts="float")
      >>> jit(grad(root))(8.0)
      Array(0.08333334, dtype=float32, weak_type=True)
    """
    primitive = Primitive(name, doc, host=host, evaluate=evaluate)
    primitive.elementwise = True
    primitive.evaluate_in.update(evaluate_in or {})
    evaluate_in_wider(primitive, accepts, out_dtype)

    def type_rule(x: Aval, **_: object) -> Aval:
        check_kind(name, accepts, x)
        return x.update(dtype=out_dtype(x.dtype)) if out_dtype else x

    primitive.type(type_rule)
    primitive.lower(stablehlo if callable(stablehlo) else lowering_by(stablehlo))
    if jvp is not None:

        @functools.wraps(jvp)
        def jvp_rule(primals: Values, tangents: Tangents, out: Value, **params: object) -> Tangent:
            return jvp(tangents[0], out, primals[0], **params)

        primitive.jvp(jvp_rule)
    if linear:

        def transpose_rule(ct: Value, x: Argument, **params: object) -> Tangents:
            return (jvp(ct, None, x, **params),)  # type: ignore[misc]

        primitive.transpose(transpose_rule)

    def batch_rule(args: Values, batched: Batched, batch_size: int, **params: object) -> Value:
        return primitive(args[0], **params)

    primitive.batch(batch_rule)
    return primitive


def nary(
    name: str,
    doc: str = "",
    *,
    evaluate: Kernel,
    stablehlo: str | Rule,
    jvp: Sequence[Derivative | None] | None = None,
    transpose: Sequence[Derivative | None] | None = None,
    accepts: str = "any",
    out_dtype: Callable[[DType], DType] | None = None,
    evaluate_in: Mapping[DType, Kernel] | None = None,
    host: str = "arithmetic",
) -> Primitive:
    """An elementwise primitive of several operands, which broadcast as NumPy's do.

    Args:
      evaluate: (x, y, …) -> out, on NumPy arrays.
      stablehlo: the operation's name, or a rule `(block, x, y, …, out) -> operand`.
      jvp: for each operand, (its tangent, out, x, y, …) -> its share of the output's tangent.
      transpose: for each operand that it is linear in, (ct, x, y, …) -> its cotangent, before
        broadcast axes are summed; `None` for an operand in which it is not linear.
      accepts, out_dtype, evaluate_in: as in `unary`.
    Example:
      >>> import numpy
      >>> from weft.extend import nary
      >>> times = nary("times", "x y.", evaluate=numpy.multiply, stablehlo="multiply",
      ...              jvp=(lambda dx, out, x, y: dx * y, lambda dy, out, x, y: x * dy))
      >>> grad(times, argnums=1)(2.0, 3.0)
      Array(2., dtype=float32, weak_type=True)
    """
    primitive = Primitive(name, doc, host=host, evaluate=evaluate)
    primitive.elementwise = True
    primitive.evaluate_in.update(evaluate_in or {})
    evaluate_in_wider(primitive, accepts, out_dtype)

    def type_rule(*avals: Aval) -> Aval:
        same_dtype(name, *avals)
        check_kind(name, accepts, *avals)
        shape = broadcast_shape(name, avals)
        dtype = out_dtype(avals[0].dtype) if out_dtype else avals[0].dtype
        weak_type = all([a.weak_type for a in avals]) and not out_dtype
        return avals[0].update(shape=shape, dtype=dtype, weak_type=weak_type)

    primitive.type(type_rule)
    primitive.lower(stablehlo if callable(stablehlo) else lowering_by(stablehlo))
    if jvp is not None:
        primitive.jvp(sum_of_shares(jvp))
    if transpose is not None:

        def transpose_rule(ct: Value, *args: Argument) -> Tangents:
            return [
                unbroadcast(rule(ct, *args), x) if type(x) is Aval and rule is not None else None
                for x, rule in zip(args, transpose, strict=True)
            ]

        primitive.transpose(transpose_rule)

    def batch_rule(args: Values, batched: Batched, batch_size: int) -> Value:
        return primitive(*align(args, batched))

    primitive.batch(batch_rule)
    return primitive


transcendental = functools.partial(unary, host="transcendental")
transcendental_of_several = functools.partial(nary, host="transcendental")
"""An elementwise primitive that costs as much as a transcendental function."""


def comparison(
    name: str, doc: str, *, evaluate: Kernel, direction: str, accepts: str = "any"
) -> Primitive:
    """An elementwise comparison: returns booleans; zero derivative.

    Example:
      >>> import numpy
      >>> from weft.extend import comparison
      >>> below = comparison("below", "x < y.", evaluate=numpy.less, direction="LT")
      >>> below(np.array([1.0, 5.0]), np.array([2.0, 3.0]))
      Array([ True, False], dtype=bool)
    """

    def lower_rule(block: Block, x: Operand, y: Operand, out: Aval) -> Operand:
        return block.compare(direction, x, y, out)

    return nary(
        name,
        doc,
        evaluate=evaluate,
        stablehlo=lower_rule,
        jvp=(zero, zero),
        accepts=accepts,
        out_dtype=lambda _: dtypes.bool_,
    )
