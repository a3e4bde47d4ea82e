"""weft.numpy.linalg against NumPy: a table of functions, each computed at once, from a plan, in one
compiled program with all others, and mapped."""

import numpy as onp
import pytest
from row_names import row_name

import weft
import weft.numpy as np
from weft.tree_util import tree_leaves, tree_map

RNG = onp.random.default_rng(7)


def real(*shape):
    return RNG.standard_normal(shape).astype(onp.float32)


def compound(*shape):
    return (real(*shape) + 1j * real(*shape)).astype(onp.complex64)


def hermitian(a):
    return (a + a.conj().swapaxes(-1, -2)) / 2


def positive(a):
    return a @ a.conj().swapaxes(-1, -2) + onp.eye(a.shape[-1], dtype=a.dtype)


SQUARE, STACK, COMPLEX = real(4, 4), real(2, 3, 3), compound(3, 3)
TALL, WIDE, CUBE = real(5, 3), real(2, 3, 5), real(2, 3, 4)
LOW = (TALL[:, :2] @ real(2, 4)).astype(onp.float32)  # of rank 2
INTS = RNG.integers(-3, 4, (3, 3)).astype(onp.int32)
VECTOR, COMPLEX_VECTOR = real(5), compound(4)
EMPTY, NO_ROWS = onp.zeros((0, 0), onp.float32), onp.zeros((0, 3), onp.float32)
MATRICES = [SQUARE, STACK, COMPLEX, INTS, EMPTY]
OBLONG = [*MATRICES, TALL, WIDE, NO_ROWS]


def unique(name):
    """A function of NumPy's whose result doesn't depend on what may be chosen freely."""

    def qr(xp, a, **options):
        q, r = xp.linalg.qr(a, **options)
        return abs(q @ r - a) < 1e-4, abs(r)[..., : min(a.shape[-2:]), :]

    def eigh(xp, a, **options):
        w, v = xp.linalg.eigh(a, **options)
        return w, abs(a @ v - v * w[..., None, :]) < 1e-4

    def eig(xp, a):
        w, v = xp.linalg.eig(a)
        return sorted_complex(xp, w), abs(a @ v - v * w[..., None, :]) < 1e-4

    def eigvals(xp, a):
        return sorted_complex(xp, xp.linalg.eigvals(a))

    def svd(xp, a, **options):
        u, s, vh = xp.linalg.svd(a, **options)
        k = s.shape[-1]
        rest = (u[..., :k] * s[..., None, :]) @ vh[..., :k, :] - a
        return s, abs(rest) < 1e-4, xp.shape(u), xp.shape(vh)

    return {f.__name__: f for f in (qr, eigh, eig, eigvals, svd)}[name]


def sorted_complex(xp, w):
    # in an order that rounding doesn't change: by real parts, then by imaginary ones
    key = xp.round(w.real, 3) * 100 + w.imag
    return xp.take_along_axis(w + 0j, xp.argsort(key, axis=-1), -1)


def plain(name):
    return lambda xp, *args, **options: getattr(xp.linalg, name)(*args, **options)


ORDERS = [None, 2, 1, onp.inf, -onp.inf, 0, 3, 0.5, -1, -2]
MATRIX_ORDERS = [None, "fro", "nuc", 2, -2, 1, -1, onp.inf, -onp.inf]

