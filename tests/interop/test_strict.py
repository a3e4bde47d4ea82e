"""weft.numpy beside array-api-strict, which has what the standard says and no more: names,
keywords, dtypes and values of results, and what is refused."""

import inspect
import math

import array_api_strict as strict
import numpy as onp
import pytest

import weft
import weft.numpy as np

inf, nan = math.inf, math.nan
SPACES = {"": (strict, np), "linalg": (strict.linalg, np.linalg), "fft": (strict.fft, np.fft)}
OWN = ("Device", "ArrayAPIStrictFlags", "__version__")  # of strict, not of the standard
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *INTEGERS, *FLOATS, *COMPLEX)
UNARY = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_invert", "ceil", "conj",
    "cos", "cosh", "exp", "expm1", "floor", "imag", "isfinite", "isinf", "isnan", "log", "log1p",
    "log2", "log10", "logical_not", "negative", "positive", "real", "reciprocal", "round", "sign",
    "signbit", "sin", "sinh", "square", "sqrt", "tan", "tanh", "trunc",
)  # fmt: skip
BINARY = (
    "add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "copysign", "divide", "equal", "floor_divide", "greater", "greater_equal",
    "hypot", "less", "less_equal", "logaddexp", "logical_and", "logical_or", "logical_xor",
    "maximum", "minimum", "multiply", "nextafter", "not_equal", "pow", "remainder", "subtract",
)  # fmt: skip
NUMPYS_NANS = ("expm1", "sign")  # of infinite complex numbers: C's standard says more


@pytest.fixture(autouse=True)
def x64():
    with weft.enable_x64(True):
        yield


def numbers(dtype):
    if dtype == "bool":
        return onp.array([True, False, True])
    if dtype in INTEGERS:
        info = onp.iinfo(dtype)
        return onp.array([0, 1, 2, 3, 7, info.max, info.min], dtype)
    line = [0.0, -0.0, 1.0, -1.5, inf, -inf, nan]
    if dtype in FLOATS:
        return onp.array([*line, 0.5, -0.5, 2.5, -2.5, onp.finfo(dtype).max, 1e-3], dtype)
    return onp.array([complex(a, b) for a in line for b in line], dtype)


def matrix(dtype):
    found = onp.random.default_rng(3).standard_normal((3, 4)) * 3
    return onp.abs(found).astype(dtype) if dtype in INTEGERS else found.astype(dtype)


def answers(call, *hosts):
    """What each namespace makes of a call of it and arrays; `None` where the strict one refuses."""
    try:
        with onp.errstate(all="ignore"):
            wanted = call(strict, *map(strict.asarray, hosts))
    except (TypeError, ValueError, IndexError):
        return None
    return wanted, call(np, *map(np.asarray, hosts))


def same(found, wanted, about):
    if isinstance(wanted, (list, tuple)):
        assert len(found) == len(wanted), about
        for f, w in zip(found, wanted, strict=True):
            same(f, w, about)
        return
    if not hasattr(wanted, "_array"):
        assert found == wanted, about
        return
    found, wanted = onp.asarray(found), onp.asarray(wanted._array)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), about
    if wanted.dtype.kind not in "fc":
        onp.testing.assert_array_equal(found, wanted, str(about))
        return
    tolerance = 3e-5 if wanted.dtype in FLOATS[:1] + COMPLEX[:1] else 1e-11
    for part in (onp.real, onp.imag):
        both = part(found), part(wanted)
        onp.testing.assert_allclose(*both, tolerance, tolerance, err_msg=str(about))


