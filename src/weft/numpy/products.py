"""Products of vectors, matrices and arrays, each with one dot_general.

dot, vdot, vecdot, matvec, vecmat, matmul, inner, outer, tensordot, kron, cross.
"""

from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..core.array import Array
from ..core.source import located
from ..core.trace import current
from ..errors import ShapeError
from ..primitives import arithmetic, complex_numbers, structural
from ..primitives.products import canonical_precision, dot_general, narrower
from ..primitives.slicing import concatenate, split
from ..typing import ArrayLike, DTypeLike
from ..user_lines import note_user_line
from .axes import SEQUENCES, all_axes, as_int, as_listed, one_axis
from .creation import dtype_argument
from .plans import cache_plan, cached_plan, composite, plan_table
from .promotion import cast, check_ranks, no_out, noted, promote_values, value
from .ufunc_options import check_options, takes_options

__all__ = [
    "cross",
    "dot",
    "inner",
    "kron",
    "matmul",
    "matvec",
    "outer",
    "tensordot",
    "vdot",
    "vecdot",
    "vecmat",
]

_dots, _matmuls = plan_table(), plan_table()


def _plain_parameters(name: str, dims: Any) -> tuple[tuple[str, Any], ...]:
    """The parameters of a dot_general with the default precision and dtype."""
    return ("dims", dims), ("dtype", None), ("precision", canonical_precision(name, None))


def contracted(
    name: str, x: Any, y: Any, dims: Any, precision: Any = None, dtype: Any = None
) -> Any:
    """Applies one dot_general to values of one dtype."""
    sum_dtype = None if dtype is None else dtype_argument(name, dtype)
    rounds = sum_dtype is not None and narrower(x.aval.dtype, sum_dtype)
    params = (
        ("dims", dims),
        ("dtype", None if rounds else sum_dtype),
        ("precision", canonical_precision(name, precision)),
    )
    out = current.trace.bind(dot_general, (x, y), params)
    return cast(out, sum_dtype) if rounds else out


def _mismatch(name: str, x: Any, y: Any, i: int, j: int) -> Exception:
    fix = f"axes in another order: {name} sums over the last of a and the last but one of b"
    if y.shape[-1] == x.shape[-2 if x.ndim > 1 else 0]:
        fix = f"did you mean {name}(b, a)?"
    elif y.ndim > 1 and x.shape[-1] == y.shape[-1]:
        fix = f"did you mean {name}(a, b.{'T' if y.ndim == 2 else 'mT'})?"
    elif x.ndim > 1 and x.shape[-2] == y.shape[-2 if y.ndim > 1 else 0]:
        fix = f"did you mean {name}(a.{'T' if x.ndim == 2 else 'mT'}, b)?"
    return noted(
        ShapeError(
            f"{name}: axis {i} of {x.aval} and axis {j} of {y.aval} must be of equal length"
            f"\n  fix: {fix}"
        )
    )


