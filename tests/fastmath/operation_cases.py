"""What `fastmath` computes on every backend, with NumPy's word for it.

    Case(name, lambda np, fm, x: …, [shapes or arrays], oracle, dtypes)

`np` is `fastmath.numpy`, `fm` is `fastmath`. The oracle gets the same arrays in float64, or as they
are if they are whole numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as onp
from scipy import special

FLOATS = ("float32", "float16", "bfloat16")
WIDE = ("float32",)
NUMBERS = ("float32", "int32")


@dataclass(frozen=True)
class Case:
    """An operation, its arguments, and what it comes to.

    Attributes:
      name: for the test's name.
      function: of `np`, `fm` and the arguments.
      shapes: a shape of an argument, or the argument itself as an array.
      oracle: of the arguments; NumPy only.
      dtypes: of the arguments that are given as shapes.
      low, high: between which their elements are.
      grads: whether it has a derivative, for float32.
    """

    name: str
    function: Callable[..., Any]
    shapes: Sequence[Any]
    oracle: Callable[..., Any]
    dtypes: Sequence[str] = WIDE
    low: float = -2.0
    high: float = 2.0
    grads: bool = True

    def arguments(self, dtype: str) -> list[onp.ndarray]:
        """The arguments, in NumPy; of bfloat16 they are float32 that it can hold."""
        random = onp.random.RandomState(len(self.name))
        made = []
        for shape in self.shapes:
            if isinstance(shape, onp.ndarray):
                made.append(shape)
                continue
            x = onp.round(random.uniform(self.low, self.high, shape) * 8) / 8
            made.append(
                x > 0 if dtype == "bool" else x.astype(dtype.replace("bfloat16", "float32"))
            )
        return made


def named(name: str, shapes: Sequence[Any], *options: Any, **others: Any) -> Case:
    """A function of NumPy's, which is its own oracle."""

    def function(np: Any, fm: Any, *xs: Any) -> Any:
        return getattr(np, name)(*xs, *options)

    def oracle(*xs: Any) -> Any:
        return getattr(onp, name)(*xs, *options)

    label = f"{name}-{options}" if options else name
    return Case(label, function, shapes, oracle, **others)


def joined(name: str, *options: Any) -> Case:
    """A function of NumPy's of a list of arrays."""
    return Case(
        name,
        lambda np, fm, *xs: getattr(np, name)(xs, *options),
        [(2, 3), (2, 3)],
        lambda *xs: getattr(onp, name)(xs, *options),
        NUMBERS,
    )


A, V = (3, 4), (4,)
UNARY = "exp tanh sin cos expm1 arctan square sign floor ceil negative abs sinh cosh positive"
POSITIVE = "log log1p sqrt log2 log10 reciprocal"
BINARY = "add subtract multiply maximum minimum arctan2 logaddexp hypot"
COMPARED = "equal not_equal less less_equal greater greater_equal"
REDUCED = "sum mean max min prod var std"
WHOLE = "argmax argmin cumsum sort argsort all any count_nonzero ravel transpose"
SHAPED = "flip fliplr tril triu diag"