@pytest.mark.parametrize("space", SPACES)
def test_names_and_keywords(space):
    theirs, ours = SPACES[space]
    for name in theirs.__all__:
        if name in OWN or name.endswith("_strict_flags"):
            continue
        function = getattr(theirs, name)
        mine = getattr(ours, name)
        if not inspect.isfunction(function):
            continue
        has = inspect.signature(mine).parameters
        for keyword, parameter in inspect.signature(function).parameters.items():
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                assert keyword in has, (name, keyword)
                optional = parameter.default is not parameter.empty
                assert not optional or has[keyword].default is not parameter.empty, (name, keyword)


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_array(name):
    for dtype in DTYPES:
        x = numbers(dtype)
        if dtype in COMPLEX and name in NUMPYS_NANS:
            x = x[onp.isfinite(x)]
        for host in (x, x[1], x[:0]):
            found = answers(lambda xp, a: getattr(xp, name)(a), onp.asarray(host))
            if found:
                same(found[1], found[0], (name, dtype))


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arrays(name):
    for dtype in DTYPES:
        x = y = numbers(dtype)
        if dtype in COMPLEX:
            x = y = x[onp.isfinite(x)]
        if dtype in INTEGERS:
            if name.endswith("shift"):
                y = onp.array([0, 1, 2, 3], dtype)
            elif name in ("floor_divide", "remainder"):
                y = onp.array([1, 2, 7, onp.iinfo(dtype).max], dtype)
            elif name == "pow":
                y = onp.array([0, 1, 5], dtype)
        for call in (
            lambda xp, a, b: getattr(xp, name)(a[:, None], b),
            lambda xp, a, b: getattr(xp, name)(a, 2),
            lambda xp, a, b: getattr(xp, name)(True, b),
        ):
            found = answers(call, x, y)
            if found:
                same(found[1], found[0], (name, dtype))