TABLE = [
    *[(plain("norm"), (x,), {"ord": p}) for x in (VECTOR, COMPLEX_VECTOR) for p in ORDERS],
    *[(plain("norm"), (x,), {"ord": p}) for x in (TALL, COMPLEX) for p in MATRIX_ORDERS],
    *[
        (plain("norm"), (CUBE,), {"axis": a, "keepdims": k, "ord": p})
        for a, p in [
            (0, 2),
            (-1, 1),
            ((0, 2), "nuc"),
            ((-1, 0), 1),
            ((2, 0), -2),
            ((1, 2), onp.inf),
        ]
        for k in (False, True)
    ],
    (plain("norm"), (CUBE,), {}),
    (plain("norm"), (CUBE,), {"keepdims": True}),
    (plain("norm"), (INTS,), {}),
    (plain("norm"), (onp.float32(-3),), {}),
    *[(plain("norm"), (NO_ROWS,), {"ord": p}) for p in (None, "nuc", 2, 1, onp.inf)],
    *[(plain("norm"), (onp.zeros(0, onp.float32),), {"ord": p}) for p in (None, 1, onp.inf, 0)],
    *[
        (plain("vector_norm"), (CUBE,), {"axis": a, "ord": p, "keepdims": k})
        for a, p, k in [
            (None, 2, False),
            ((0, 2), 3, True),
            (1, 0, False),
            ((1, 2), -onp.inf, True),
        ]
    ],
    *[
        (plain("matrix_norm"), (CUBE,), {"ord": p, "keepdims": k})
        for p, k in [("fro", True), ("nuc", False), (1, True), (-onp.inf, False), (-2, True)]
    ],
    *[
        (plain("cond"), (x, p), {})
        for x in (SQUARE, STACK, COMPLEX)
        for p in (None, 2, -2, 1, -1, onp.inf, -onp.inf, "fro", "nuc")
    ],
    (plain("cond"), (TALL,), {}),
    (plain("cond"), (onp.zeros((2, 2), onp.float32),), {}),
    (plain("cross"), (real(2, 3), real(3)), {}),
    (plain("cross"), (real(3, 2), real(3, 2)), {"axis": 0}),
    (plain("outer"), (VECTOR, real(2)), {}),
    (plain("outer"), (INTS[0], INTS[1]), {}),
    (plain("diagonal"), (CUBE,), {"offset": 1}),
    (plain("diagonal"), (TALL,), {"offset": -2}),
    (plain("trace"), (CUBE,), {}),
    (plain("trace"), (INTS,), {"offset": -1}),
    (plain("trace"), (INTS,), {"dtype": onp.float32}),
    (plain("matrix_transpose"), (CUBE,), {}),
    (plain("vecdot"), (compound(2, 3), compound(2, 3)), {}),
    (plain("tensordot"), (CUBE, real(3, 4, 2)), {"axes": 2}),
    (plain("matmul"), (CUBE, real(4, 2)), {}),
    *[
        (plain("matrix_power"), (x, n), {})
        for x in (STACK, COMPLEX)
        for n in (0, 1, 2, 3, 5, -1, -3)
    ],
    *[(plain("matrix_power"), (INTS, n), {}) for n in (0, 1, 4)],
    *[
        (lambda xp, *xs: xp.linalg.multi_dot(xs), xs, {})
        for xs in [
            (real(2, 3), real(3, 4)),
            (real(3), real(3, 4), real(4, 2)),
            (real(2, 3), real(3, 4), real(4)),
            (real(5, 1), real(1, 6), real(6, 2), real(2, 3)),
            (real(3), real(3, 2), real(2)),
            (real(9, 2), real(2, 8), real(8, 1), real(1, 7), real(7, 2)),
        ]
    ],
    *[
        (plain("solve"), (a, b), {})
        for a, b in [
            (SQUARE, real(4)),
            (SQUARE, real(4, 2)),
            (STACK, real(3)),
            (STACK, real(3, 2)),
            (SQUARE, real(3, 4, 1)),
            (real(2, 1, 3, 3), real(3, 3, 2)),
            (COMPLEX, real(3)),
            (STACK, compound(2, 3, 1)),
            (EMPTY, onp.zeros((0, 2), onp.float32)),
            (onp.array([[2, 1], [1, 1]]), onp.array([1, 2])),
        ]
    ],
    *[
        (plain(f), (x,), {})
        for f in ("inv", "det", "slogdet")
        for x in MATRICES
        if f != "inv" or x is not INTS
    ],
    *[
        (plain(f), (x.reshape(1, 1),), {})
        for f in ("inv", "det", "slogdet")
        for x in (real(1), compound(1))
    ],
    (plain("det"), (onp.ones((3, 3), onp.float32),), {}),
    (plain("slogdet"), (onp.zeros((2, 2), onp.float32),), {}),
    (plain("det"), (real(2, 2, 6, 6),), {}),
    (plain("slogdet"), (compound(5, 5),), {}),
    (plain("tensorinv"), (real(4, 2, 2),), {"ind": 1}),
    (plain("tensorinv"), (real(2, 3, 6),), {}),
    (plain("tensorsolve"), (real(2, 3, 6), real(2, 3)), {}),
    (plain("tensorsolve"), (real(2, 6, 3), real(2, 3)), {"axes": (1,)}),
    *[(plain("pinv"), (x,), {}) for x in [*OBLONG[:-1], onp.zeros((2, 3), onp.float32)]],
    (plain("pinv"), (LOW,), {"rtol": 1e-5}),
    (plain("pinv"), (STACK,), {"rtol": onp.array([0.5, 1e-3], onp.float32)}),
    (plain("pinv"), (TALL,), {"rcond": 0.4}),
    (plain("pinv"), (hermitian(SQUARE),), {"hermitian": True}),
    *[(plain("matrix_rank"), (x,), {}) for x in [*OBLONG, LOW, VECTOR, onp.zeros(3, onp.float32)]],
    (plain("matrix_rank"), (STACK,), {"rtol": 0.4}),
    (plain("matrix_rank"), (hermitian(STACK),), {"hermitian": True}),
    *[(plain("svdvals"), (x,), {}) for x in OBLONG],
    *[(plain("eigvalsh"), (hermitian(x),), {}) for x in (SQUARE, STACK, COMPLEX, EMPTY)],
    *[
        (plain("cholesky"), (positive(x),), {"upper": u})
        for x in (SQUARE, STACK, COMPLEX, EMPTY)
        for u in (False, True)
    ],
    *[(unique("qr"), (x,), {"mode": m}) for x in OBLONG[:-1] for m in ("reduced", "complete")],
    *[(unique("svd"), (x,), {"full_matrices": f}) for x in OBLONG for f in (False, True)],
    *[(unique("svd"), (hermitian(x),), {"hermitian": True}) for x in (SQUARE, COMPLEX, EMPTY)],
    *[(unique("eigh"), (hermitian(x),), {}) for x in MATRICES],
    *[(unique(f), (x,), {}) for x in (SQUARE, STACK, COMPLEX) for f in ("eig", "eigvals")],
]