NUMPY = [
    *[named(n, [A], dtypes=FLOATS) for n in UNARY.split()],
    *[named(n, [A], dtypes=WIDE, low=0.5) for n in POSITIVE.split()],
    *[named(n, [A, V], dtypes=WIDE) for n in BINARY.split()],
    *[named(n, [A, V], dtypes=(*FLOATS, "int32"), grads=False) for n in COMPARED.split()],
    *[named(n, [A], dtypes=("float32", "int32")) for n in REDUCED.split()],
    *[named(n, [A], 1, dtypes=WIDE) for n in REDUCED.split()],
    *[named(n, [A], dtypes=NUMBERS, grads=False) for n in WHOLE.split()],
    *[named(n, [A], dtypes=NUMBERS) for n in SHAPED.split()],
    *[named(n, [A, A], dtypes=("bool",), grads=False) for n in ("logical_and", "logical_or")],
    named("true_divide", [A, V], dtypes=NUMBERS, low=1),
    named("divide", [A, V], dtypes=NUMBERS, low=1),
    named("floor_divide", [A, V], dtypes=NUMBERS, low=1, high=9, grads=False),
    named("remainder", [A, V], dtypes=NUMBERS, low=1, high=9, grads=False),
    named("power", [A, V], low=0.5),
    named("matmul", [A, (4, 2)], dtypes=NUMBERS),
    named("matmul", [(2, 3, 4), (4,)]),
    named("dot", [A, (4, 2)]),
    named("outer", [V, V]),
    named("tensordot", [A, (4, 2)], 1),
    named("swapaxes", [(2, 3, 4)], 0, 2),
    named("moveaxis", [(2, 3, 4)], 0, -1),
    named("reshape", [A], (2, -1), dtypes=NUMBERS),
    named("broadcast_to", [V], (3, 4)),
    named("expand_dims", [A], 1),
    named("squeeze", [(1, 3, 1)]),
    named("tile", [A], (2, 1)),
    named("repeat", [A], 2, 1),
    named("roll", [A], 1, 0),
    named("clip", [A], -1.0, 0.5),
    named("pad", [A], ((1, 0), (2, 1))),
    named("pad", [A], ((1, 0), (2, 1)), "edge"),
    named("take", [A, onp.array([2, 0], onp.int32)], 0),
    named("take_along_axis", [A, onp.array([[1], [0], [3]], onp.int32)], 1),
    named("where", [onp.array([True, False, True, True]), A, A]),
    named("isin", [A, V], dtypes=("int32",), grads=False),
    named("nan_to_num", [onp.array([1.0, onp.nan], onp.float32)], grads=False),
    named("nanmax", [onp.array([1.0, onp.nan, 3.0], onp.float32)], grads=False),
    named("unique", [A], dtypes=("int32",), grads=False),
    named("isfinite", [A], grads=False),
    named("round", [A], grads=False),
    named("trace", [(3, 3)]),
    joined("concatenate", 1),
    joined("stack", 1),
    joined("hstack"),
    joined("vstack"),
    Case("split", lambda np, fm, x: np.split(x, 2, 1), [A], lambda x: onp.split(x, 2, 1)),
    Case(
        "einsum",
        lambda np, fm, x, y: np.einsum("bij,bjk->bik", x, y),
        [(2, 3, 4), (2, 4, 2)],
        lambda x, y: x @ y,
    ),
    Case(
        "solve",
        lambda np, fm, x, y: np.linalg.solve(x + 5 * np.eye(3), y),
        [(3, 3), (3,)],
        lambda x, y: onp.linalg.solve(x + 5 * onp.eye(3), y),
    ),
    Case(
        "qr",
        lambda np, fm, x: np.abs(np.linalg.qr(x)[1]),
        [(4, 3)],
        lambda x: abs(onp.linalg.qr(x)[1]),
        grads=False,
    ),
    Case(
        "operators",
        lambda np, fm, x: -x * 2 + x**2 / 3 - 1.5 * x,
        [A],
        lambda x: -x * 2 + x**2 / 3 - 1.5 * x,
        ("float32", "float16"),
    ),
    Case(
        "mixed",
        lambda np, fm, x: np.arange(4) * x + np.ones(4, np.int32),
        [A],
        lambda x: onp.arange(4) * x + 1,
    ),
    Case(
        "indexing",
        lambda np, fm, x: x[1:, ::-1][:, None, 0] + x[-1, 2],
        [A],
        lambda x: x[1:, ::-1][:, None, 0] + x[-1, 2],
    ),
    Case(
        "indexing_by_arrays",
        lambda np, fm, x: x[:, np.array([0, 0, 3])],
        [A],
        lambda x: x[:, onp.array([0, 0, 3])],
        NUMBERS,
    ),
]


# --- loops of Python, as the word of what windows and scans are ---


def convolved(x, kernel, strides, pads, dilation):
    """The definition of a convolution of [n, h, w, c] by [h, w, c, o]."""
    x = onp.pad(x, [(0, 0), *pads, (0, 0)])
    kh, kw, _, n_out = kernel.shape
    eh, ew = (kh - 1) * dilation[0] + 1, (kw - 1) * dilation[1] + 1
    height = (x.shape[1] - eh) // strides[0] + 1
    width = (x.shape[2] - ew) // strides[1] + 1
    out = onp.zeros((x.shape[0], height, width, n_out), onp.result_type(x, kernel))
    for i in range(height):
        for j in range(width):
            rows = slice(i * strides[0], i * strides[0] + eh, dilation[0])
            columns = slice(j * strides[1], j * strides[1] + ew, dilation[1])
            out[:, i, j] = onp.einsum("nhwc,hwco->no", x[:, rows, columns], kernel)
    return out


def with_gaps(x, rows, columns):
    """Zeros between the rows and the columns of [n, h, w, c]."""
    n, h, w, c = x.shape
    spread = onp.zeros((n, (h - 1) * rows + 1, (w - 1) * columns + 1, c), x.dtype)
    spread[:, ::rows, ::columns] = x
    return spread


