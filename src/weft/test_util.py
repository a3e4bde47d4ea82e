"""Checks derivatives against finite differences: `check_grads`, `check_jvp`, `check_vjp`.

The differences are computed in NumPy. Directions are random, and the same in every run.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import dtypes
from .core.array import as_value
from .core.source import located
from .transforms.derivatives import jvp, vjp
from .tree_util import tree_flatten, tree_leaves, tree_map
from .typing import PyTree

__all__ = ["check_grads", "check_jvp", "check_vjp"]

_STEP = 1 / 2048  # a power of two: x + step and x - step are exact for moderate x
_TOLERANCES = {2: 1e-2, 4: 2e-3, 8: 1e-5}  # by the bytes of a real number


@located
def check_grads(
    f: Callable[..., PyTree],
    args: Sequence[PyTree],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Checks derivatives of a function against finite differences, in random directions.

    Args:
      f: differentiable; takes and returns trees of arrays of real or complex dtypes.
      args: the arguments at which to check.
      order: the maximum order of derivatives to check, in all combinations of the modes.
      modes: 'fwd' for `jvp`, 'rev' for `vjp`, or both.
      atol, rtol: absolute and relative tolerance; by default 2e-3 for float32, 1e-5 for float64.
      eps: the step of the differences; 1/2048 by default.
    Raises: AssertionError: a derivative is wrong. It shows the leaf, and which derivatives were
      taken.
    Example:
      >>> import weft, weft.numpy as np
      >>> from weft.test_util import check_grads
      >>> check_grads(lambda x: np.sin(x) * x, (np.linspace(-1.0, 1.0, 5),), order=2)
      >>> wrong = weft.custom_jvp(np.sin)
      >>> wrong.defjvps(lambda t, out, x: t * np.sin(x))
      >>> check_grads(wrong, (1.0,), order=1, modes=["fwd"])
      Traceback (most recent call last):
          ...
      AssertionError: check_grads (jvp): leaf 0 of the result: ...
    Source: JAX documentation, `jax.test_util.check_grads`.
    """
    unknown = set(modes) - {"fwd", "rev"}
    if unknown or isinstance(modes, str):
        raise ValueError(f"check_grads: modes must be a list of 'fwd' and 'rev'; got {modes!r}")
    check_orders(f, arrays(tuple(args)), order, modes, (atol, rtol, eps), "check_grads (")


def check_orders(
    f: Callable[..., PyTree],
    args: tuple[PyTree, ...],
    order: int,
    modes: Sequence[str],
    limits: tuple[float | None, float | None, float | None],
    message: str,
) -> None:
    """`check_grads` up to an order; `message` lists the derivatives so far."""
    generator = np.random.default_rng(order)
    if "fwd" in modes:
        pushed = lambda primals, tangents: jvp(f, primals, tangents)  # noqa: E731
        check_jvp(f, pushed, args, *limits, err_msg=f"{message}jvp)")
        if order > 1:
            tangents = directions(args, generator)
            check_orders(
                lambda *xs: pushed(xs, tangents)[1],
                args, order - 1, modes, limits, f"{message}jvp of ",
            )  # fmt: skip
    if "rev" in modes:
        pulled = lambda *xs: vjp(f, *xs)  # noqa: E731
        check_vjp(f, pulled, args, *limits, err_msg=f"{message}vjp)")
        if order > 1:
            ct = directions(f(*args), generator)
            check_orders(
                lambda *xs: pulled(*xs)[1](ct),
                args, order - 1, modes, limits, f"{message}vjp of ",
            )  # fmt: skip


