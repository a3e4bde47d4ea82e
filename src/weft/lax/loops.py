"""Loops: scan, map, fori_loop, while_loop.

A loop is traced once, for any number of steps, and compiled as one loop.
"""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

from .. import dtypes
from ..config import thread
from ..core.array import as_value, literal
from ..core.caching import cached_on_program
from ..core.jaxpr import Equation, Jaxpr, Var
from ..core.masks import groups_of
from ..core.source import function_line, located
from ..errors import ShapeError
from ..higher_order.scan import apply_scan
from ..higher_order.while_loop import apply_while
from ..primitives.comparison import lt
from ..primitives.structural import add, convert_element_type, reshape
from ..transforms.vmap import vmap
from ..tree_util import tree_map
from ..typing import ArrayLike
from .axes import along_new_axis, concatenated, int_of, row, slice_along
from .body_functions import (
    Adapted,
    Body,
    check_carry,
    check_function,
    integer_scalar,
    paths_of,
    traced,
    tree_text,
    values_of,
    widened_carry,
    with_common_refs,
)

__all__ = ["fori_loop", "map", "scan", "while_loop"]


# The types of control flow: if functions and values have one type, it is the carry's; otherwise
# (for a Python number as the first carry, or NumPy's arrays) the result has the type that the
# function returns.
C = TypeVar("C")
X = TypeVar("X")
Y = TypeVar("Y")


@overload
def scan(
    f: Callable[[C, X], tuple[C, Y]],
    init: C,
    xs: X,
    length: int | None = ...,
    reverse: bool = ...,
    unroll: int | bool = ...,
    _split_transpose: bool = ...,
) -> tuple[C, Y]: ...
@overload
def scan(
    f: Callable[[Any, Any], tuple[C, Y]],
    init: Any,
    xs: Any = ...,
    length: int | None = ...,
    reverse: bool = ...,
    unroll: int | bool = ...,
    _split_transpose: bool = ...,
) -> tuple[C, Y]: ...
@located
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """Loops over the slices of arrays, carrying a value along and stacking results.

    Equivalent to this Python loop, with one program for any number of steps:

        carry, ys = init, []
        for x in xs:
            carry, y = f(carry, x)
            ys.append(y)
        return carry, stack(ys)

    Differentiable in forward and reverse mode; reverse mode stores the intermediate values of
    every step (with `weft.checkpoint(f)`, only the carries).

    Args:
      f: (carry, x) -> (carry, y); the carry keeps its structure, shapes and dtypes.
      init: the first carry: arrays, scalars or containers of them. A Python number takes the dtype
        that f returns.
      xs: arrays [length, …], or containers of them, or None for a loop without inputs.
      length: the number of steps; needed only without xs.
      reverse: whether to go from the last slice to the first; each y keeps the position of its x.
      unroll: how many steps to write out for each turn of the compiled loop; True is all of them.
    Returns: the last carry, and the ys stacked along a new first axis.
    Raises:
      TypeError: f returns a carry of another structure or type; a leaf is not an array.
      ValueError: the leaves of xs have different lengths, or do not agree with `length`.
    Example:
      >>> import weft.numpy as np
      >>> from weft import lax
      >>> total, sums = lax.scan(lambda c, x: (c + x, c + x), 0, np.arange(5))
      >>> print(total, sums)
      10 [ 0  1  3  6 10]

    Source: JAX documentation, `jax.lax.scan`; StableHLO `while`.
    """
    check_function("scan", "body", f, ("carry", "x"))
    carry, carry_tree = values_of("scan", "init", init)
    slices, xs_tree = values_of("scan", "xs", xs)
    count = scan_length("scan", slices, xs, length)
    unroll_count = unrolling("scan", unroll, count)
    if thread.disable_jit and count:
        return scan_in_python(f, init, slices, xs_tree, count, bool(reverse))
    x_avals = [x.aval.update(shape=x.shape[1:]) for x in slices]
    while True:
        avals = [x.aval for x in carry]
        body = traced("scan", "body", f, {"carry": carry_tree, "x": xs_tree}, [*avals, *x_avals])
        pair = result_pair(f, body)
        outs = body.avals[: pair[0].num_leaves]
        if pair[0] != carry_tree:
            break
        promoted_carry = widened_carry(carry, outs)
        if promoted_carry is None:
            break
        carry = promoted_carry
    check_carry("scan", f, carry_tree, avals, pair[0], outs)
    n = len(carry)
    refs = body.refs.values("scan")
    results = apply_scan(
        body.carrying_refs().refs_before_slices(n),
        body.consts,
        [*carry, *refs],
        slices,
        length=count,
        reverse=bool(reverse),
        unroll=unroll_count,
    )
    carry, last_refs, ys = groups_of(results, n, len(refs))
    body.assign_refs("scan", last_refs)
    return carry_tree.unflatten(carry), pair[1].unflatten(ys)