def pooled(x, reduce, size, stride, pads):
    """A reduction of the elements of each window that are inside [n, length, c]."""
    length = x.shape[1]
    starts = range(-pads[0], length + pads[1] - size + 1, stride)
    return onp.stack([reduce(x[:, max(s, 0) : min(s + size, length)], axis=1) for s in starts], 1)


def pool(name, reduce, padding, pads, dtypes=WIDE):
    """A pool over one axis."""
    return Case(
        f"{name}-{padding}",
        lambda np, fm, x: getattr(fm, name)(x, pool_size=(3,), strides=(2,), padding=padding),
        [(2, 6, 2)],
        lambda x: pooled(x, reduce, 3, 2, pads),
        dtypes,
    )


def running(x, reverse=False):
    """The sums up to each row, and their products with it."""
    total, rows = onp.zeros(x.shape[1:]), []
    for row in x[::-1] if reverse else x:
        rows.append(total * row)
        total = total + row
    return total, onp.stack(rows[::-1] if reverse else rows)


def scanned(reverse):
    """A scan, forwards or backwards."""
    return Case(
        f"scan-{reverse}",
        lambda np, fm, x: fm.scan(
            lambda total, row: (total + row, total * row), np.zeros(4), x, reverse=reverse
        ),
        [A],
        lambda x: running(x, reverse),
    )


def changed(name, change):
    """An index operation at places one of which is named twice."""
    rows = onp.array([2, 0, 2])

    def oracle(x, y):
        new = x.copy()
        change(new, rows, y)
        return new

    return Case(
        name, lambda np, fm, x, y: getattr(fm, name)(x, rows, y), [A, (3, 4)], oracle, NUMBERS
    )