@located
def check_jvp(
    f: Callable[..., PyTree],
    f_jvp: Callable[..., tuple[PyTree, PyTree]],
    args: Sequence[PyTree],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Checks a forward-mode derivative against finite differences, in a random direction.

    Args:
      f: takes and returns trees of arrays.
      f_jvp: `f_jvp(primals, tangents) -> (outputs, output tangents)`, tuples in.
      args: the arguments at which to check.
      atol, rtol, eps: as for `check_grads`.
      err_msg: the beginning of error messages.
    Raises: AssertionError: the outputs or the tangents are wrong.
    Example:
      >>> import weft, weft.numpy as np
      >>> from weft.test_util import check_jvp
      >>> check_jvp(np.sin, lambda xs, ts: weft.jvp(np.sin, xs, ts), (1.0,))
    Source: JAX documentation, `jax.test_util.check_jvp`.
    """
    args = arrays(tuple(args))
    tangents = directions(args, np.random.default_rng(0))
    outs, t_outs = f_jvp(args, tangents)
    where = err_msg or "check_jvp"
    assert_close(f"{where}: primal", outs, f(*args), atol, rtol, args)
    assert_close(where, t_outs, difference_quotient(f, args, tangents, eps), atol, rtol, args)


@located
def check_vjp(
    f: Callable[..., PyTree],
    f_vjp: Callable[..., tuple[PyTree, Callable[[PyTree], tuple[PyTree, ...]]]],
    args: Sequence[PyTree],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Checks a reverse-mode derivative against finite differences, in random directions.

    Args:
      f: takes and returns trees of arrays.
      f_vjp: `f_vjp(*args) -> (outputs, pullback)`; the pullback takes a cotangent of the outputs
        and returns a tuple with one for each argument.
      args: the arguments at which to check.
      atol, rtol, eps: as for `check_grads`.
      err_msg: the beginning of error messages.
    Raises: AssertionError: the outputs or the cotangents are wrong.
    Example:
      >>> import weft, weft.numpy as np
      >>> from weft.test_util import check_vjp
      >>> check_vjp(np.sin, lambda x: weft.vjp(np.sin, x), (1.0,))
    Source: JAX documentation, `jax.test_util.check_vjp`.
    """
    args = arrays(tuple(args))
    generator = np.random.default_rng(1)
    where = err_msg or "check_vjp"
    outs, pullback = f_vjp(*args)
    assert_close(f"{where}: primal", outs, f(*args), atol, rtol, args)
    tangents = directions(args, generator)
    quotient = difference_quotient(f, args, tangents, eps)
    ct = directions(outs, generator)
    backward = inner_product(pullback(ct), tangents)
    forward = inner_product(ct, quotient)
    assert_close(where, backward, forward, atol, rtol, (args, outs))


def arrays(tree: PyTree) -> PyTree:
    """The tree with its leaves as arrays."""
    return tree_map(as_value, tree)


def directions(tree: PyTree, generator: np.random.Generator) -> PyTree:
    """A random tangent, or cotangent, for each leaf; float0 for integers."""

    def direction(x: object) -> Any:
        value = as_value(x)
        dtype = dtypes.tangent_dtype(value.dtype)
        if not dtypes.is_inexact(dtype):
            return np.zeros(value.shape, dtype)
        t = generator.standard_normal(value.shape)
        if dtypes.is_complex(dtype):
            t = t + 1j * generator.standard_normal(value.shape)
        return np.asarray(t).astype(dtype)

    return tree_map(direction, tree)


def difference_quotient(
    f: Callable[..., PyTree], args: PyTree, tangents: PyTree, eps: float | None
) -> PyTree:
    """The derivative of a function in a direction, by central differences in NumPy."""
    step = _STEP if eps is None else eps

    def moved(sign: float) -> list[Any]:
        def at(x: Any, t: Any) -> Any:
            if t.dtype == dtypes.float0:
                return x
            return as_value((np.asarray(x) + sign * step * t).astype(x.dtype))

        return [np.asarray(as_value(x)) for x in tree_leaves(f(*tree_map(at, args, tangents)))]

    def quotient(high: Any, low: Any) -> Any:
        if not dtypes.is_inexact(high.dtype):
            return np.zeros(high.shape, dtypes.float0)
        dtype = np.complex128 if dtypes.is_complex(high.dtype) else np.float64
        return (high.astype(dtype) - low.astype(dtype)) / (2 * step)

    return [quotient(h, low) for h, low in zip(moved(1.0), moved(-1.0), strict=True)]


def inner_product(a: PyTree, b: PyTree) -> Any:
    """The real part of the sum of products of leaves: a cotangent applied to a tangent."""
    total = 0.0
    for x, y in zip(tree_leaves(a), tree_leaves(b), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        if x.dtype != dtypes.float0 and y.dtype != dtypes.float0:
            dtype = np.complex128 if "c" in (x.dtype.kind, y.dtype.kind) else np.float64
            total += np.sum(x.astype(dtype) * y.astype(dtype)).real
    return total


def assert_close(
    where: str,
    actual: PyTree,
    expected: PyTree,
    atol: float | None,
    rtol: float | None,
    example: PyTree,
) -> None:
    """Compares leaves, by default with the tolerance of the least precise dtype in `example`."""
    sizes = [
        dtypes.real_of(x.dtype).itemsize
        for x in map(as_value, tree_leaves((example, actual)))
        if dtypes.is_inexact(x.dtype)
    ]
    default = _TOLERANCES.get(min(sizes, default=8), 0.1)
    limits = default if rtol is None else rtol, default if atol is None else atol
    pairs = zip(tree_flatten(actual)[0], tree_flatten(expected)[0], strict=True)
    for i, (x, y) in enumerate(pairs):
        x, y = np.asarray(x), np.asarray(y)
        if y.dtype != dtypes.float0 and not np.allclose(x, y, *limits, equal_nan=True):
            raise AssertionError(
                f"{where}: leaf {i} of the result: the derivative is {x}, the finite difference "
                f"{y} (rtol={limits[0]}, atol={limits[1]})"
            )
