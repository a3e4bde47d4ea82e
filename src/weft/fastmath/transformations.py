"""Loops, derivatives, compilation and mapping, on the current backend.

scan, map, fori_loop, cond; grad, value_and_grad, vjp, custom_grad, custom_vjp, stop_gradient,
remat; jit, disable_jit, vmap, pmap, psum and abstract_eval.
"""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from .backends import current, of_each_backend

__all__ = [
    "abstract_eval",
    "cond",
    "custom_grad",
    "custom_vjp",
    "disable_jit",
    "fori_loop",
    "grad",
    "jit",
    "map",
    "pmap",
    "psum",
    "remat",
    "scan",
    "stop_gradient",
    "value_and_grad",
    "vjp",
    "vmap",
]

Function = Callable[..., Any]
Numbers = int | Sequence[int]


# --- loops and branches ---


def scan(
    f: Function, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False
) -> tuple[Any, Any]:
    """A loop over the leading axis of arrays that carries a value.

    Args:
      f: `f(carry, x)` returns the next carry and a result y.
      init: the first carry: nested arrays.
      xs: nested arrays of the same length, or None.
      length: the number of steps, if there are no `xs`.
      reverse: whether to go from the last element to the first.
    Returns: the last carry, and the results stacked along a new first axis.
    Example:
      >>> from weft import fastmath
      >>> from weft.fastmath import numpy as np
      >>> total, before = fastmath.scan(lambda total, x: (total + x, total), 0, np.arange(4))
      >>> total.item(), before.tolist()
      (6, [0, 0, 1, 3])
    Source: Trax documentation, `fastmath.ops.scan`.
    """
    return current.operations.scan(f, init, xs, length=length, reverse=reverse)


def map(f: Function, xs: Any) -> Any:
    """Applies a function to the elements along the leading axes, one after the other.

    Args:
      f: function of nested arrays.
      xs: nested arrays of the same length.
    Returns: the results stacked along a new first axis.
    Example:
      >>> from weft import fastmath
      >>> from weft.fastmath import numpy as np
      >>> fastmath.map(lambda x: x + 1, np.arange(3))
      Array([1, 2, 3], dtype=int32)
    Source: Trax documentation, `fastmath.ops.map`.
    """
    return current.operations.map(f, xs)


def fori_loop(lower: Any, upper: Any, body_fn: Function, init_val: Any) -> Any:
    """A loop over integers that carries a value.

    Args:
      lower: the first index.
      upper: the index after the last one.
      body_fn: `body_fn(i, value)` returns the next value.
      init_val: the first value: nested arrays.
    Returns: the last value.
    Example:
      >>> from weft import fastmath
      >>> fastmath.fori_loop(0, 4, lambda i, total: total + i, 0).item()
      6
    Source: Trax documentation, `fastmath.ops.fori_loop`.
    """
    return current.operations.fori_loop(lower, upper, body_fn, init_val)


def cond(pred: Any, true_fn: Function, false_fn: Function, *operands: Any) -> Any:
    """`true_fn(*operands)` if a scalar is true, `false_fn(*operands)` otherwise.

    Args:
      pred: boolean scalar, which may be traced.
      true_fn, false_fn: functions whose results have the same structure, shapes and dtypes.
      *operands: their arguments.

    Trax's form is also accepted, with one argument for each function:
    `cond(pred, true_operand, true_fn, false_operand, false_fn)`.

    Example:
      >>> from weft import fastmath
      >>> fastmath.cond(True, lambda x: x + 1, lambda x: x - 1, 3).item()
      4
    Source: Trax documentation, `fastmath.ops.cond`.
    """
    if len(operands) == 2 and callable(false_fn) and callable(operands[1]):
        of_true, run_true, (of_false, run_false) = true_fn, false_fn, operands
        return current.operations.cond(
            pred, lambda x, _: run_true(x), lambda _, x: run_false(x), of_true, of_false
        )
    return current.operations.cond(pred, true_fn, false_fn, *operands)


# --- derivatives ---


def grad(f: Function, argnums: Numbers = 0, has_aux: bool = False) -> Function:
    """A function that computes the gradient of a function.

    Args:
      f: function that returns a scalar.
      argnums: the position of the argument, or positions of several.
      has_aux: whether `f` returns a pair of the scalar and auxiliary data.
    Returns: function of the same arguments that returns the gradient, or with `has_aux` a pair.
    Raises: UnavailableError: on the backend `numpy`.
    Example:
      >>> from weft import fastmath
      >>> fastmath.grad(lambda x: x * x)(3.0).item()
      6.0
    Source: Trax documentation, `fastmath.ops.grad`.
    """
    return of_each_backend(f, lambda b: b.grad(f, argnums=argnums, has_aux=has_aux))