def dot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The dot product: sums over the last axis of `a` and the second-to-last axis of `b`.

    Args:
      a: array [] or […, k].
      b: array [], [k] or […, k, n].
      precision: the precision of products on accelerators; see `lax.Precision`.
      preferred_element_type: dtype of the accumulation and of the result.
    Returns: array with the other axes of `a`, then the other axes of `b`.
    Raises: TypeError: the lengths differ.
    Example:
      >>> np.dot(np.array([[1, 2], [3, 4]]), np.array([1, 1]))
      Array([3, 7], dtype=int32)
    """
    defaults = precision is None and preferred_element_type is None
    if defaults:
        plan = cached_plan(_dots, a, b)
        if plan is not None:
            return current.trace.run(plan, (a, b))
    try:
        x, y = promote_values("dot", a, b)
        if not x.aval.ndim or not y.aval.ndim:
            result = arithmetic.mul(x, y)
            dtype = dtype_argument("dot", preferred_element_type)
            return result if dtype is None else cast(result, dtype)
        i, j = x.aval.ndim - 1, max(y.aval.ndim - 2, 0)
        if x.aval.shape[i] != y.aval.shape[j]:
            raise _mismatch("dot", x, y, i, j)
        dims = (((i,), (j,)), ((), ()))
        if defaults and x is a and y is b:  # no operand was cast
            cache_plan(_dots, x, y, dot_general, _plain_parameters("dot", dims))
        return contracted("dot", x, y, dims, precision, preferred_element_type)
    except (TypeError, ValueError) as error:
        note_user_line(error)
        raise


def matmul(
    a: ArrayLike,
    b: ArrayLike,
    out: None = None,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    **options: Any,
) -> Array:
    """Matrix product; axes before the last two are broadcast.

    Args:
      a: array [k] or [batch…, m, k].
      b: array [k] or [batch…, k, n].
      precision, preferred_element_type: as in `dot`.
      out, options: NumPy's options (`casting`, `order`, `dtype`, …), only at their defaults.
    Returns: array [batch…, m, n]; without the axes that vectors lack.
    Raises: TypeError: the lengths differ. ValueError: an operand has no axes. NotImplementedError:
      an option is not at its default.
    Example:
      >>> np.matmul(np.ones((5, 2, 3)), np.ones((3, 4))).shape
      (5, 2, 4)
    """
    if options or out is not None:
        check_options("matmul", out, options)
    defaults = precision is None and preferred_element_type is None
    if defaults:
        plan = cached_plan(_matmuls, a, b)
        if plan is not None:
            return current.trace.run(plan, (a, b))
    try:
        return _matmul("matmul", a, b, precision, preferred_element_type, defaults)
    except (TypeError, ValueError) as error:
        note_user_line(error)
        raise


def _matmul(name: str, a: Any, b: Any, precision: Any, dtype: Any, defaults: bool) -> Any:
    x, y = promote_values(name, a, b)
    n, m = x.aval.ndim, y.aval.ndim
    if not n or not m:
        raise ShapeError(f"{name}: operands need axes; got {x.aval} and {y.aval}\n  fix: use a * b")
    i, j = n - 1, max(m - 2, 0)
    if x.aval.shape[i] != y.aval.shape[j]:
        raise _mismatch(name, x, y, i, j)
    if n <= 2 and m <= 2:
        dims: Any = (((i,), (j,)), ((), ()))
        if defaults and x is a and y is b:
            cache_plan(_matmuls, x, y, dot_general, _plain_parameters(name, dims))
        return contracted(name, x, y, dims, precision, dtype)
    front_x, front_y = x.aval.shape[:-2], y.aval.shape[:-2]
    if m <= 2 and n > 1:  # one product if the right operand has no batch axes
        return contracted(name, x, y, (((i,), (j,)), ((), ())), precision, dtype)
    shape = _joint(name, x, y, front_x, front_y)
    rank = len(shape)
    # axes of both operands are batch axes; an axis of one operand is a free axis of it
    front_x = (1,) * (rank - len(front_x)) + front_x
    front_y = (1,) * (rank - len(front_y)) + front_y
    shared_axes = [k for k in range(rank) if front_x[k] == front_y[k] == shape[k]]
    x_only_axes = [k for k in range(rank) if k not in shared_axes and front_x[k] != 1]
    y_only_axes = [k for k in range(rank) if k not in shared_axes and front_y[k] != 1]
    x = _shaped(
        x, [shape[k] for k in range(rank) if k in shared_axes or k in x_only_axes], min(n, 2)
    )
    y = _shaped(y, [shape[k] for k in range(rank) if k in shared_axes or k in y_only_axes], 2)
    axes_x = [k for k in range(rank) if k in shared_axes or k in x_only_axes]
    axes_y = [k for k in range(rank) if k in shared_axes or k in y_only_axes]
    batch = (
        tuple(axes_x.index(k) for k in shared_axes),
        tuple(axes_y.index(k) for k in shared_axes),
    )
    dims = (((x.ndim - 1,), (y.ndim - 2,)), batch)
    out = contracted(name, x, y, dims, precision, dtype)
    # out: shared_axes, x_only_axes, (rows), y_only_axes, columns
    # -> front axes in order, rows, columns
    rows = 1 if n > 1 else 0
    labels = [*shared_axes, *x_only_axes, *["row"] * rows, *y_only_axes, "column"]
    order = [
        labels.index(k)
        for k in [*sorted(k for k in labels if isinstance(k, int)), *["row"] * rows, "column"]
    ]
    if order != list(range(len(order))):
        out = structural.transpose(out, permutation=tuple(order))
    final_shape = (*shape, *out.aval.shape[len(out.aval.shape) - 1 - rows :])
    return structural.reshape(out, shape=final_shape) if out.aval.shape != final_shape else out


def _shaped(x: Any, front_shape: list[int], ndim: int) -> Any:
    """Reshapes the axes before the last `ndim` to `front_shape`."""
    shape = (*front_shape, *x.aval.shape[x.aval.ndim - ndim :])
    return x if shape == x.aval.shape else structural.reshape(x, shape=shape)


def _joint(name: str, x: Any, y: Any, front_x: Any, front_y: Any) -> Any:
    rank = max(len(front_x), len(front_y))
    pairs = zip(
        (1,) * (rank - len(front_x)) + front_x, (1,) * (rank - len(front_y)) + front_y, strict=True
    )
    shape = []
    for p, q in pairs:
        if p != q and 1 not in (p, q):
            raise ShapeError(
                f"{name}: batch axes of {x.aval} and {y.aval} don't broadcast together"
            )
        shape.append(p if q == 1 else q)
    return tuple(shape)


def _conjugated(x: Any) -> Any:
    return complex_numbers.conj(x) if dtypes.is_complex(x.aval.dtype) else x


@located
def vdot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The dot product of two flattened arrays; the elements of `a` are conjugated.

    Args:
      a, b: arrays with the same number of elements.
      precision, preferred_element_type: as in `dot`.
    Returns: scalar.
    Example:
      >>> np.vdot(np.arange(3), np.arange(3))
      Array(5, dtype=int32)
    """
    x, y = promote_values("vdot", a, b)
    x, y = (structural.reshape(v, shape=(v.size,)) for v in (x, y))
    if x.size != y.size:
        raise ShapeError(f"vdot: arrays must have equally many elements; got {x.size} and {y.size}")
    return contracted(
        "vdot", _conjugated(x), y, (((0,), (0,)), ((), ())), precision, preferred_element_type
    )


