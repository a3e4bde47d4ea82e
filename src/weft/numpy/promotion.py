"""Promotion: operands of any kind to values of one dtype, planned once for each pair of types.

Also the makers of functions whose eager calls run kept plans. Knows the lattice of dtypes; knows
nothing of operators.
"""

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..compiler.loaded import run_jaxpr
from ..config import anywhere, config, thread
from ..core.array import _SCALARS as _SCALAR_TYPES, Array, as_value, literal, literals_of
from ..core.aval import Aval
from ..core.primitive import Primitive
from ..core.source import note_user_line, noted
from ..core.trace import current
from ..core.value import Value
from ..interpreters.evaluate import quietly
from ..interpreters.plan import Plan
from ..interpreters.stage import stage
from ..primitives.structural import convert_element_type

SCALARS = frozenset(_SCALAR_TYPES)
_base = current.base

# --- values ---


def value(name: str, x: Any, argument: str = "x") -> Any:
    """A value for the argument of a function; an error that names both for what can't be one."""
    if isinstance(x, Value):
        return x
    try:
        return as_value(x)
    except TypeError as error:
        if isinstance(x, (list, tuple)):
            raise noted(
                TypeError(
                    f"{name}: expected an array or a scalar for {argument}; got a "
                    f"{type(x).__name__}\n  fix: {name}(np.array({argument})): lists are never "
                    "made "
                    "into arrays silently, as that is slow"
                )
            ) from None
        if x is None or isinstance(x, (str, dict, set)):
            raise noted(
                TypeError(
                    f"{name}: expected an array or a scalar for {argument}; got "
                    f"{'None' if x is None else f'a {type(x).__name__}'}"
                )
            ) from None
        raise noted(TypeError(f"{name}: {argument}: {error}")) from None


def no_out(name: str, out: Any) -> None:
    """Refuses NumPy's argument `out`: arrays are immutable."""
    if out is not None:
        raise noted(
            NotImplementedError(
                f"{name}: out must be None: arrays are immutable; got a {type(out).__name__}\n"
                f"  fix: use the result: y = {name}(x)"
            )
        )


def cast(x: Any, dtype: Any, weak_type: bool = False) -> Any:
    """A value in another dtype; itself if it is in it already."""
    aval = x.aval
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return x
    return current.trace.bind(
        convert_element_type,
        (x,),
        (("dtype", dtype), ("weak_type", weak_type)),
        aval.update(dtype=dtype, weak_type=weak_type),
    )


def operand_type(x: Any) -> tuple[Any, bool]:
    """(dtype, weak) of an operand."""
    if isinstance(x, Value):
        return x.aval.dtype, x.aval.weak_type
    kind = x.__class__
    if kind is bool:
        return dtypes.bool_, False
    if kind is int:
        return dtypes.default_int(), True
    if kind is float:
        return dtypes.default_float(), True
    return dtypes.default_complex(), True


def promote_values(
    name: str, *xs: Any, to_inexact: bool = False, to_number: bool = False
) -> list[Any]:
    """Operands as values of one dtype.

    Args:
      to_inexact: integers and booleans become the default float.
      to_number: booleans become the default integer.
    """
    if len(xs) == 2 and isinstance(xs[0], Value) and isinstance(xs[1], Value):
        dtype = xs[0].aval.dtype  # the way of nearly every call while tracing
        if dtype is xs[1].aval.dtype and (
            dtypes.is_inexact(dtype) or not (to_inexact or to_number)
        ):
            return [*xs]
    xs = tuple(
        [x if x.__class__ in SCALARS else value(name, x, f"x{i}") for i, x in enumerate(xs, 1)]
    )
    dtype, weak = operand_type(xs[0])
    try:
        for x in xs[1:]:
            dtype, weak = dtypes.promote(dtype, weak, *operand_type(x))
    except TypeError as error:
        raise noted(TypeError(f"{name}: {error}")) from None
    if to_inexact and not dtypes.is_inexact(dtype):
        dtype = dtypes.default_float()
    elif to_number and dtype == dtypes.bool_:
        dtype = dtypes.default_int()
    return [to_dtype(x, dtype, weak) for x in xs]


def to_dtype(x: Any, dtype: Any, weak: bool = False) -> Any:
    """An operand as a value of a dtype. Python scalars and weak values stay weak; `weak` makes
    others so that are converted: an int32 array plus 2.5 is a weak float32 one.
    """
    if x.__class__ in SCALARS:
        return literal(x, dtype)
    if x.aval.dtype == dtype:
        return x
    if x.type is x.aval and x.aval.weak_type and not x.aval.ndim and x._host is not None:
        return literal(x._host.item(), dtype)  # a Python scalar that was made a value
    return cast(x, dtype, weak or (x.aval.weak_type and x.aval.dtype != dtypes.bool_))