NHWC = ("NHWC", "HWIO", "NHWC")
KERNEL = [(2, 5, 6, 3), (3, 2, 3, 4)]
OPERATIONS = [
    Case("logsumexp", lambda np, fm, x: fm.logsumexp(x), [A], special.logsumexp, FLOATS),
    Case(
        "logsumexp-1",
        lambda np, fm, x: fm.logsumexp(x, axis=1, keepdims=True),
        [A],
        lambda x: special.logsumexp(x, axis=1, keepdims=True),
    ),
    Case("expit", lambda np, fm, x: fm.expit(x), [A], special.expit, (*FLOATS, "int32")),
    Case("sigmoid", lambda np, fm, x: fm.sigmoid(x), [A], special.expit),
    Case("erf", lambda np, fm, x: fm.erf(x), [A], special.erf, (*FLOATS, "int32")),
    Case("lt", lambda np, fm, x, y: fm.lt(x, y), [A, A], onp.less, NUMBERS, grads=False),
    Case(
        "conv-valid",
        lambda np, fm, x, k: fm.conv(x, k, (1, 1), "VALID", NHWC),
        KERNEL,
        lambda x, k: convolved(x, k, (1, 1), [(0, 0), (0, 0)], (1, 1)),
        NUMBERS,
    ),
    Case(
        "conv-same-strided",
        lambda np, fm, x, k: fm.conv(x, k, (2, 2), "SAME", NHWC),
        KERNEL,
        lambda x, k: convolved(x, k, (2, 2), [(1, 1), (0, 0)], (1, 1)),
    ),
    Case(
        "conv-dilated-padded",
        lambda np, fm, x, k: fm.conv(x, k, (2, 1), [(2, 1), (0, 3)], NHWC, (2, 3)),
        KERNEL,
        lambda x, k: convolved(x, k, (2, 1), [(2, 1), (0, 3)], (2, 3)),
    ),
    Case(
        "conv-of-input-with-gaps",
        lambda np, fm, x, k: fm.conv(x, k, (1, 2), [(2, 1), (0, 3)], NHWC, (2, 1), (3, 2)),
        KERNEL,
        lambda x, k: convolved(with_gaps(x, 3, 2), k, (1, 2), [(2, 1), (0, 3)], (2, 1)),
        NUMBERS,
    ),
    Case(
        "conv-channels-first",
        lambda np, fm, x, k: fm.conv(x, k, (1, 1), "VALID", ("NCHW", "OIHW", "NHWC")),
        [(2, 3, 5, 6), (4, 3, 3, 2)],
        lambda x, k: convolved(
            x.transpose(0, 2, 3, 1), k.transpose(2, 3, 1, 0), (1, 1), [(0, 0), (0, 0)], (1, 1)
        ),
    ),
    pool("avg_pool", onp.mean, "VALID", (0, 0), NUMBERS),
    pool("max_pool", onp.max, "VALID", (0, 0), NUMBERS),
    pool("sum_pool", onp.sum, "VALID", (0, 0), NUMBERS),
    pool("avg_pool", onp.mean, "SAME", (0, 1)),
    pool("max_pool", onp.max, "SAME", (0, 1)),
    pool("sum_pool", onp.sum, "SAME", (0, 1)),
    Case(
        "top_k",
        lambda np, fm, x: fm.top_k(x, 3),
        [A],
        lambda x: (
            -onp.sort(-x, axis=-1)[..., :3],
            onp.argsort(-x, axis=-1, kind="stable")[..., :3],
        ),
        NUMBERS,
        grads=False,
    ),
    Case(
        "sort_key_val",
        lambda np, fm, x, y: fm.sort_key_val(x, y),
        [A, A],
        lambda x, y: (
            onp.sort(x, -1),
            onp.take_along_axis(y, onp.argsort(x, -1, kind="stable"), -1),
        ),
        NUMBERS,
    ),
    Case(
        "sort_key_val-0",
        lambda np, fm, x, y: fm.sort_key_val(x, y, dimension=0)[1],
        [A, A],
        lambda x, y: onp.take_along_axis(y, onp.argsort(x, 0, kind="stable"), 0),
    ),
    scanned(False),
    scanned(True),
    Case("map", lambda np, fm, x: fm.map(lambda r: np.sum(r) * r, x), [A],
         lambda x: onp.stack([r.sum() * r for r in x])),
    Case("fori_loop", lambda np, fm, x: fm.fori_loop(1, 4, lambda i, y: y * x + i, x), [A],
         lambda x: ((x * x + 1) * x + 2) * x + 3),
    Case(
        "cond-with-an-operand-each",
        lambda np, fm, x, y: [
            fm.cond(p, x, lambda a: a + 1, (y, 2.0), lambda b: b[0] * b[1])
            for p in (True, x[0, 0] > 99)
        ],
        [A, A],
        lambda x, y: [x + 1, y * 2],
    ),
    Case("cond", lambda np, fm, x: fm.cond(x[0, 0] < 9, lambda y: y * 2, lambda y: y * y, x), [A],
         lambda x: x * 2),
    Case("remat", lambda np, fm, x: fm.remat(lambda y: np.sin(y) * y)(x), [A],
         lambda x: onp.sin(x) * x),
    Case("stop_gradient", lambda np, fm, x: fm.stop_gradient(x) * x, [A],
         lambda x: x * x, grads=False),
    changed("index_update", onp.ndarray.__setitem__),
    changed("index_add", onp.add.at),
    changed("index_min", onp.minimum.at),
    changed("index_max", onp.maximum.at),
    Case("index_update-slice", lambda np, fm, x, y: fm.index_update(x, (slice(1, None), 2), y),
         [A, (2,)], lambda x, y: onp.stack([x[0], *[[*r[:2], v, r[3]] for r, v in
                                                   zip(x[1:], y, strict=True)]])),
    Case("dynamic_slice", lambda np, fm, x: fm.dynamic_slice(x, (-1, 1), (2, 2)), [A],
         lambda x: x[1:3, 1:3], NUMBERS),
    Case("dynamic_slice_in_dim", lambda np, fm, x: fm.dynamic_slice_in_dim(x, 3, 2, axis=1), [A],
         lambda x: x[:, 2:]),
    Case("dynamic_update_slice", lambda np, fm, x, y: fm.dynamic_update_slice(x, y, (9, 1)),
         [A, (2, 2)], lambda x, y: onp.block([[x[:1]], [x[1:, :1], y, x[1:, 3:]]])),
    Case("dynamic_update_slice_in_dim",
         lambda np, fm, x, y: fm.dynamic_update_slice_in_dim(x, y, 1, axis=1),
         [A, (3, 2)], lambda x, y: onp.hstack([x[:, :1], y, x[:, 3:]])),
    Case("jit", lambda np, fm, x: fm.jit(lambda y: np.tanh(y) * 2)(x), [A],
         lambda x: onp.tanh(x) * 2),
    Case("vmap", lambda np, fm, x, y: fm.vmap(np.dot, in_axes=(0, None))(x, y), [A, V],
         lambda x, y: x @ y),
    Case("vmap-axes", lambda np, fm, x, y: fm.vmap(lambda a, b: (a * b, b), (1, 0), (1, 0))(x, y),
         [A, V], lambda x, y: (x * y, y)),
    Case("pmap", lambda np, fm, x: fm.pmap(lambda a: fm.psum(a * 2, "i"), "i")(x[None]), [A],
         lambda x: x[None] * 2, grads=False),
]  # fmt: skip