def scan_length(operation: str, slices: Sequence[Any], xs: Any, length: Any) -> int:
    """The number of steps, on which xs and `length` must agree."""
    for i, x in enumerate(slices):
        if not x.ndim:
            raise ShapeError(
                f"{operation}: xs must be arrays with an axis to go along; got the scalar "
                f"{x.aval} at {paths_of('xs', xs)[i]}\n"
                "  fix: close over it, or make it part of the carry"
            )
    sizes = {x.shape[0] for x in slices}
    if length is not None:
        try:
            is_whole = isinstance(length, float) and length.is_integer()
            length = int(length) if is_whole else operator.index(length)
        except TypeError:
            raise ShapeError(
                f"scan: length must be an integer; got {type(length).__name__} {length!r:.60}"
            ) from None
        if length < 0:
            raise ShapeError(f"scan: length must not be negative; got {length}")
    if len(sizes) > 1 or (length is not None and sizes and sizes != {length}):
        named = zip(paths_of("xs", xs), slices, strict=True)
        rows = [f"  {path}: {x.aval}, length {x.shape[0]}" for path, x in named]
        length_line = "" if length is None else f"\n  length: {length}"
        raise ShapeError(
            f"{operation}: all of xs"
            + (" and length" if length_line else "")
            + " must have one length along "
            "axis 0; got\n" + "\n".join(rows) + length_line
        )
    if length is None:
        if not sizes:
            if operation == "map":
                raise ShapeError(f"map: xs must have at least one array; got {xs!r:.60}")
            raise ShapeError("scan: expected xs with an array, or length; got neither")
        length = sizes.pop()
    return int(length)


def unrolling(operation: str, unroll: Any, length: int) -> int:
    """The number of steps to unroll."""
    if isinstance(unroll, bool):
        return max(length, 1) if unroll else 1
    try:
        count = operator.index(unroll)
    except TypeError:
        count = -1
    if count < 0:
        raise ValueError(
            f"{operation}: unroll must be a positive integer or a bool; got {unroll!r:.80}"
        )
    return max(count, 1)


def result_pair(f: Any, body: Body) -> Any:
    """The structures of a body's new carry and of its result for one slice."""
    tree = body.result_tree
    root = tree.node_data()
    if root is None or root[0] not in (tuple, list) or len(tree.children()) != 2:
        raise ShapeError(
            f"scan: the body {function_line(f)} must return a pair (carry, y); got "
            f"{tree_text(tree)}\n"
            "  fix: return carry, None if there is nothing to stack"
        )
    return tree.children()


def scan_in_python(
    f: Any, init: Any, slices: Sequence[Any], xs_tree: Any, length: int, reverse: bool
) -> Any:
    """Runs the loop in Python, for `disable_jit`."""
    carry, ys = init, []
    for i in reversed(range(length)) if reverse else range(length):
        carry, y = f(carry, xs_tree.unflatten([row(x, i) for x in slices]))
        ys.append(y)
    if reverse:
        ys.reverse()
    return tree_map(as_value, carry), tree_map(lambda *parts: along_new_axis(parts), *ys)