def close(got, wanted):
    got, wanted = tree_leaves(got), tree_leaves(wanted)
    assert len(got) == len(wanted)
    for x, y in zip(got, wanted, strict=True):
        x, y = onp.asarray(x), onp.asarray(y)
        assert x.shape == y.shape
        if x.dtype.kind in "fc":
            onp.testing.assert_allclose(x, y, rtol=2e-3, atol=2e-4)
        else:
            onp.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("row", TABLE, ids=row_name)
def test_values_at_once(row):
    function, args, options = row
    with onp.errstate(all="ignore"):
        wanted = function(onp, *args, **options)
    ours = [np.asarray(a) if isinstance(a, onp.ndarray) else a for a in args]
    first = function(np, *ours, **options)
    close(first, wanted)
    second = function(np, *ours, **options)
    close(function(np, *ours, **options), second)  # from a plan
    for x, y in zip(tree_leaves(first), tree_leaves(second), strict=True):
        assert getattr(x, "aval", None) == getattr(y, "aval", None)


def test_values_in_one_compiled_program():
    rows = TABLE[::4]
    places = [[i for i, a in enumerate(args) if isinstance(a, onp.ndarray)] for _, args, _ in rows]

    @weft.jit
    def run(data):
        found = []
        for (function, args, options), arrays, at in zip(rows, data, places, strict=True):
            every = list(args)
            for i, x in zip(at, arrays, strict=True):
                every[i] = x
            found.append(function(np, *every, **options))
        return found

    data = [
        [np.asarray(args[i]) for i in at] for (_, args, _), at in zip(rows, places, strict=True)
    ]
    compiled = run(data)
    for (function, args, options), got in zip(rows, compiled, strict=True):
        with onp.errstate(all="ignore"):
            close(tree_map(onp.asarray, got), function(onp, *args, **options))