def value_and_grad(f: Function, argnums: Numbers = 0, has_aux: bool = False) -> Function:
    """A function that computes the value and the gradient of a function.

    Args: as for `grad`.
    Returns: function of the same arguments that returns (value, gradient), or with `has_aux`
      ((value, aux), gradient).
    Raises: UnavailableError: on the backend `numpy`.
    Example:
      >>> from weft import fastmath
      >>> [x.item() for x in fastmath.value_and_grad(lambda x: x * x)(3.0)]
      [9.0, 6.0]
    Source: Trax documentation, `fastmath.ops.value_and_grad`.
    """
    return of_each_backend(f, lambda b: b.value_and_grad(f, argnums=argnums, has_aux=has_aux))


def vjp(f: Function, *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of a function, and a function that pulls cotangents back.

    Args:
      f: function of nested arrays.
      *primals: its arguments.
      has_aux: whether `f` returns a pair of its value and auxiliary data.
    Returns: (value, pullback), or with `has_aux` (value, pullback, aux); `pullback(ct)` is a tuple
      with a cotangent for each argument.
    Raises: UnavailableError: on the backend `numpy`.
    Example:
      >>> from weft import fastmath
      >>> value, pullback = fastmath.vjp(lambda x, y: x * y, 2.0, 3.0)
      >>> [ct.item() for ct in pullback(1.0)]
      [3.0, 2.0]
    Source: Trax documentation, `fastmath.ops.vjp`.
    """
    return current.operations.vjp(f, *primals, has_aux=has_aux)


def custom_grad(f_vjp: Function, f_original: Function) -> Function:
    """A function with a custom derivative.

    Args:
      f_vjp: returns the value and a function that pulls cotangents back.
      f_original: the function itself, for its name.
    Returns: a function with the value of `f_vjp`. It also works on the backend `numpy`, without the
      derivative.
    Example:
      >>> from weft import fastmath
      >>> double = fastmath.custom_grad(lambda x: (2 * x, lambda g: (10 * g,)), lambda x: 2 * x)
      >>> double(1.0).item(), fastmath.grad(double)(1.0).item()
      (2.0, 10.0)
    Source: Trax documentation, `fastmath.ops.custom_grad`.
    """
    return of_each_backend(f_original, lambda b: b.custom_grad(f_vjp, f_original))


def custom_vjp(
    f: Function, f_fwd: Function, f_bwd: Function, nondiff_argnums: Numbers = ()
) -> Function:
    """A function with a custom derivative, defined by two functions.

    Args:
      f: the function.
      f_fwd: returns the value and the residuals.
      f_bwd: `f_bwd(residual, cotangent)` returns a tuple with a gradient for each argument; None
        means zero.
      nondiff_argnums: the positions of arguments that have no derivative, and may be any objects;
        the gradients that `f_bwd` returns for them are ignored.
    Returns: a function with the value of `f`. It also works on the backend `numpy`, without the
      derivative.
    Example:
      >>> from weft import fastmath
      >>> square = fastmath.custom_vjp(
      ...     lambda x: x * x, lambda x: (x * x, x), lambda x, g: (20 * x * g,)
      ... )
      >>> fastmath.grad(square)(3.0).item()
      60.0
    Source: Trax documentation, `fastmath.ops.custom_vjp`.
    """
    nondiff = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
    return of_each_backend(f, lambda b: b.custom_vjp(f, f_fwd, f_bwd, nondiff))


def stop_gradient(x: Any) -> Any:
    """The same nested arrays, with derivative zero.

    Example:
      >>> from weft import fastmath
      >>> fastmath.grad(lambda x: x * fastmath.stop_gradient(x))(3.0)
      Array(3., dtype=float32, weak_type=True)
    Source: Trax documentation, `fastmath.ops.stop_gradient`.
    """
    return current.operations.stop_gradient(x)


def remat(f: Function) -> Function:
    """A function whose backward pass recomputes intermediate values instead of storing them.

    On `tensorflow-numpy`, functions that close over tensors are not changed. On `numpy` there is no
    backward pass.

    Example:
      >>> from weft import fastmath
      >>> fastmath.grad(fastmath.remat(lambda x: x**3))(2.0)
      Array(12., dtype=float32, weak_type=True)
    Source: Trax documentation, `fastmath.ops.remat`.
    """
    return of_each_backend(f, lambda b: b.remat(f))


# --- compilation and mapping ---


class _Jit:
    """Holds whether `jit` compiles. It is also the context that `disable_jit` returns."""

    def __init__(self) -> None:
        self.is_off = False

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.is_off = False


_compilation = _Jit()


def disable_jit() -> _Jit:
    """Makes `jit` return functions unchanged, in all threads; for debugging. Functions that are
    already compiled are not changed. In a `with` statement, it applies to the block only.

    Example:
      >>> from weft import fastmath
      >>> double = lambda x: 2 * x
      >>> with fastmath.disable_jit():
      ...     fastmath.jit(double) is double
      True
    Source: Trax documentation, `fastmath.ops.disable_jit`.
    """
    _compilation.is_off = True
    return _compilation


def jit(
    f: Function,
    static_argnums: Numbers = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: Numbers = (),
    device: Any = None,
) -> Function:
    """Compiles a function when it is first called with arguments of new shapes and dtypes.

    Args:
      f: function of nested arrays.
      static_argnums: the positions of arguments that are constants of the program.
      static_argnames: the names of such arguments.
      donate_argnums: the positions of arguments whose memory may be used for results; TensorFlow
        and NumPy ignore it.
      device: the device to run on: a weft device on the backend `jax`, the name of a device on
        `tensorflow-numpy`.
    Returns: function with the same values; on the backend `numpy`, `f` itself.
    Example:
      >>> from weft import fastmath
      >>> fastmath.jit(lambda x: 2 * x)(3).item()
      6
    Source: Trax documentation, `fastmath.ops.jit`.
    """
    if _compilation.is_off:
        return f
    options = {
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
        "device": device,
    }
    set_options = {name: value for name, value in options.items() if value not in ((), None)}
    return of_each_backend(f, lambda b: b.jit(f, **set_options))


def vmap(f: Function, in_axes: Any = 0, out_axes: Any = 0) -> Function:
    """Converts a function of elements to a function of batches.

    Args:
      f: function of nested arrays.
      in_axes: the batch axis of each argument, or one for all; None for an argument that is not
        batched.
      out_axes: the batch axis of the results.
    Example:
      >>> from weft import fastmath
      >>> from weft.fastmath import numpy as np
      >>> fastmath.vmap(np.dot)(np.ones((2, 3)), np.ones((2, 3)))
      Array([3., 3.], dtype=float32)
    Source: Trax documentation, `fastmath.ops.vmap`.
    """
    return of_each_backend(f, lambda b: b.vmap(f, in_axes=in_axes, out_axes=out_axes))


def pmap(f: Function, axis_name: Any = None, **options: Any) -> Function:
    """Converts a function of elements to a function of batches, with one element on each device.

    Args:
      f: function of nested arrays.
      axis_name: the name of the axis for `psum` in `f`.
      **options: `in_axes`, `out_axes`, `static_broadcasted_argnums` and `donate_argnums`, as in
        `weft.pmap`.
    Example:
      >>> import numpy as np
      >>> from weft import fastmath
      >>> fastmath.pmap(lambda x: 2 * x)(np.ones((1, 3)))
      Array([[2., 2., 2.]], dtype=float32)
    Source: Trax documentation, `fastmath.ops.pmap`.
    """
    return of_each_backend(f, lambda b: b.pmap(f, axis_name, **options))


def psum(x: Any, axis_name: Any) -> Any:
    """The sum over all devices, inside a function run by `pmap`.

    Args:
      x: nested arrays.
      axis_name: the `axis_name` of `pmap`.
    Example:
      >>> import numpy as np
      >>> from weft import fastmath
      >>> fastmath.pmap(lambda x: fastmath.psum(x, "devices"), axis_name="devices")(np.ones((1, 2)))
      Array([[1., 1.]], dtype=float32)
    Source: Trax documentation, `fastmath.ops.psum`.
    """
    return current.operations.psum(x, axis_name)


def abstract_eval(f: Function) -> Function:
    """Converts a function to one that returns only the shapes and dtypes of its results.

    Args:
      f: function of nested arrays.
    Returns: function of arrays, or of `ShapeDtype`s, that returns nested `ShapeDtype`s.
    Example:
      >>> from weft import fastmath
      >>> from weft.fastmath import numpy as np
      >>> from weft.shapes import ShapeDtype
      >>> fastmath.abstract_eval(np.matmul)(ShapeDtype((2, 3)), ShapeDtype((3, 4)))
      ShapeDtype{shape:(2, 4), dtype:float32}
    Source: Trax documentation, `fastmath.ops.abstract_eval`.
    """
    return of_each_backend(f, lambda b: b.abstract_eval(f))
