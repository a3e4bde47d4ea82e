"""select_n, clamp, copy; and identities that affect derivatives or compilation: stop_gradient,
guard, name, optimization_barrier."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.aval import Aval
from ..core.host_policy import passed_on
from ..core.primitive import Primitive, Rule
from ..core.value import Value
from ..errors import ShapeError
from ..stablehlo import Block, Operand
from .comparison import gt, lt
from .creation import instantiate, zeros
from .elementwise import nary, same_dtype, unary
from .rule_types import Argument, Avals, Batched, Host, Tangent, Tangents, Values
from .structural import align, batch_in_front, broadcast_shape, unbroadcast, widen, with_batch_axis

# --- select_n ---

select_n = Primitive(
    "select_n",
    "Selects elements of case `which`: a boolean selects one of two cases, an int32 one "
    "of several.",
    host="transcendental",
)
select_n.takes_keys = True


@select_n.type
def _(which: Aval, *cases: Aval) -> Aval:
    if not cases:
        raise TypeError("select_n: expected at least one case; got none")
    same_dtype("select_n", *cases)
    shape = broadcast_shape("select_n", (*cases, which))
    if which.dtype == dtypes.bool_:
        if len(cases) > 2:
            raise ShapeError(
                f"select_n: a boolean `which` chooses between two cases; got {len(cases)}\n"
                "  fix: an int32 `which`"
            )
    elif which.dtype != dtypes.int32:
        raise ShapeError(f"select_n: `which` must be of dtype bool or int32; got {which}")
    return cases[0].update(shape=shape, weak_type=all(c.weak_type for c in cases))


_MIN_MASKED_ELEMENTS = 4096
_INT_OF = {
    np.dtype(d): np.dtype(f"i{np.dtype(d).itemsize}") for d in ("i4", "u4", "f4", "i8", "u8", "f8")
}


def _chosen_bits(which: Host, x: Host, y: Host) -> Host:
    """`np.where` by bit masks. It is four to five times as fast where the cases alternate randomly,
    since `np.where` branches at each element."""
    mask_dtype = _INT_OF[x.dtype]
    mask = np.negative(which.view(np.int8)).astype(mask_dtype)
    y_bits = y.view(mask_dtype)
    bits = np.bitwise_and(np.bitwise_xor(x.view(mask_dtype), y_bits), mask)
    return np.bitwise_xor(bits, y_bits, out=bits).view(x.dtype)


@select_n.evaluate
def _(which: Host, *cases: Host) -> Host:
    if which.dtype == np.bool_ and len(cases) == 2:
        if which.size >= _MIN_MASKED_ELEMENTS and cases[0].dtype in _INT_OF:
            return _chosen_bits(which, cases[1], cases[0])
        return np.where(which, cases[1], cases[0])
    out = np.broadcast_to(cases[-1], np.broadcast_shapes(*(c.shape for c in (which, *cases))))
    for i in range(len(cases) - 2, -1, -1):  # out of range: the nearest case
        out = np.where(which <= i, cases[i], out)
    return out


@select_n.lower
def _(block: Block, which: Operand, *cases: Operand, out: Aval) -> Operand:
    choices = [block.widen(c, out.shape) for c in cases]
    if len(choices) == 1:
        return choices[0]
    if which.aval.ndim:
        which = block.widen(which, out.shape)
    if which.aval.dtype == dtypes.bool_:
        return block.select(which, choices[1], choices[0])
    result = choices[-1]
    flags = which.aval.update(dtype=dtypes.bool_, weak_type=False)
    for i in range(len(choices) - 2, -1, -1):
        bound = block.full(i, which.aval.update(weak_type=False))
        result = block.select(block.compare("LE", which, bound, flags), choices[i], result)
    return result


@select_n.jvp
def _(primals: Values, tangents: Tangents, out: Value) -> Tangent:
    case_tangents = [instantiate(t, p.aval) for t, p in zip(tangents[1:], primals[1:], strict=True)]
    return widen(select_n(primals[0], *case_tangents), out.shape)


@select_n.transpose
def _(ct: Value, which: Argument, *cases: Argument) -> Tangents:
    zero = zeros(ct.aval.update(shape=(), weak_type=False))
    cts: list[Any] = [None]
    for i, case in enumerate(cases):
        if type(case) is not Aval:
            cts.append(None)
        else:
            ct_cases = [ct if i == j else zero for j in range(len(cases))]
            cts.append(unbroadcast(select_n(which, *ct_cases), case))
    return cts


@select_n.batch
def _(args: Values, batched: Batched, batch_size: int) -> Value:
    return select_n(*align(args, batched))


def where(condition: Value, x: Value, y: Value) -> Any:
    """`x` where the condition holds, `y` elsewhere."""
    return select_n(condition, y, x)


def _masked(t: Value, condition: Value) -> Value:
    """A tangent where a condition holds, zero elsewhere."""
    return select_n(condition, zeros(t.aval.update(shape=(), weak_type=False)), t)


# --- clamp ---


def _clamp(low: Host, x: Host, high: Host) -> Host:
    return np.minimum(np.maximum(x, low), high)


def _lower_clamp(block: Block, low: Operand, x: Operand, high: Operand, out: Aval) -> Operand:
    low, high = (b if not b.aval.ndim else block.widen(b, out.shape) for b in (low, high))
    return block.op("clamp", low, block.widen(x, out.shape), high, out=out)


clamp: Primitive = nary(
    "clamp",
    "Limits x to the interval from `low` to `high`.",
    evaluate=_clamp,
    stablehlo=_lower_clamp,
    jvp=(
        lambda dl, out, low, x, high: _masked(_masked(dl, gt(low, x)), lt(low, high)),
        lambda dx, out, low, x, high: _masked(_masked(dx, gt(x, low)), lt(x, high)),
        lambda dh, out, low, x, high: _masked(dh, gt(x, high)),
    ),
    accepts="real or bool",
    host="transcendental",  # two extrema, usually with numbers
)  # as in jax, at a bound the derivative is zero

# --- identities ---


def _identity(
    name: str, doc: str, jvp: Rule, evaluate: Rule = passed_on, linear: bool = False
) -> Primitive:
    """A primitive that returns its operand."""
    primitive = unary(
        name, doc, evaluate=evaluate, stablehlo=lambda block, x, out, **_: x, jvp=jvp,
        evaluate_in=dict.fromkeys(dtypes.DTYPES, evaluate), linear=linear, host="always",
    )  # fmt: skip
    primitive.takes_keys = True
    return primitive


stop_gradient = _identity(
    "stop_gradient", "Returns the operand; its derivative is zero.", lambda dx, out, x: None
)

guard = Primitive(
    "guard", "`x`; its derivative is zero where the boolean `counts` is false.", host="always"
)


@guard.type
def _(counts: Aval, x: Aval) -> Aval:
    if counts.shape != x.shape or counts.dtype != dtypes.bool_:
        raise ShapeError(f"guard: expected a bool of the shape of {x}; got {counts}")
    return x


@guard.evaluate
def _(counts: Host, x: Host) -> Host:
    return x


@guard.lower
def _(block: Block, counts: Operand, x: Operand, out: Aval) -> Operand:
    return x


@guard.jvp
def _(primals: Values, tangents: Any, out: Value) -> Tangent:
    return select_n(primals[0], zeros(tangents[1].aval), tangents[1])


@guard.transpose
def _(ct: Value, counts: Argument, x: Argument) -> Tangents:
    return None, select_n(counts, zeros(ct.aval), ct)


guard.batch(batch_in_front(guard))


copy: Primitive = _identity(
    "copy", "The operand, in its own memory.", lambda dx, out, x: copy(dx),
    evaluate=lambda x: x.copy(), linear=True,
)  # fmt: skip
name = _identity(
    "name", "The operand, which a policy of checkpoint may speak of.",
    lambda dx, out, x, name: dx, evaluate=lambda x, name: x, linear=True,
)  # fmt: skip

optimization_barrier = Primitive(
    "optimization_barrier", "Returns the operands; the compiler moves no operation across it.",
    multiple=True, host="always",
)  # fmt: skip
optimization_barrier.takes_keys = True


@optimization_barrier.type
def _(*operands: Aval) -> Avals:
    return operands


@optimization_barrier.evaluate
def _(*operands: Host) -> Sequence[Host]:
    return operands


@optimization_barrier.lower
def _(block: Block, *operands: Operand, out: Avals) -> Sequence[Operand]:
    return block.op("optimization_barrier", *operands, out=list(out)) if operands else []


@optimization_barrier.jvp
def _(primals: Values, tangents: Tangents, out: Values) -> Tangents:
    return _barrier_of_some(tangents)


@optimization_barrier.transpose
def _(cts: Tangents, *operands: Argument) -> Tangents:
    return _barrier_of_some(cts)


def _barrier_of_some(ts: Tangents) -> Tangents:
    passed = iter(optimization_barrier(*(t for t in ts if t is not None)))
    return [None if t is None else next(passed) for t in ts]


@optimization_barrier.batch
def _(args: Values, batched: Batched, batch_size: int) -> Values:
    return with_batch_axis(optimization_barrier(*args), batched, batch_size)