def strong(x: Any) -> Any:
    """The value without its weak type."""
    aval = x.aval
    if not aval.weak_type:
        return x
    if x.type is aval:
        return Array(x._host, aval.strong(), x._buffer)
    return cast(x, aval.dtype)


def inexact(name: str, x: Any) -> Any:
    """A value of an inexact dtype; integers and booleans become the default float."""
    return promote_values(name, value(name, x), to_inexact=True)[0]


_plan_caches: list[dict[Any, Any]] = []


@config.on_change
def _forget() -> None:
    for cache in _plan_caches:
        cache.clear()


def plan_cache() -> dict[Any, Any]:
    """A cache that is emptied when a switch that changes programs is turned."""
    cache: dict[Any, Any] = {}
    _plan_caches.append(cache)
    return cache


def keep(cache: dict[Any, Any], key: Any, plan: Any) -> Any:
    """Puts a plan into a bounded cache."""
    if len(cache) >= 4096:
        cache.clear()
    cache[key] = plan
    return plan


# --- one primitive ---

_PLAIN = frozenset({*SCALARS, list, tuple, set, dict})


def binary(
    primitive: Primitive,
    name: str,
    doc: str = "",
    *,
    to_inexact: bool = False,
    to_number: bool = False,
    operator: bool = False,
    of_complex: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """A function of two operands with promotion, applying one primitive.

    Its plans, kept for each pair of operand types, hold the NumPy kernel, if the operation is done
    at once on the host, and the output's aval: 0.1 µs a look-up. `pairs` has them for two values of
    one dtype, `rights` and `lefts` for a Python scalar on that side which takes the dtype of the
    other operand.

    Args:
      to_inexact, to_number: as in `promote_values`.
      operator: give `NotImplemented` for an operand that is no array, as Python's operators should.
      of_complex: does the work for complex numbers, if the primitive can't.
    """

    @composite
    def promoted(x: Any, y: Any) -> Any:
        values = promote_values(name, x, y, to_inexact=to_inexact, to_number=to_number)
        return current.trace.bind(primitive, values, ())

    pairs, rights, lefts, mixed = plan_cache(), plan_cache(), plan_cache(), plan_cache()

    def function(x1: Any, x2: Any, /) -> Any:
        trace = current.trace
        try:
            if trace is _base and x1.__class__ is Array and x2.__class__ is Array:
                kernel, out = pairs[x1.type, x2.type]
                if kernel is not None:
                    hx, hy = x1._host, x2._host
                    if hx is None:
                        hx = _base.fetch(x1)
                    if hy is None:
                        hy = _base.fetch(x2)
                    return Array((current.quiet or quietly())(kernel, hx, hy), out)
                return trace.bind(primitive, (x1, x2), (), out)
            if x2.__class__ in SCALARS:
                kernel, out, dtype, known = rights[x1.aval, x2.__class__]
                y = known.get(x2)
                if y is None:
                    y = literal(x2, dtype)
                if trace is _base and x1.type is x1.aval and kernel is not None:
                    host = x1._host
                    if host is None:
                        host = _base.fetch(x1)
                    return Array((current.quiet or quietly())(kernel, host, y._host), out)
                return trace.bind(primitive, (x1, y), (), out)
            if x1.__class__ in SCALARS:
                kernel, out, dtype, known = lefts[x1.__class__, x2.aval]
                x = known.get(x1)
                if x is None:
                    x = literal(x1, dtype)
                if trace is _base and x2.type is x2.aval and kernel is not None:
                    host = x2._host
                    if host is None:
                        host = _base.fetch(x2)
                    return Array((current.quiet or quietly())(kernel, x._host, host), out)
                return trace.bind(primitive, (x, x2), (), out)
            _, out = pairs[x1.aval, x2.aval]
            return trace.bind(primitive, (x1, x2), (), out)
        except (AttributeError, KeyError):
            pass
        except (TypeError, ValueError) as error:
            note_user_line(error)
            raise
        return planned(x1, x2)

    def planned(x: Any, y: Any) -> Any:
        """The general way, which leaves a plan."""
        arrays = x.__class__ is Array and y.__class__ is Array and current.trace is _base
        if arrays and (x.aval, y.aval, thread.x64) in mixed:
            return promoted(x, y)
        if operator and not (is_operand(x) and is_operand(y)):
            return NotImplemented
        try:
            x = x if x.__class__ in SCALARS else value(name, x, "x1")
            y = y if y.__class__ in SCALARS else value(name, y, "x2")
            if thread.numpy_rank_promotion != "allow":
                check_ranks(name, x, y)
            vx, vy = promote_values(name, x, y, to_inexact=to_inexact, to_number=to_number)
            dtype = vx.aval.dtype
            if of_complex is not None and dtype.kind == "c":
                return of_complex(vx, vy)
            out = primitive.out((vx, vy), ())
            if anywhere("numpy_rank_promotion", "allow"):  # plans are all threads'
                return current.trace.bind(primitive, (vx, vy), (), out)
            if vx is x and vy is y:
                keep(pairs, (x.type or x.aval, y.type or y.aval), (host_kernel(vx, vy), out))
            elif vx is x and y.__class__ in SCALARS and not x.aval.weak_type:
                plan = host_kernel(vx, vy), out, dtype, literals_of(y.__class__, dtype)
                keep(rights, (x.aval, y.__class__), plan)
            elif vy is y and x.__class__ in SCALARS and not y.aval.weak_type:
                plan = host_kernel(vx, vy), out, dtype, literals_of(x.__class__, dtype)
                keep(lefts, (x.__class__, y.aval), plan)
            elif vx.__class__ is Array and vy.__class__ is Array and current.trace is _base:
                x, y = as_value(x), as_value(y)
                keep(mixed, (x.aval, y.aval, thread.x64), True)
                return promoted(x, y)  # with the casts in its plan
            return current.trace.bind(primitive, (vx, vy), (), out)
        except (TypeError, ValueError) as error:
            note_user_line(error)
            raise

    def host_kernel(x: Any, y: Any) -> Any:
        if x.__class__ is Array and y.__class__ is Array:
            return _base.prepare(primitive, (x, y), ())[0]
        return None

    return described(function, name, doc)


def is_operand(x: Any) -> bool:
    """Whether an operator of ours takes care of `x` (be it with an error)."""
    return x.__class__ in _PLAIN or isinstance(x, Value) or hasattr(x, "__array__")


def described(function: Any, name: str, doc: str) -> Any:
    """Gives a made function its name and docstring."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = sys._getframe(2).f_globals["__name__"]  # that of the maker's caller
    if doc:
        function.__doc__ = doc
    return function


def check_ranks(name: str, *xs: Any) -> None:
    """The switch numpy_rank_promotion."""
    mode = thread.numpy_rank_promotion
    if mode == "allow":
        return
    ranks = {getattr(v, "ndim", 0) for v in xs} - {0}
    if len(ranks) > 1:
        message = (
            f"{name}: operands of different ranks: "
            f"{', '.join(str(getattr(v, 'aval', v)) for v in xs)} "
            f"(numpy_rank_promotion is {mode!r})\n  fix: add the missing axes with x[None]"
        )
        if mode == "raise":
            raise noted(ValueError(message))
        warnings.warn(message, stacklevel=dtypes._levels_to_user())


def unary(
    primitive: Primitive,
    name: str,
    doc: str = "",
    *,
    to_inexact: bool = False,
    params: tuple[tuple[str, Any], ...] = (),
) -> Callable[..., Any]:
    """A function of one operand applying one primitive; planned as in `binary`."""
    plans = plan_cache()

    def function(x: Any, /) -> Any:
        try:
            kernel, out = plans[x.aval]
        except (AttributeError, KeyError):
            return planned(x)
        trace = current.trace
        if trace is _base and x.type is x.aval and kernel is not None:
            host = x._host
            if host is None:
                host = _base.fetch(x)
            return Array((current.quiet or quietly())(kernel, host), out)
        return trace.bind(primitive, (x,), params, out)

    def planned(x: Any) -> Any:
        try:
            x = value(name, x)
            (v,) = promote_values(name, x, to_inexact=to_inexact)
            out = primitive.out((v,), params)
            if v is x:
                kernel = _base.prepare(primitive, (x,), params)[0] if x.__class__ is Array else None
                keep(plans, x.aval, (kernel, out))
            return current.trace.bind(primitive, (v,), params, out)
        except (TypeError, ValueError) as error:
            note_user_line(error)
            raise

    return described(function, name, doc)


def derived(
    function: Callable[..., Any],
    name: str,
    doc: str = "",
    *,
    to_inexact: bool = False,
    to_number: bool = False,
    operator: bool = False,
    host: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """A function of two operands with promotion, made of several primitives; as `binary`.

    `host` gives, for two avals, a NumPy function that comes to the same as all of the primitives;
    or `None`.
    """
    call = composite(function, host)
    rights = plan_cache()

    def public(x1: Any, x2: Any, /) -> Any:
        if x2.__class__ in SCALARS and isinstance(x1, Value):
            dtype = rights.get((x1.aval, x2.__class__))
            if dtype is not None:
                return call(x1, strong(literal(x2, dtype)))
        if operator and not (is_operand(x1) and is_operand(x2)):
            return NotImplemented
        try:
            if thread.numpy_rank_promotion != "allow":
                check_ranks(name, x1, x2)
            x, y = promote_values(name, x1, x2, to_inexact=to_inexact, to_number=to_number)
            if x is x1 and x2.__class__ in SCALARS and not x.aval.weak_type:
                keep(rights, (x.aval, x2.__class__), x.aval.dtype)
            if x.aval.weak_type is not y.aval.weak_type:  # else a weak operand may decide
                x, y = strong(x), strong(y)
            return call(x, y)
        except (TypeError, ValueError) as error:
            note_user_line(error)
            raise

    return described(public, name, doc)


# --- several primitives ---


def composite(
    function: Callable[..., Any], direct: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Decorates a function of values (by position) and hashable options (by keyword), made of
    primitives. Eager calls run it from a plan, staged when a signature comes the second time: then
    it costs its NumPy kernels and about one microsecond. Traced calls run it as it is.

    The function gives a value or a tuple of values.
    """
    plans = plan_cache()

    @functools.wraps(function)
    def call(*xs: Any, **options: Any) -> Any:
        if current.trace is not _base:
            return function(*xs, **options)
        try:
            if options:
                key = (thread.x64, tuple(options.items()), *[x.aval for x in xs])
            else:
                key = (thread.x64, *[x.aval for x in xs])
            found = plans.get(key)
        except TypeError:  # an option that has no hash
            found = key = None
        if not found:
            if found is None:
                if key is not None:
                    keep(plans, key, ())
                return function(*xs, **options)
            avals = [x.aval for x in xs]
            kernel, out, ready = plan_of(function, avals, options)
            if direct is not None and kernel is not None:
                kernel = direct(*avals) or kernel
            found = keep(plans, key, (kernel, out, ready))
        kernel, out, ready = found
        hosts = []
        for x in xs:
            if x.type is not x.aval:
                outs = ready.run(xs, _base)
                break
            host = x._host
            hosts.append(_base.fetch(x) if host is None and kernel is not None else host)
        else:
            if kernel is not None:
                return Array((current.quiet or quietly())(kernel, *hosts), out)
            if ready.prepared().steps is None and ready.jaxpr.equations and not thread.disable_jit:
                outs = run_jaxpr(ready.jaxpr, xs)  # XLA does it, as one program
            else:
                outs = ready.run(xs, _base)
        return outs[0] if out is not None else tuple(outs)

    return call


def plan_of(function: Callable[..., Any], avals: list[Aval], options: Any) -> tuple[Any, Any, Plan]:
    """(kernel, aval, plan) for a function of values: the kernel is one NumPy function that gives
    the output, or `None` if there are several outputs or XLA has to do a part of it; the aval is
    that of the output, or `None` if there are several.
    """
    one = True

    def listed(*xs: Any) -> Any:
        nonlocal one
        result = function(*xs, **options)
        one = not isinstance(result, tuple)
        return [result] if one else result

    plan = Plan(stage(listed, avals, name=function.__name__, about=function))
    if not one:
        return None, None, plan
    out = plan.jaxpr.outvars[0].aval
    kernels = plan.prepared()
    if kernels.steps is None or kernels.outputs[0][0]:
        return None, out, plan
    steps = kernels.steps[0]
    if len(steps) == 1 and not steps[0][2] and steps[0][1] == tuple(range(len(avals))):
        return steps[0][0], out, plan
    program = kernels.generate(of_arrays=False)
    return (lambda *hosts: program(*hosts)[0]), out, plan


def planned_call(cache: dict[Any, Any], key: Any, function: Callable[..., Any], x: Any) -> Any:
    """`function(x)` for a function with a fast way of its own: the second time that a key comes,
    leaves (kernel, output's aval) for it in `cache`.
    """
    if x.type is x.aval and current.trace is _base:
        try:
            seen = cache.get(key)
        except TypeError:
            return function(x)
        if seen is None:
            keep(cache, key, ())
        elif not seen:
            keep(cache, key, plan_of(function, [x.aval], {})[:2])
    return function(x)


def run_plan(x: Any, kernel: Any, out: Aval) -> Any:
    """Runs a kept kernel on an array."""
    host = x._host
    if host is None:
        host = _base.fetch(x)
    return Array((current.quiet or quietly())(kernel, host), out)