@takes_options
@located
def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The dot product of vectors along an axis; the elements of `x1` are conjugated.

    Args:
      x1, x2: arrays that broadcast together.
      axis: the axis to sum over, in both.
    Example:
      >>> np.vecdot(np.ones((2, 3)), np.arange(3))
      Array([3., 3.], dtype=float32)
    """
    x, y = promote_values("vecdot", x1, x2)
    check_ranks("vecdot", x, y)
    i, j = one_axis("vecdot", axis, x), one_axis("vecdot", axis, y)
    if x.shape[i] != y.shape[j]:
        raise _mismatch("vecdot", x, y, i, j)
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    return _vecdot(x, y, axes=(i, j), **options)


@composite
def _vecdot(x: Any, y: Any, *, axes: tuple[int, int], **options: Any) -> Any:
    x = structural.move_axis(_conjugated(x), axes[0], x.ndim - 1)
    y = structural.move_axis(y, axes[1], y.ndim - 1)
    x = structural.reshape(x, shape=(*x.shape[:-1], 1, x.shape[-1]))
    out = matmul(x, structural.reshape(y, shape=(*y.shape, 1)), **options)
    return structural.reshape(out, shape=out.shape[:-2])


@takes_options
@located
def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Matrix-vector products.

    Args:
      x1: array [batch…, m, k].
      x2: array [batch…, k].
    Returns: array [batch…, m].
    Raises: ShapeError: the arguments are not matrices and vectors, or lengths differ.
    Example:
      >>> np.matvec(np.ones((2, 3)), np.arange(3))
      Array([3., 3.], dtype=float32)
    """
    a, y = value("matvec", x1, "x1"), value("matvec", x2, "x2")
    if a.ndim < 2 or not y.ndim:
        raise ShapeError(
            f"matvec: expected matrices [batch…, m, k] and vectors [batch…, k]; got {a.aval} and "
            f"{y.aval}\n  fix: np.vecdot(x1, x2) for products of vectors"
        )
    out = matmul(a, structural.reshape(y, shape=(*y.shape, 1)))
    return structural.reshape(out, shape=out.shape[:-1])