@overload
def map(f: Callable[[X], Y], xs: X, *, batch_size: int | None = ...) -> Y: ...
@overload
def map(f: Callable[[Any], Y], xs: Any, *, batch_size: int | None = ...) -> Y: ...
@located
def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Applies a function to each slice along axis 0, one after another, and stacks the results.

    Equivalent to `stack([f(x) for x in xs])`, compiled as a loop. It needs less memory than
    `vmap`, and is slower.

    Args:
      f: a function of a slice of xs.
      xs: arrays [n, …] or containers of them.
      batch_size: the number of slices to compute at once by `vmap`; the remaining slices are
        computed at the end.
    Returns: the results, stacked along a new first axis.
    Example:
      >>> import weft.numpy as np
      >>> from weft import lax
      >>> print(lax.map(lambda x: x * x, np.arange(4)))
      [0 1 4 9]

    Source: JAX documentation, `jax.lax.map`.
    """
    check_function("map", "function", f, ("x",))
    slices, tree = values_of("map", "xs", xs)
    n = scan_length("map", slices, xs, None)
    if batch_size is None:
        return scan(Adapted(f, map_step), (), xs)[1]
    chunk_size = int_of("map", "batch_size", batch_size)
    if chunk_size < 1:
        raise ValueError(f"map: batch_size must be a positive integer; got {chunk_size}")
    chunk_count, remainder = divmod(n, chunk_size)
    batched_f = vmap(f)
    parts = []
    if chunk_count or not remainder:
        chunks = [
            reshape(
                slice_along(x, 0, 0, chunk_count * chunk_size),
                shape=(chunk_count, chunk_size, *x.shape[1:]),
            )
            for x in slices
        ]
        _, ys = scan(Adapted(f, map_chunk), (), tree.unflatten(chunks))
        parts.append(
            tree_map(lambda y: reshape(y, shape=(chunk_count * chunk_size, *y.shape[2:])), ys)
        )
    if remainder:
        parts.append(
            batched_f(
                tree.unflatten([slice_along(x, 0, chunk_count * chunk_size, n) for x in slices])
            )
        )
    if len(parts) == 1:
        return parts[0]
    return tree_map(lambda *ys: concatenated(ys), *parts)


def map_step(f: Callable[[Any], Any], _: Any, x: Any) -> Any:
    """The body of the loop of `map`."""
    return (), f(x)


def map_chunk(f: Callable[[Any], Any], _: Any, x: Any) -> Any:
    """The same for several slices together."""
    return (), vmap(f)(x)


@overload
def while_loop(cond_fun: Callable[[C], Any], body_fun: Callable[[C], C], init_val: C) -> C: ...
@overload
def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], C], init_val: Any
) -> C: ...
@located
def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """Applies a function as long as a condition holds.

    Equivalent to this Python loop, with one program for any number of steps:

        val = init_val
        while cond_fun(val):
            val = body_fun(val)
        return val

    Differentiable in forward mode only: reverse mode would need memory for an unknown number of
    steps. Under `vmap` the loop runs until the condition fails for the last element; the values of
    the others no longer change.

    Args:
      cond_fun: a function of the value that returns a boolean scalar.
      body_fun: a function of the value that returns a value of the same structure, shapes and
        dtypes.
      init_val: arrays, scalars or containers of them.
    Returns: the first value for which the condition is false.
    Raises: TypeError: the condition is not a boolean scalar, or the body changes structure or type.
    Example:
      >>> from weft import lax
      >>> print(lax.while_loop(lambda n: n < 100, lambda n: n * 2, 1))
      128

    Source: JAX documentation, `jax.lax.while_loop`; StableHLO `while`.
    """
    check_function("while_loop", "condition", cond_fun, ("value",))
    check_function("while_loop", "body", body_fun, ("value",))
    carry, tree = values_of("while_loop", "init_val", init_val)
    if thread.disable_jit:
        is_complete, result = while_in_python(cond_fun, body_fun, tree.unflatten(carry))
        if is_complete:
            return result
        carry, tree = values_of("while_loop", "init_val", result)
    while True:
        avals = [x.aval for x in carry]
        body = traced("while_loop", "body", body_fun, {"value": tree}, avals)
        promoted_carry = widened_carry(carry, body.avals) if body.result_tree == tree else None
        if promoted_carry is None:
            break
        carry = promoted_carry
    check_carry("while_loop", body_fun, tree, avals, body.result_tree, body.avals, "value")
    condition = traced("while_loop", "condition", cond_fun, {"value": tree}, avals)
    check_condition(cond_fun, condition)
    (condition, body), refs = with_common_refs([condition, body])
    outs = apply_while(
        condition.with_refs(refs.outside, [False] * len(refs.outside)).jaxpr,
        body.carrying_refs().jaxpr,
        condition.consts,
        body.consts,
        [*carry, *refs.values("while_loop")],
    )
    result, last_refs = groups_of(outs, len(carry))
    body.assign_refs("while_loop", last_refs)
    return tree.unflatten(result)


def check_condition(cond_fun: Any, condition: Body) -> None:
    """Refuses a condition that is not a boolean scalar, or that writes to a ref."""
    if any(condition.refs.written):
        raise TypeError(
            f"while_loop: the condition {function_line(cond_fun)} must not write to refs; it "
            f"writes to {sum(condition.refs.written)}\n  fix: write in the body"
        )
    avals = condition.avals
    if not condition.result_tree.is_leaf:
        result = tree_text(condition.result_tree)
    elif avals[0].shape or avals[0].dtype != dtypes.bool_:
        result = repr(avals[0])
    else:
        return
    raise ShapeError(
        f"while_loop: the condition {function_line(cond_fun)} must return a boolean scalar; got "
        f"{result}\n  fix: compare (x > 0), or reduce with numpy.any or numpy.all"
    )


def while_in_python(cond_fun: Any, body_fun: Any, val: Any) -> tuple[bool, Any]:
    """Runs the loop in Python, for `disable_jit`, if the condition is known."""
    while True:
        pred = as_value(cond_fun(val)).concrete()
        if pred is None:
            return False, val
        if not bool(pred.host()):
            return True, val
        val = body_fun(val)


@overload
def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Any, C], C],
    init_val: C,
    *,
    unroll: int | bool | None = ...,
) -> C: ...
@overload
def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Any, Any], C],
    init_val: Any,
    *,
    unroll: int | bool | None = ...,
) -> C: ...
@located
def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Any:
    """Applies a function for each integer of a range, carrying a value along.

    Equivalent to this Python loop, with one program for any number of steps:

        val = init_val
        for i in range(lower, upper):
            val = body_fun(i, val)
        return val

    With known bounds it is a `scan`, differentiable in both modes; with traced bounds it is a
    `while_loop`, differentiable in forward mode only.

    Args:
      lower, upper: integer scalars of one dtype; no step if upper <= lower. Real numbers are
        accepted: then i = lower, lower + 1, … as long as it is less than upper.
      body_fun: (i, value) -> value, of the same structure, shapes and dtypes.
      init_val: arrays, scalars or containers of them.
      unroll: how many steps to write out for each turn of the compiled loop; known bounds only.
    Returns: the value after the last step.
    Raises: TypeError: the bounds are not integer scalars of one dtype, or the body changes
      structure or type.
    Example:
      >>> from weft import lax
      >>> print(lax.fori_loop(1, 6, lambda i, x: x * i, 1))
      120

    Source: JAX documentation, `jax.lax.fori_loop`.
    """
    check_function("fori_loop", "body", body_fun, ("i", "value"))
    low, high = one_dtype(loop_bound("lower", lower), loop_bound("upper", upper))
    concrete = low.concrete(), high.concrete()
    if concrete[0] is None or concrete[1] is None:
        if unroll is not None:
            raise ValueError(
                "fori_loop: unroll needs bounds that are known when the loop is traced; got "
                f"{low} and {high}"
            )
        return while_loop(is_below, Adapted(body_fun, count_up), (low, high, init_val))[2]
    steps = steps_between(concrete[0].host().item(), concrete[1].host().item())
    if thread.disable_jit:
        val = init_val
        for i in range(steps):
            val = body_fun(low + i, val)
        return val
    return scan_with_counter(low, steps, body_fun, init_val, 1 if unroll is None else unroll)


def is_below(state: Any) -> Any:
    """The condition (i, upper, value) of a `fori_loop` with traced bounds."""
    return lt(state[0], state[1])


def count_up(body_fun: Callable[[Any, Any], Any], state: Any) -> Any:
    """The body of a `fori_loop` with traced bounds."""
    i, upper, value = state
    return add(i, literal(1, i.dtype)), upper, body_fun(i, value)


def loop_bound(name: str, x: Any) -> Any:
    """A bound of a `fori_loop` as a value: an integer, or a real number."""
    try:
        value = as_value(x)
    except (TypeError, ValueError):
        return integer_scalar("fori_loop", name, x)  # its error names the type
    is_real = value.shape == () and dtypes.is_float(value.dtype)
    return value if is_real else integer_scalar("fori_loop", name, value)


def steps_between(begin: float, end: float) -> int:
    """The number of steps of size 1 from one bound to the other."""
    if not math.isfinite(begin) or not math.isfinite(end):
        if begin < end:
            raise ValueError(f"fori_loop: from {begin} to {end} the steps never end")
        return 0
    return max(math.ceil(end - begin), 0)


def one_dtype(low: Any, high: Any) -> tuple[Any, Any]:
    """Bounds of one dtype: a Python integer takes the dtype of the other."""
    if low.dtype != high.dtype:
        if dtypes.is_float(low.dtype) or dtypes.is_float(high.dtype):
            dtype, weak_type = dtypes.promote(low.dtype, low.weak_type, high.dtype, high.weak_type)
            low, high = (
                convert_element_type(x, dtype=dtype, weak_type=weak_type) for x in (low, high)
            )
        elif low.weak_type and not high.weak_type:
            low = convert_element_type(low, dtype=high.dtype)
        elif high.weak_type and not low.weak_type:
            high = convert_element_type(high, dtype=low.dtype)
        else:
            raise ShapeError(
                f"fori_loop: lower and upper must have one dtype; got {low.aval} and {high.aval}"
            )
    return low, high


def scan_with_counter(low: Any, length: int, body_fun: Any, init_val: Any, unroll: Any) -> Any:
    """A loop with a known number of steps, as a scan with a counter in its carry."""
    carry, tree = values_of("fori_loop", "init_val", init_val)
    trees = {"i": values_of("fori_loop", "lower", low)[1], "value": tree}
    while True:
        avals = [x.aval for x in carry]
        body = traced("fori_loop", "body", body_fun, trees, [low.aval, *avals])
        promoted_carry = widened_carry(carry, body.avals) if body.result_tree == tree else None
        if promoted_carry is None:
            break
        carry = promoted_carry
    check_carry("fori_loop", body_fun, tree, avals, body.result_tree, body.avals, "value")
    refs = body.refs.values("fori_loop")
    outs = apply_scan(
        with_counter(body.carrying_refs().jaxpr, len(body.consts)),
        body.consts,
        [low, *carry, *refs],
        [],
        length=length,
        reverse=False,
        unroll=unrolling("fori_loop", unroll, length),
    )
    _, result, last_refs = groups_of(outs, 1, len(carry))
    body.assign_refs("fori_loop", last_refs)
    return tree.unflatten(result)


@cached_on_program
def with_counter(jaxpr: Jaxpr, n_consts: int) -> Jaxpr:
    """A body (constants, i, carry) -> carry, extended to return i + 1 too."""
    i = jaxpr.invars[n_consts]
    then = Var(i.aval)
    count = Equation(add, [i, literal(1, i.aval.dtype)], (), [then])
    equations = [*jaxpr.equations, count]
    return jaxpr.replace(equations=equations, outvars=[then, *jaxpr.outvars])
