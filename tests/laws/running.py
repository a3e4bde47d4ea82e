"""Runs a case's function as each tier and interpretation does, and compares results.

Knows weft's interpreters; knows nothing of particular cases.
"""

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from cases.case import Case, kind_of

import weft.numpy.operators  # noqa: F401  (fills the hook that gives operators their meaning)
from weft.compiler.compiled import run_jaxpr
from weft.core.array import from_host
from weft.core.value import Value
from weft.interpreters.stage import stage

RTOL = {
    "float64": 1e-12, "complex128": 1e-12, "float32": 2e-6, "complex64": 4e-6,
    "float16": 2e-3, "bfloat16": 1.6e-2,
}  # fmt: skip


def values(arrays: Sequence[Any]) -> list[Any]:
    """weft arrays for NumPy arrays."""
    return [from_host(a) for a in arrays]


def flat(result: Any) -> list[Any]:
    """The values in a result."""
    if isinstance(result, Value):
        return [result]
    if isinstance(result, dict):
        return [v for key in sorted(result) for v in flat(result[key])]
    if isinstance(result, (tuple, list)):
        return [v for r in result for v in flat(r)]
    if result is None:
        return []
    return values([result])


def function_of(case: Case, params: Any = None) -> Callable[..., list[Any]]:
    """From values to a list of values."""
    params = case.params if params is None else params
    return lambda *args: flat(case.function(*args, **params))


def host(x: Any) -> np.ndarray:
    """A NumPy array of a value, checked against its aval."""
    array = x.host()
    assert isinstance(array, (np.ndarray, np.generic)), (
        f"evaluate gave a {type(array).__name__}, not a NumPy array or scalar"
    )
    assert array.shape == x.aval.shape, f"evaluate gave shape {array.shape}; type said {x.aval}"
    assert array.dtype == x.aval.dtype, f"evaluate gave dtype {array.dtype}; type said {x.aval}"
    return np.asarray(array)


def compiled(function: Callable[..., Any], arrays: Sequence[Any]) -> list[np.ndarray]:
    """The outputs of the function compiled as one program."""
    args = values(arrays)
    jaxpr = stage(function, [a.aval for a in args])
    return [np.asarray(o.host()) for o in run_jaxpr(jaxpr, args)]


def compiled_together(
    functions: Sequence[Callable[..., Any]], arrays: Sequence[Sequence[Any]]
) -> list[list[np.ndarray]]:
    """Several functions with their arguments, compiled as one program: outputs of each."""
    counts: list[int] = []

    def together(*args: Any) -> list[Any]:
        counts.clear()
        outs: list[Any] = []
        place = 0
        for f, xs in zip(functions, arrays, strict=True):
            results = f(*args[place : place + len(xs)])
            place += len(xs)
            counts.append(len(results))
            outs.extend(results)
        return outs

    results = compiled(together, [x for xs in arrays for x in xs])
    waiting = iter(results)
    return [[next(waiting) for _ in range(n)] for n in counts]


# --- comparing ---


def setting(given: Any, dtype: Any, default: float) -> float:
    """A tolerance for a dtype: one number, or one for each dtype's name."""
    if given is None:
        return default
    if isinstance(given, (int, float)):
        return float(given)
    return float(given.get(np.dtype(dtype).name, default))


def eps(dtype: Any) -> float:
    """The distance from one to the next larger number."""
    return float(ml_dtypes.finfo(real_of(dtype)).eps)


def real_of(dtype: Any) -> np.dtype:
    """The dtype of the real part."""
    dtype = np.dtype(dtype)
    return {"complex64": np.dtype(np.float32), "complex128": np.dtype(np.float64)}.get(
        dtype.name, dtype
    )


def agree(
    actual: Any, expected: Any, about: str, *, rtol: float = 0.0, atol: float = 0.0,
    signed_zero: bool = False, inputs: Any = None,
) -> None:  # fmt: skip
    """Fails with the first differing elements unless two arrays agree: shape, dtype, NaNs,
    infinities; exactly for integers and booleans; within the tolerance for the others."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.dtype == expected.dtype, f"{about}: dtype {actual.dtype}, not {expected.dtype}"
    assert actual.shape == expected.shape, f"{about}: shape {actual.shape}, not {expected.shape}"
    if kind_of(actual.dtype) == "c":
        for part in ("real", "imag"):
            agree_real(getattr(actual, part), getattr(expected, part), f"{about}, {part}",
                       rtol, atol, signed_zero, inputs, np.abs(expected))  # fmt: skip
    else:
        agree_real(actual, expected, about, rtol, atol, signed_zero, inputs, None)


def agree_real(
    actual: Any, expected: Any, about: str, rtol: float, atol: float, signed_zero: bool,
    inputs: Any, scale: Any,
) -> None:  # fmt: skip
    """`agree` for arrays that aren't complex."""
    if kind_of(actual.dtype) in "biu":
        wrong = actual != expected
    else:
        a, e = actual.astype(np.float64), expected.astype(np.float64)
        tiny = float(ml_dtypes.finfo(actual.dtype).tiny)  # XLA's CPU code flushes subnormals
        with np.errstate(all="ignore"):
            size = np.abs(e) if scale is None else np.where(np.isfinite(scale), scale, np.abs(e))
            near = np.abs(a - e) <= np.maximum(atol + rtol * size.astype(np.float64), tiny)
        same = (a == e) | (np.isnan(a) & np.isnan(e)) | (np.isfinite(a) & np.isfinite(e) & near)
        if signed_zero:
            zeros = (a == 0) & (e == 0)
            same &= ~zeros | (np.signbit(a) == np.signbit(e))
        wrong = ~same
    if wrong.any():
        places = np.argwhere(wrong)[:6]
        lines = []
        for p in map(tuple, places):
            given = "" if inputs is None else " for " + ", ".join(
                str(np.broadcast_to(x, actual.shape)[p]) for x in inputs
            )  # fmt: skip
            lines.append(f"  at {tuple(map(int, p))}: {actual[p]!r}, not {expected[p]!r}{given}")
        raise AssertionError(
            f"{about}: {int(wrong.sum())} of {wrong.size} elements differ\n" + "\n".join(lines)
        )