@takes_options
@located
def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Vector-matrix products; the vectors are conjugated.

    Args:
      x1: array [batch…, k].
      x2: array [batch…, k, n].
    Returns: array [batch…, n].
    Raises: ShapeError: the arguments are not vectors and matrices, or lengths differ.
    Example:
      >>> np.vecmat(np.arange(3), np.ones((3, 2)))
      Array([3., 3.], dtype=float32)
    """
    x, a = value("vecmat", x1, "x1"), value("vecmat", x2, "x2")
    if not x.ndim or a.ndim < 2:
        raise ShapeError(
            f"vecmat: expected vectors [batch…, k] and matrices [batch…, k, n]; got {x.aval} and "
            f"{a.aval}\n  fix: np.vecdot(x1, x2) for products of vectors"
        )
    x = _conjugated(x)
    out = matmul(structural.reshape(x, shape=(*x.shape[:-1], 1, x.shape[-1])), a)
    return structural.reshape(out, shape=(*out.shape[:-2], out.shape[-1]))


@located
def inner(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The inner product over the last axes.

    Args:
      a, b: arrays […, k], or scalars.
      precision, preferred_element_type: as in `dot`.
    Returns: array with the other axes of `a`, then the other axes of `b`.
    Example:
      >>> np.inner(np.ones((2, 3)), np.arange(3))
      Array([3., 3.], dtype=float32)
    """
    x, y = promote_values("inner", a, b)
    if not x.ndim or not y.ndim:
        return arithmetic.mul(x, y)
    if x.shape[-1] != y.shape[-1]:
        raise _mismatch("inner", x, y, x.ndim - 1, y.ndim - 1)
    dims = (((x.ndim - 1,), (y.ndim - 1,)), ((), ()))
    return contracted("inner", x, y, dims, precision, preferred_element_type)


@located
def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Array:
    """The outer product of two vectors; other arrays are flattened.

    Returns: array [size of `a`, size of `b`].
    Example:
      >>> np.outer(np.arange(2), np.arange(3))
      Array([[0, 0, 0],
             [0, 1, 2]], dtype=int32)
    """
    no_out("outer", out)
    x, y = promote_values("outer", a, b)
    return arithmetic.mul(
        structural.reshape(x, shape=(x.size, 1)), structural.reshape(y, shape=(1, y.size))
    )


