"""dot_general: products of arrays with contracted and batched axes."""

from typing import Any

import numpy as np

from ..core.aval import Aval
from ..core.primitive import Primitive
from .structural import others, transpose

dot_general = Primitive(
    "dot_general",
    "Sums products over pairs of axes; `dims` is ((contracting lhs, rhs), (batch lhs, rhs)).",
    host_limit=4096,
)

Dims = tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]]


@dot_general.type
def _(x: Aval, y: Aval, *, dims: Dims, dtype: Any = None, precision: Any = None) -> Aval:
    (cx, cy), (bx, by) = dims
    for name, a, axes in (("lhs", x, (*cx, *bx)), ("rhs", y, (*cy, *by))):
        if len(set(axes)) != len(axes) or any(not 0 <= i < a.ndim for i in axes):
            raise ValueError(f"dot_general: axes {axes} of {name} don't name axes of {a} once each")
    for kind, ax, ay in (("contracting", cx, cy), ("batch", bx, by)):
        if len(ax) != len(ay) or any(x.shape[i] != y.shape[j] for i, j in zip(ax, ay, strict=True)):
            raise TypeError(
                f"dot_general: {kind} axes must have equal lengths; got {x} at {ax} and {y} at {ay}"
            )
    if x.dtype != y.dtype and dtype is None:
        raise TypeError(f"dot_general: operands must have one dtype; got {x} and {y}")
    shape = (
        *(x.shape[i] for i in bx),
        *(x.shape[i] for i in others((*cx, *bx), x.ndim)),
        *(y.shape[i] for i in others((*cy, *by), y.ndim)),
    )
    return x.update(shape=shape, dtype=dtype, weak_type=x.weak_type and y.weak_type)


@dot_general.evaluate
def _(x: Any, y: Any, *, dims: Dims, dtype: Any = None, precision: Any = None) -> Any:
    (cx, cy), (bx, by) = dims
    dtype = dtype or x.dtype
    if not bx and len(cx) == 1 and x.ndim <= 2 and y.ndim <= 2 and x.dtype == dtype:
        left = x.T if cx[0] == 0 and x.ndim == 2 else x
        right = y.T if cy[0] == 1 else y
        return np.dot(left, right)
    x, y = x.astype(dtype), y.astype(dtype)
    fx, fy = others((*cx, *bx), x.ndim), others((*cy, *by), y.ndim)
    batch = [x.shape[i] for i in bx]
    left_shape, right_shape = [x.shape[i] for i in fx], [y.shape[i] for i in fy]
    k = int(np.prod([x.shape[i] for i in cx], dtype=int))
    left = x.transpose((*bx, *fx, *cx)).reshape(*batch, int(np.prod(left_shape, dtype=int)), k)
    right = y.transpose((*by, *cy, *fy)).reshape(*batch, k, int(np.prod(right_shape, dtype=int)))
    return np.matmul(left, right).reshape(*batch, *left_shape, *right_shape)


@dot_general.lower
def _(block: Any, x: Any, y: Any, out: Aval, dims: Dims, dtype: Any = None, precision: Any = None) -> Any:
    (cx, cy), (bx, by) = dims
    numbers = (
        f"dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = {list(bx)}, "
        f"rhs_batching_dimensions = {list(by)}, lhs_contracting_dimensions = {list(cx)}, "
        f"rhs_contracting_dimensions = {list(cy)}>"
    )
    return block.op("dot_general", x, y, out=out, attributes=numbers)


@dot_general.jvp
def _(primals: Any, tangents: Any, out: Any, **params: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    left = None if dx is None else dot_general(dx, y, **params)
    right = None if dy is None else dot_general(x, dy, **params)
    return right if left is None else left if right is None else left + right


@dot_general.transpose
def _(ct: Any, x: Any, y: Any, *, dims: Dims, dtype: Any = None, precision: Any = None) -> Any:
    (cx, cy), (bx, by) = dims
    n = len(bx)
    fx, fy = others((*cx, *bx), x.ndim), others((*cy, *by), y.ndim)
    batch_out = tuple(range(n))
    left_out = tuple(range(n, n + len(fx)))
    right_out = tuple(range(n + len(fx), n + len(fx) + len(fy)))
    if type(x) is Aval:
        # ct [batch, fx, fy] · y over fy -> [batch, fx, cy in y's order]
        g = dot_general(ct, y, dims=((right_out, fy), (batch_out, by)), dtype=None, precision=precision)
        rest = sorted(range(len(cy)), key=lambda i: cy[i])
        order = (*bx, *fx, *(cx[i] for i in rest))
        return transpose(g, permutation=inverse(order)), None
    g = dot_general(ct, x, dims=((left_out, fx), (batch_out, bx)), dtype=None, precision=precision)
    rest = sorted(range(len(cx)), key=lambda i: cx[i])
    order = (*by, *fy, *(cy[i] for i in rest))
    return None, transpose(g, permutation=inverse(order))


def inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes `order`."""
    return tuple(int(i) for i in np.argsort(order))


@dot_general.batch
def _(args: Any, batched: Any, batch_size: int, *, dims: Dims, **params: Any) -> Any:
    (cx, cy), (bx, by) = dims
    x, y = args
    up = lambda axes, b: tuple(a + b for a in axes)  # noqa: E731
    if all(batched):
        moved = ((up(cx, 1), up(cy, 1)), ((0, *up(bx, 1)), (0, *up(by, 1))))
        return dot_general(x, y, dims=moved, **params)
    moved = (
        (up(cx, batched[0]), up(cy, batched[1])),
        (up(bx, batched[0]), up(by, batched[1])),
    )
    out = dot_general(x, y, dims=moved, **params)
    n = len(bx)
    at = n if batched[0] else n + (x.ndim - len(cx) - n)
    order = (at, *(i for i in range(out.ndim) if i != at))
    return out if at == 0 else transpose(out, permutation=order)