OTHERS = {
    "sums": lambda xp, x: [xp.sum(x), xp.prod(x, axis=0), xp.sum(x, axis=(), keepdims=True)],
    "means": lambda xp, x: [xp.mean(x, axis=1), xp.std(x, correction=1), xp.var(x, axis=0)],
    "extremes": lambda xp, x: [xp.max(x), xp.min(x, axis=1, keepdims=True), xp.argmax(x, axis=0)],
    "counts": lambda xp, x: [xp.count_nonzero(x, axis=1), xp.any(x), xp.all(x, axis=0)],
    "running": lambda xp, x: [
        xp.cumulative_sum(x, axis=0, include_initial=True), xp.cumulative_prod(x[0, :]),
    ],
    "diff": lambda xp, x: [xp.diff(x, axis=0, n=2), xp.diff(x, prepend=x[:, :1], append=x)],
    "sorts": lambda xp, x: [xp.sort(x, descending=True), xp.argsort(x, axis=0)],
    "search": lambda xp, x: [
        xp.searchsorted(xp.sort(x[0, :]), x),
        xp.searchsorted(x[1, :], x[0, :], sorter=xp.argsort(x[1, :])),
    ],
    "sets": lambda xp, x: [*xp.unique_all(x), *xp.unique_counts(x), *xp.unique_inverse(x[0, :])],
    "take": lambda xp, x: [xp.take(x, xp.asarray([-1, 0]), axis=1), *xp.nonzero(x)],
    "take along": lambda xp, x: xp.take_along_axis(x, xp.asarray([[2, 0, 0, 1]]), axis=0),
    "clip": lambda xp, x: [xp.clip(x, 1, 2), xp.clip(x, max=x[0, :]), xp.clip(x)],
    "join": lambda xp, x: [xp.concat([x, x], axis=None), xp.stack([x, x], axis=-1), *xp.unstack(x)],
    "move": lambda xp, x: [
        xp.roll(x, (1, -1), axis=(0, 1)), xp.flip(x), xp.moveaxis(x, 0, 1), xp.tile(x, (2, 1, 1)),
        xp.repeat(x, xp.asarray([1, 0, 2], dtype=xp.uint64), axis=0), xp.permute_dims(x, (1, 0)),
    ],
    "shapes": lambda xp, x: [
        xp.expand_dims(x, axis=-1), xp.squeeze(x[:1, :], axis=0), xp.broadcast_to(x, (2, 3, 4)),
        xp.reshape(x, (2, -1)), *xp.broadcast_arrays(x, x[0, :]), *xp.meshgrid(x[0, :], x[:, 0]),
    ],
    "new": lambda xp, x: [
        xp.ones_like(x), xp.full_like(x, 2), xp.eye(3, k=1, dtype=x.dtype), xp.tril(x, k=-1),
        xp.linspace(0, 1, 5), xp.arange(1, 8, 3), xp.full((2,), 1.5), xp.asarray([1, 2.0]),
    ],
    "products": lambda xp, x: [
        x @ x.T, xp.vecdot(x, x[:1, :]), xp.tensordot(x, x, axes=((0,), (0,))), x.mT,
    ],
    "linear": lambda xp, x: [
        xp.linalg.det(x[:, :3]), xp.linalg.inv(x[:, :3]), xp.linalg.solve(x[:, :3], x),
        xp.linalg.pinv(x), xp.linalg.svdvals(x), *xp.linalg.slogdet(x[:, :3]),
        xp.linalg.matrix_rank(x), xp.linalg.matrix_power(x[:, :3], -2),
    ],
    "norms": lambda xp, x: [
        *[xp.linalg.matrix_norm(x, ord=o) for o in (1, -1, 2, -2, "fro", "nuc", inf, -inf)],
        *[xp.linalg.vector_norm(x, ord=o, axis=0) for o in (0, 1, 2, 3, 0.5, inf, -inf)],
    ],
    "diagonals": lambda xp, x: [
        xp.linalg.diagonal(x, offset=1), xp.linalg.trace(x), xp.linalg.outer(x[0, :], x[1, :]),
        xp.linalg.cross(x, x[::-1, :], axis=-2),
    ],
    "transforms": lambda xp, x: [
        xp.fft.rfft(x, n=5, norm="ortho"), xp.fft.ihfft(x), xp.fft.rfftn(x, s=(2,), axes=(0,)),
        xp.fft.fftfreq(5, d=0.1), xp.fft.fftshift(x),
    ],
    "complex transforms": lambda xp, x: [
        xp.fft.fft(x, n=3), xp.fft.ifftn(x), xp.fft.irfft(x, norm="forward"), xp.fft.hfft(x),
        xp.fft.irfftn(x, axes=(0,)),
    ],
    "indices": lambda xp, x: [
        x[1, ...], x[None, :, 1:], x[::-1, ::2], x[x != x[0, 0]], x[xp.asarray([0, 2]), 1],
        x[xp.asarray([True, False, True])], x[2:2, :],
        x[xp.asarray([[0], [2]]), xp.asarray([1, 3])],
    ],
    "kinds": lambda xp, x: [
        xp.isdtype(x.dtype, "integral"), xp.isdtype(x.dtype, ("bool", "real floating")),
        xp.can_cast(xp.int8, xp.int16), xp.astype(x, xp.complex128),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_other_functions(name):
    found = [
        answers(OTHERS[name], matrix(dtype)) for dtype in ("int8", "uint32", *FLOATS, *COMPLEX)
    ]
    assert any(found)
    for both in filter(None, found):
        same(both[1], both[0], name)


V = [0.0, 1.0, 2.0, 3.0]
REFUSED = {
    **{
        f"{name} of axis {axis}":
        lambda xp, x, name=name, axis=axis: getattr(xp, name)(x, axis=axis)
        for name in
        ("sum", "max", "mean", "std", "any", "argmin", "count_nonzero", "sort", "cumulative_sum",
         "flip", "squeeze", "unstack", "diff")
        for axis in (2, -3)
    },
    "an axis twice": lambda xp, x: xp.sum(x, axis=(0, -2)),
    "no elements": lambda xp, x: xp.max(x[:0, :]),
    "squeezed": lambda xp, x: xp.squeeze(x, axis=0),
    "reshaped": lambda xp, x: xp.reshape(x, (5, 2)),
    "two unknown lengths": lambda xp, x: xp.reshape(x, (-1, -1)),
    "broadcast": lambda xp, x: xp.broadcast_to(x, (4, 3)),
    "added": lambda xp, x: x + xp.asarray(V[:3]),
    "permuted": lambda xp, x: xp.permute_dims(x, (0, 0)),
    "nothing joined": lambda xp, x: xp.concat([]),
    "nothing stacked": lambda xp, x: xp.stack([]),
    "joined": lambda xp, x: xp.concat([x, xp.asarray([V[:3]])]),
    "multiplied": lambda xp, x: x @ x,
    "a scalar multiplied": lambda xp, x: xp.matmul(x, xp.asarray(2.0)),
    "crossed": lambda xp, x: xp.linalg.cross(x, x),
    "not square": lambda xp, x: xp.linalg.det(x),
    "a vector turned": lambda xp, x: xp.matrix_transpose(x[0, :]),
    "too many indices": lambda xp, x: x[0, 0, 0],
    "a fraction": lambda xp, x: x[1.0],
    "two ellipses": lambda xp, x: x[..., ...],
    "a short mask": lambda xp, x: x[xp.asarray([True, False]), :],
    "repeated": lambda xp, x: xp.repeat(x, -1),
    "a side": lambda xp, x: xp.searchsorted(x[0, :], x, side="middle"),
    "many as one": lambda xp, x: bool(x),
    "complex as real": lambda xp, x: float(xp.asarray(1j)),
    "a float as index": lambda xp, x: [1, 2][xp.asarray(1.0)],
    "NaN as int": lambda xp, x: int(xp.asarray(nan)),
    "infinity as int": lambda xp, x: int(xp.asarray(inf)),
    "negative length": lambda xp, x: xp.ones(-1),
    "ragged": lambda xp, x: xp.asarray([[1], [1, 2]]),
    "not copied": lambda xp, x: xp.asarray([1, 2], copy=False),
    "too large": lambda xp, x: xp.asarray(2**70, dtype=xp.int64),
    "beyond the dtype": lambda xp, x: xp.asarray([1], dtype=xp.uint8) + 300,
    "limits of integers": lambda xp, x: xp.finfo(xp.int32),
    "a kind": lambda xp, x: xp.isdtype(xp.int32, "foo"),
    "no arguments": lambda xp, x: xp.result_type(),
    "indexing": lambda xp, x: xp.meshgrid(x[0, :], indexing="zz"),
    "no axis": lambda xp, x: xp.cumulative_sum(x),
    "a norm": lambda xp, x: xp.fft.fft(x + 0j, norm="foo"),
    "no length": lambda xp, x: xp.fft.fft(x + 0j, n=0),
    "real transform": lambda xp, x: xp.fft.rfft(x + 0j),
    "bits of floats": lambda xp, x: x & x,
    "minus True": lambda xp, x: -xp.asarray(True),
    "complex floor": lambda xp, x: xp.floor(xp.asarray(1j)),
    "complex quotient": lambda xp, x: xp.asarray(1j) // xp.asarray(1j),
    "complex angle": lambda xp, x: xp.atan2(xp.asarray(1j), xp.asarray(1j)),
    "a list exchanged": lambda xp, x: xp.from_dlpack([1]),
    "a device": lambda xp, x: x.to_device("nope"),
    "a mode": lambda xp, x: xp.linalg.qr(x, mode="x"),
    "an order": lambda xp, x: xp.linalg.matrix_norm(x, ord="x"),
    "along": lambda xp, x: xp.take_along_axis(x, xp.asarray([0]), axis=0),
}  # fmt: skip


REFUSALS = (TypeError, ValueError, IndexError, OverflowError, BufferError, AttributeError)


def test_what_is_refused():
    x = onp.arange(12.0).reshape(3, 4)
    for name, call in REFUSED.items():
        for xp in (strict, np):
            try:
                call(xp, xp.asarray(x))
            except REFUSALS:
                continue
            pytest.fail(f"{name}: accepted by {xp.__name__}")