@located
def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The tensor contraction over pairs of axes.

    Args:
      a, b: arrays.
      axes: the number of last axes of `a` and first axes of `b` to sum over; or a pair of
        sequences, the axes of `a` and the axes of `b`.
      precision, preferred_element_type: as in `dot`.
    Returns: array with the other axes of `a`, then the other axes of `b`.
    Example:
      >>> np.tensordot(np.ones((2, 3)), np.ones((3, 4)), 1).shape
      (2, 4)
    """
    x, y = promote_values("tensordot", a, b)
    axes = as_listed(axes)
    if not isinstance(axes, SEQUENCES):
        count = as_int("tensordot", axes, "axes")
        if not 0 <= count <= min(x.ndim, y.ndim):
            raise ShapeError(
                f"tensordot: {count} axes are more than {x.aval} and {y.aval} have in common"
            )
        axes_x = tuple(range(x.ndim - count, x.ndim))
        axes_y = tuple(range(count))
    else:
        if len(axes) != 2:
            raise ShapeError(f"tensordot: axes must be an int or a pair; got {axes!r}")
        axes_x = all_axes("tensordot", axes[0], x, "axes[0]")
        axes_y = all_axes("tensordot", axes[1], y, "axes[1]")
    if len(axes_x) != len(axes_y):
        raise ShapeError(f"tensordot: axes come in pairs; got {axes!r}")
    for i, j in zip(axes_x, axes_y, strict=True):
        if x.shape[i] != y.shape[j]:
            raise _mismatch("tensordot", x, y, i, j)
    return contracted(
        "tensordot", x, y, ((axes_x, axes_y), ((), ())), precision, preferred_element_type
    )


@located
def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """The Kronecker product: each element of `a` is replaced by its product with `b`.

    Returns: array whose axes have the products of the lengths of `a` and `b`.
    Example:
      >>> np.kron(np.array([1, 10]), np.array([1, 2]))
      Array([ 1,  2, 10, 20], dtype=int32)
    """
    x, y = promote_values("kron", a, b)
    rank = max(x.ndim, y.ndim)
    lengths_x = (1,) * (rank - x.ndim) + x.shape
    lengths_y = (1,) * (rank - y.ndim) + y.shape
    x = structural.reshape(x, shape=tuple(n for m in lengths_x for n in (m, 1)))
    y = structural.reshape(y, shape=tuple(n for m in lengths_y for n in (1, m)))
    shape = tuple(n * m for n, m in zip(lengths_x, lengths_y, strict=True))
    return structural.reshape(arithmetic.mul(x, y), shape=shape)


@composite
def _cross(x: Any, y: Any) -> Any:
    def parts(v: Any) -> list[Any]:
        n = v.shape[-1]
        columns = split(v, sizes=(1,) * n, axis=v.ndim - 1)
        return [*[structural.reshape(p, shape=v.shape[:-1]) for p in columns], *[None] * (3 - n)]

    def multiply(a: Any, b: Any) -> Any:
        return None if a is None or b is None else a * b

    u, v = parts(x), parts(y)
    if x.shape[-1] == y.shape[-1] == 2:
        return u[0] * v[1] - u[1] * v[0]
    rows = []
    for i, j in ((1, 2), (2, 0), (0, 1)):
        positive_term, negative_term = multiply(u[i], v[j]), multiply(u[j], v[i])
        rows.append(
            -negative_term
            if positive_term is None
            else positive_term
            if negative_term is None
            else positive_term - negative_term
        )
    shape = structural.broadcast_shape("cross", [r.aval for r in rows])
    rows = [structural.reshape(structural.widen(r, shape), shape=(*shape, 1)) for r in rows]
    return concatenate(*rows, dimension=len(shape))


@located
def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Array:
    """The cross product of vectors of length 3 (or 2, in the plane).

    Args:
      a, b: arrays whose axes, except the axis of the vectors, broadcast together.
      axisa, axisb, axisc: the axis of the vectors in `a`, `b` and the result.
      axis: the same axis for all three.
    Returns: array with vectors of length 3; without the axis, if both have length 2.
    Example:
      >>> np.cross(np.array([1, 0, 0]), np.array([0, 1, 0]))
      Array([0, 0, 1], dtype=int32)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = promote_values("cross", a, b)
    x = structural.move_axis(x, one_axis("cross", axisa, x, "axisa"), x.ndim - 1)
    y = structural.move_axis(y, one_axis("cross", axisb, y, "axisb"), y.ndim - 1)
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ShapeError(f"cross: vectors must have length 2 or 3; got {x.aval} and {y.aval}")
    out = _cross(x, y)
    if x.shape[-1] == y.shape[-1] == 2:
        return out
    return structural.move_axis(out, out.ndim - 1, one_axis("cross", axisc, out.ndim, "axisc"))


multiply_matrices = matmul  # `x @ y` for operands that are arrays
