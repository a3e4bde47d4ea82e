"""How tests of `weft.numpy` compare it with NumPy, compiled calls with eager ones, and derivatives
with finite differences."""

from collections.abc import Callable
from typing import Any

import numpy as onp

import weft
import weft.numpy as np
from weft import dtypes
from weft.tree_util import tree_leaves

TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 5e-6, "complex64": 5e-6}


def as_host(x: Any) -> onp.ndarray:
    """An array's elements, in a dtype that NumPy compares."""
    host = onp.asarray(x)
    return host.astype(onp.float32) if host.dtype.name == "bfloat16" else host


def assert_close(got: Any, wanted: Any, tolerance: float | None = None) -> None:
    """The same shapes and elements, up to rounding in the dtype of `got`."""
    name = onp.asarray(got).dtype.name
    got, wanted = as_host(got), as_host(wanted)
    assert got.shape == wanted.shape
    if got.dtype.kind in "fc":
        near = tolerance or TOLERANCE.get(name, 1e-9)
        onp.testing.assert_allclose(got, wanted, rtol=near, atol=near)
    else:
        onp.testing.assert_array_equal(got, wanted)


def kind(x: Any) -> str:
    """Booleans, integers, real or complex floats: `b`, `i`, `f` or `c`."""
    dtype = np.result_type(x) if isinstance(x, np.ndarray) else onp.asarray(x).dtype
    return "f" if dtypes.is_float(dtype) else dtype.kind.replace("u", "i")


def wide(x: Any) -> Any:
    """NumPy data in a wide dtype, for the oracle."""
    if (isinstance(x, onp.ndarray) and x.dtype.kind in "fc") or getattr(
        x, "dtype", None
    ) == "bfloat16":
        return x.astype(onp.complex128 if x.dtype.kind == "c" else onp.float64)
    return x


def agree(
    name: str,
    *args: Any,
    oracle: Callable[..., Any] | None = None,
    tolerance: float | None = None,
    compiled: bool = True,
    kinds: str = "",
    **options: Any,
) -> Any:
    """Calls `weft.numpy.<name>` on NumPy data, and holds it against NumPy: the first call, the
    third one (from a plan), and a compiled one. Gives the first result.

    Args:
      oracle: called as `oracle(*args, **options)` in place of NumPy's function.
      kinds: those of the results, a letter each, where they are not NumPy's.
    """
    function = getattr(np, name)
    ours = [np.asarray(a) if isinstance(a, onp.ndarray) else a for a in args]
    with onp.errstate(all="ignore"):
        wanted = (oracle or getattr(onp, name))(*map(wide, args), **options)
    first = function(*ours, **options)
    function(*ours, **options)
    third = function(*ours, **options)
    left, right = tree_leaves(first), tree_leaves(wanted)
    assert len(left) == len(right)
    assert "".join(map(kind, left)) == (kinds or "".join(map(kind, right)))
    for a, b in zip(left, right, strict=True):
        assert_close(a, b, tolerance)
    results = [third]
    if compiled:
        places = [i for i, a in enumerate(ours) if isinstance(a, np.ndarray)]

        def run(*traced: Any) -> Any:
            every = list(ours)
            for i, x in zip(places, traced, strict=True):
                every[i] = x
            return function(*every, **options)

        results.append(weft.jit(run)(*[ours[i] for i in places]))
    for result in results:
        for a, b in zip(left, tree_leaves(result), strict=True):
            if isinstance(a, np.ndarray):
                assert (a.dtype, a.weak_type) == (b.dtype, b.weak_type)
            assert_close(b, a)
    return first


def assert_gradient(function: Callable[..., Any], *args: onp.ndarray, step: float = 1e-6) -> None:
    """The gradient of a weighted sum of the outputs, against central differences in float64."""
    with weft.enable_x64(True):
        xs = [np.asarray(onp.asarray(a, onp.float64)) for a in args]
        rng = onp.random.default_rng(0)
        weights = [np.asarray(rng.standard_normal(r.shape)) for r in tree_leaves(function(*xs))]

        def total(*xs: Any) -> Any:
            return sum(
                (w * r).sum() for w, r in zip(weights, tree_leaves(function(*xs)), strict=True)
            )

        gradients = weft.grad(total, argnums=tuple(range(len(xs))))(*xs)
        for i, (x, gradient) in enumerate(zip(args, gradients, strict=True)):
            flat = onp.asarray(x, onp.float64).ravel()
            found = onp.zeros_like(flat)
            for k in range(flat.size):
                ends = []
                for sign in (1, -1):
                    moved = flat.copy()
                    moved[k] += sign * step
                    inputs = list(xs)
                    inputs[i] = np.asarray(moved.reshape(onp.shape(x)))
                    ends.append(float(total(*inputs)))
                found[k] = (ends[0] - ends[1]) / (2 * step)
            onp.testing.assert_allclose(
                onp.asarray(gradient).ravel(), found, rtol=2e-5, atol=2e-6, err_msg=f"argument {i}"
            )
