"""The array API standard, 2024.12, as a table: its functions, with what it requires of each.

Signatures and dtypes are the standard's. Values are compared with NumPy, which keeps to it.
Special cases are the standard's words as rows. Deviations have their reason beside them.
"""

import functools
import inspect
import itertools
import math

import numpy as onp
import pytest
import sampling

import weft
import weft.numpy as np

inf, nan = math.inf, math.nan

# --- signatures ---

SIGNATURES = """
arange(start, /, stop=None, step=1, *, dtype=None, device=None)
asarray(obj, /, *, dtype=None, device=None, copy=None)
empty(shape, *, dtype=None, device=None)
empty_like(x, /, *, dtype=None, device=None)
eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
from_dlpack(x, /, *, device=None, copy=None)
full(shape, fill_value, *, dtype=None, device=None)
full_like(x, /, fill_value, *, dtype=None, device=None)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
meshgrid(*arrays, indexing='xy')
ones(shape, *, dtype=None, device=None)
ones_like(x, /, *, dtype=None, device=None)
tril(x, /, *, k=0)
triu(x, /, *, k=0)
zeros(shape, *, dtype=None, device=None)
zeros_like(x, /, *, dtype=None, device=None)
astype(x, dtype, /, *, copy=True, device=None)
broadcast_arrays(*arrays)
broadcast_to(x, /, shape)
can_cast(from_, to, /)
finfo(type, /)
iinfo(type, /)
isdtype(dtype, kind)
result_type(*arrays_and_dtypes)
clip(x, /, min=None, max=None)
matmul(x1, x2, /)
matrix_transpose(x, /)
tensordot(x1, x2, /, *, axes=2)
vecdot(x1, x2, /, *, axis=-1)
concat(arrays, /, *, axis=0)
expand_dims(x, /, *, axis=0)
flip(x, /, *, axis=None)
moveaxis(x, source, destination, /)
permute_dims(x, /, axes)
repeat(x, repeats, /, *, axis=None)
reshape(x, /, shape, *, copy=None)
roll(x, /, shift, *, axis=None)
squeeze(x, /, axis)
stack(arrays, /, *, axis=0)
tile(x, repetitions, /)
unstack(x, /, *, axis=0)
argmax(x, /, *, axis=None, keepdims=False)
argmin(x, /, *, axis=None, keepdims=False)
count_nonzero(x, /, *, axis=None, keepdims=False)
nonzero(x, /)
searchsorted(x1, x2, /, *, side='left', sorter=None)
where(condition, x1, x2, /)
unique_all(x, /)
unique_counts(x, /)
unique_inverse(x, /)
unique_values(x, /)
argsort(x, /, *, axis=-1, descending=False, stable=True)
sort(x, /, *, axis=-1, descending=False, stable=True)
cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
max(x, /, *, axis=None, keepdims=False)
mean(x, /, *, axis=None, keepdims=False)
min(x, /, *, axis=None, keepdims=False)
prod(x, /, *, axis=None, dtype=None, keepdims=False)
std(x, /, *, axis=None, correction=0.0, keepdims=False)
sum(x, /, *, axis=None, dtype=None, keepdims=False)
var(x, /, *, axis=None, correction=0.0, keepdims=False)
all(x, /, *, axis=None, keepdims=False)
any(x, /, *, axis=None, keepdims=False)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
take(x, indices, /, *, axis)
take_along_axis(x, indices, /, *, axis=-1)
linalg.cholesky(x, /, *, upper=False)
linalg.cross(x1, x2, /, *, axis=-1)
linalg.det(x, /)
linalg.diagonal(x, /, *, offset=0)
linalg.eigh(x, /)
linalg.eigvalsh(x, /)
linalg.inv(x, /)
linalg.matmul(x1, x2, /)
linalg.matrix_norm(x, /, *, keepdims=False, ord='fro')
linalg.matrix_power(x, n, /)
linalg.matrix_rank(x, /, *, rtol=None)
linalg.matrix_transpose(x, /)
linalg.outer(x1, x2, /)
linalg.pinv(x, /, *, rtol=None)
linalg.qr(x, /, *, mode='reduced')
linalg.slogdet(x, /)
linalg.solve(x1, x2, /)
linalg.svd(x, /, *, full_matrices=True)
linalg.svdvals(x, /)
linalg.tensordot(x1, x2, /, *, axes=2)
linalg.trace(x, /, *, offset=0, dtype=None)
linalg.vecdot(x1, x2, /, *, axis=-1)
linalg.vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
fft.fft(x, /, *, n=None, axis=-1, norm='backward')
fft.ifft(x, /, *, n=None, axis=-1, norm='backward')
fft.fftn(x, /, *, s=None, axes=None, norm='backward')
fft.ifftn(x, /, *, s=None, axes=None, norm='backward')
fft.rfft(x, /, *, n=None, axis=-1, norm='backward')
fft.irfft(x, /, *, n=None, axis=-1, norm='backward')
fft.rfftn(x, /, *, s=None, axes=None, norm='backward')
fft.irfftn(x, /, *, s=None, axes=None, norm='backward')
fft.hfft(x, /, *, n=None, axis=-1, norm='backward')
fft.ihfft(x, /, *, n=None, axis=-1, norm='backward')
fft.fftfreq(n, /, *, d=1.0, dtype=None, device=None)
fft.rfftfreq(n, /, *, d=1.0, dtype=None, device=None)
fft.fftshift(x, /, *, axes=None)
fft.ifftshift(x, /, *, axes=None)
"""

THE_SAME = {
    "arange": {"step"},  # None is 1
    "argmax": {"keepdims"},  # None is False
    "argmin": {"keepdims"},
    "astype": {"copy"},  # arrays are immutable: nobody can tell
    "std": {"correction"},  # None leaves it to NumPy's ddof, which is 0
    "var": {"correction"},
    **{  # None is "backward", as in NumPy
        f"fft.{name}": {"norm"}
        for name in ("fft", "ifft", "fftn", "ifftn", "rfft", "irfft", "rfftn", "irfftn", "hfft",
                     "ihfft")
    },
}  # fmt: skip
"""Defaults that are written otherwise and mean the same."""


def function(name):
    """A function of the standard's namespace; `fft.` and `linalg.` are its extensions."""
    return functools.reduce(getattr, name.split("."), np)


@pytest.mark.parametrize("line", SIGNATURES.strip().splitlines())
def test_signatures(line):
    name, parenthesis, rest = line.partition("(")
    scope = {}
    exec(f"def wanted{parenthesis}{rest}: pass", scope)
    wanted = inspect.signature(scope["wanted"]).parameters.values()
    found = inspect.signature(function(name)).parameters
    given = [p for p in found.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    several = any(p.kind == p.VAR_POSITIONAL for p in found.values())
    by_place = [p for p in wanted if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if not several:
        assert len(given) >= len(by_place), "takes too few arguments by place"
        more = [p.name for p in given[len(by_place) :] if p.default is p.empty]
        assert set(more) <= {p.name for p in wanted}, "needs more arguments"
    for place, p in enumerate(by_place):
        if several:
            break
        if p.kind == p.POSITIONAL_OR_KEYWORD:
            assert given[place].name == p.name
        if p.default is not p.empty and p.name not in THE_SAME.get(name, ()):
            assert given[place].default == p.default
    for p in wanted:
        if p.kind == p.KEYWORD_ONLY:
            assert p.name in found
            if p.name not in THE_SAME.get(name, ()) and p.default is not p.empty:
                assert found[p.name].default == p.default


# --- elementwise functions: dtypes, shapes, values ---

BOOL = ("bool",)
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
REAL_FLOATING = ("float32", "float64")
FLOATING = (*REAL_FLOATING, "complex64", "complex128")
REAL = (*INTEGERS, *REAL_FLOATING)
NUMERIC = (*INTEGERS, *FLOATING)

ONE = {
    BOOL: "logical_not",
    (*BOOL, *INTEGERS): "bitwise_invert",
    FLOATING: "acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 reciprocal "
    "sin sinh sqrt tan tanh",
    REAL_FLOATING: "signbit",
    REAL: "ceil floor trunc",
    NUMERIC: "abs isfinite isinf isnan negative positive round sign square conj imag real",
}
TWO = {
    BOOL: "logical_and logical_or logical_xor",
    (*BOOL, *INTEGERS): "bitwise_and bitwise_or bitwise_xor",
    INTEGERS: "bitwise_left_shift bitwise_right_shift",
    REAL_FLOATING: "atan2 copysign hypot logaddexp nextafter",
    FLOATING: "divide",
    REAL: "floor_divide remainder greater greater_equal less less_equal maximum minimum",
    NUMERIC: "add multiply subtract pow",
    (*BOOL, *NUMERIC): "equal not_equal",
}
COMPLEX_ONLY = {"conj", "imag", "real"}  # the standard has them for complex arrays first of all


def rows(table):
    return [(name, dtypes) for dtypes, names in table.items() for name in names.split()]


def numbers(dtype, shape, seed):
    """Numbers in every function's domain, near 1 for floats."""
    draw = onp.random.default_rng(seed)
    kind = onp.dtype(dtype).kind
    if kind == "b":
        return draw.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        return draw.integers(1, 6, shape).astype(dtype)
    x = draw.uniform(0.1, 0.9, shape)
    return (x + 1j * draw.uniform(0.1, 0.9, shape) if kind == "c" else x).astype(dtype)


def agree(found, wanted):
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    tolerance = 1e-5 if wanted.dtype.name in ("float32", "complex64") else 1e-12
    onp.testing.assert_allclose(onp.asarray(found), wanted, tolerance, tolerance)


@pytest.fixture
def in_64_bits():
    with weft.enable_x64(), onp.errstate(all="ignore"):
        yield


@pytest.mark.parametrize(("name", "dtypes"), rows(ONE))
def test_functions_of_one_array(name, dtypes, in_64_bits):
    for dtype, shape in itertools.product(dtypes, [(), (0,), (2, 3)]):
        x = numbers(dtype, shape, 1) + (name == "acosh" and onp.dtype(dtype).kind == "f")
        agree(getattr(np, name)(np.asarray(x)), onp.asarray(getattr(onp, name)(x)))


@pytest.mark.parametrize(("name", "dtypes"), rows(TWO))
def test_functions_of_two_arrays(name, dtypes, in_64_bits):
    kinds = {"b": "bool", "i": "integer", "u": "integer", "f": "float", "c": "float"}
    pairs = [
        (a, b)
        for a, b in itertools.product(dtypes, dtypes)
        if kinds[onp.dtype(a).kind] == kinds[onp.dtype(b).kind]
        and {a, b} not in ({"int8", "uint64"}, {"int16", "uint64"}, {"int32", "uint64"},
                           {"int64", "uint64"})  # the standard has no type for both
    ]  # fmt: skip
    for (a, b), shapes in zip(
        sampling.some(pairs, 12, name), itertools.cycle([((), (2,)), ((0,), (0,)), ((2, 1), (3,))])
    ):
        x, y = numbers(a, shapes[0], 1), numbers(b, shapes[1], 2)
        agree(
            getattr(np, name)(np.asarray(x), np.asarray(y)),
            onp.asarray(getattr(onp, name)(onp.asarray(x), onp.asarray(y))),
        )


def test_dtypes_of_pairs(in_64_bits):
    """The table of promotion: within a kind, and of Python's numbers with arrays."""
    known = (*BOOL, *NUMERIC)
    for a, b in itertools.product(known, known):
        kinds = {onp.dtype(a).kind, onp.dtype(b).kind}
        if (
            len(kinds) == 1
            or (kinds == {"i", "u"} and "uint64" not in (a, b))
            or kinds == set("fc")
        ):
            assert np.result_type(getattr(np, a), getattr(np, b)) == onp.promote_types(a, b)
    for dtype in known:
        x = np.asarray(numbers(dtype, (2,), 1))
        numbers_of = {"b": [True], "i": [1], "u": [1], "f": [1, 1.5], "c": [1, 1.5, 1j]}
        for number in numbers_of[x.dtype.kind]:
            if x.dtype.kind != "b":
                assert (x + number).dtype == (number + x).dtype == x.dtype
            assert (x == number).dtype == bool


# --- special cases of elementwise functions ---

SPECIAL = {
    "acos": [(2, nan), (-2, nan), (1, 0.0), (nan, nan)],
    "acosh": [(0.5, nan), (1, 0.0), (inf, inf)],
    "asin": [(2, nan), (0.0, 0.0), (-0.0, -0.0)],
    "asinh": [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)],
    "atan": [(-0.0, -0.0), (inf, math.pi / 2), (-inf, -math.pi / 2)],
    "atanh": [(2, nan), (-1, -inf), (1, inf), (-0.0, -0.0)],
    "ceil": [(-0.5, -0.0), (inf, inf), (-0.0, -0.0)],
    "cos": [(inf, nan), (-0.0, 1.0)],
    "cosh": [(-0.0, 1.0), (-inf, inf)],
    "exp": [(-0.0, 1.0), (inf, inf), (-inf, 0.0)],
    "expm1": [(-0.0, -0.0), (inf, inf), (-inf, -1.0)],
    "floor": [(-0.0, -0.0), (-inf, -inf)],
    "log": [(-1, nan), (-0.0, -inf), (1, 0.0), (inf, inf)],
    "log1p": [(-2, nan), (-1, -inf), (-0.0, -0.0), (inf, inf)],
    "log2": [(-1, nan), (0.0, -inf), (1, 0.0), (inf, inf)],
    "log10": [(-1, nan), (-0.0, -inf), (1, 0.0), (inf, inf)],
    "round": [(0.5, 0.0), (1.5, 2.0), (-0.5, -0.0), (-2.5, -2.0), (inf, inf)],
    "sign": [(-3, -1.0), (0.0, 0.0), (7, 1.0), (nan, nan)],
    "sin": [(-0.0, -0.0), (inf, nan), (-inf, nan)],
    "sinh": [(-0.0, -0.0), (-inf, -inf)],
    "sqrt": [(-1, nan), (-0.0, -0.0), (inf, inf)],
    "tan": [(-0.0, -0.0), (inf, nan)],
    "tanh": [(-0.0, -0.0), (inf, 1.0), (-inf, -1.0)],
    "trunc": [(-0.5, -0.0), (inf, inf)],
    "reciprocal": [(-0.0, -inf), (inf, 0.0)],
    "add": [(inf, -inf, nan), (-0.0, -0.0, -0.0), (-0.0, 0.0, 0.0)],
    "atan2": [
        (1, 0.0, math.pi / 2),
        (0.0, -0.0, math.pi),
        (-0.0, -0.0, -math.pi),
        (-0.0, 1, -0.0),
        (1, -inf, math.pi),
        (-1, -inf, -math.pi),
        (inf, inf, math.pi / 4),
        (-inf, -inf, -3 * math.pi / 4),
        (inf, 1, math.pi / 2),
        (nan, 1, nan),
    ],
    "copysign": [(3, -0.0, -3.0), (-nan, 1, nan)],
    "divide": [(inf, inf, nan), (0.0, 0.0, nan), (1, -0.0, -inf), (-1, inf, -0.0), (-inf, 2, -inf)],
    "floor_divide": [
        (inf, inf, nan),
        (0.0, 0.0, nan),
        (1, inf, 0.0),
        (-1, inf, -1.0),
        (-0.0, 3, -0.0),
        (3, -0.0, -inf),
    ],
    "hypot": [(inf, nan, inf), (nan, -inf, inf), (3, 4, 5.0)],
    "logaddexp": [(nan, 1, nan), (inf, 1, inf), (-inf, -inf, -inf)],
    "maximum": [(nan, 1, nan), (1, nan, nan), (-inf, 2, 2.0)],
    "minimum": [(nan, 1, nan), (1, nan, nan), (inf, 2, 2.0)],
    "multiply": [(inf, 0.0, nan), (-0.0, 2, -0.0), (-inf, -2, inf)],
    "nextafter": [(1, 1, 1.0), (0.0, -0.0, -0.0), (nan, 1, nan)],
    "pow": [
        (nan, 0.0, 1.0),
        (1, nan, 1.0),
        (0.5, inf, 0.0),
        (2, inf, inf),
        (-1, inf, 1.0),
        (-inf, 3, -inf),
        (-inf, 2, inf),
        (-inf, -3, -0.0),
        (-0.0, 3, -0.0),
        (-0.0, -3, -inf),
        (0.0, -2, inf),
        (-2, 0.5, nan),
    ],
    "remainder": [
        (inf, 1, nan),
        (1, 0.0, nan),
        (0.0, 3, 0.0),
        (-0.0, 3, 0.0),
        (1, inf, 1.0),
        (-1, inf, inf),
        (3, -inf, -inf),
        (5, 3, 2.0),
        (-5, 3, 1.0),
    ],
    "subtract": [(inf, inf, nan), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0)],
}
"""Arguments and the result, from the lists "Special cases" of the standard."""


@pytest.mark.parametrize("name", SPECIAL)
def test_special_cases(name, in_64_bits):
    function = getattr(np, name)
    columns = [onp.array(c, "float64") for c in zip(*SPECIAL[name], strict=True)]
    for dtype in ("float32", "float64"):
        *arguments, wanted = [c.astype(dtype) for c in columns]
        for f in (function, weft.jit(function)):
            found = onp.asarray(f(*map(np.asarray, arguments)))
            onp.testing.assert_allclose(found, wanted, 1e-6)
            onp.testing.assert_array_equal(
                onp.signbit(found) | onp.isnan(found), onp.signbit(wanted) | onp.isnan(wanted)
            )


# --- reductions, places, manipulation: dtypes, axes, empty arrays ---

REDUCTIONS = {
    "all": (*BOOL, *NUMERIC),
    "any": (*BOOL, *NUMERIC),
    "argmax": REAL,
    "argmin": REAL,
    "count_nonzero": (*BOOL, *NUMERIC),
    "max": REAL,
    "mean": REAL_FLOATING,
    "min": REAL,
    "prod": NUMERIC,
    "std": REAL_FLOATING,
    "sum": NUMERIC,
    "var": REAL_FLOATING,
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, in_64_bits):
    of_one_axis = name.startswith("arg")
    axes = [None, 0, -1] if of_one_axis else [None, 0, -1, (0, 2), ()]
    cases = list(itertools.product(REDUCTIONS[name], axes, [False, True]))
    for dtype, axis, keepdims in sampling.some(cases, 24, name):
        x = numbers(dtype, (2, 3, 2), 1)
        options = {"axis": axis, "keepdims": keepdims}
        found = getattr(np, name)(np.asarray(x), **options)
        wanted = onp.asarray(getattr(onp, name)(x, **options))
        if name in ("argmax", "argmin", "count_nonzero"):
            wanted = wanted.astype("int64")
        agree(found, wanted)
    x = np.asarray(numbers(REDUCTIONS[name][-1], (), 1))
    assert getattr(np, name)(x).shape == ()
    for axis in (3, -4):
        with pytest.raises((IndexError, ValueError), match=name):
            getattr(np, name)(np.zeros((2, 3, 2)), axis=axis)


def test_sums_of_small_integers_are_wide():
    with weft.enable_x64():
        for name in ("sum", "prod", "cumulative_sum", "cumulative_prod"):
            f = getattr(np, name)
            assert f(np.ones(3, "int8")).dtype == f(np.ones(3, "int32")).dtype == "int64"
            assert f(np.ones(3, "uint16")).dtype == "uint64"
            assert f(np.ones(3, "float32")).dtype == "float32"
            assert f(np.ones(3, "int8"), dtype=np.float32).dtype == "float32"
    assert np.sum(np.ones(3, "int8")).dtype == "int32"  # the default integer, without 64 bits


def test_reductions_of_nothing():
    nothing = np.zeros((0, 2))
    assert np.sum(nothing).item() == 0
    assert np.prod(nothing).item() == 1
    assert np.all(nothing).item()
    assert not np.any(nothing).item()
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ValueError, match=name):
            getattr(np, name)(nothing, axis=0)
    assert np.isnan(np.mean(nothing, axis=0)).all()


ON_AXES = {
    "expand_dims": lambda x, axis: np.expand_dims(x, axis=axis),
    "flip": lambda x, axis: np.flip(x, axis=axis),
    "roll": lambda x, axis: np.roll(x, 1, axis=axis),
    "concat": lambda x, axis: np.concat([x, x], axis=axis),
    "stack": lambda x, axis: np.stack([x, x], axis=axis),
    "unstack": lambda x, axis: np.unstack(x, axis=axis),
    "squeeze": lambda x, axis: np.squeeze(x[None], axis),
    "sort": lambda x, axis: np.sort(x, axis=axis),
    "argsort": lambda x, axis: np.argsort(x, axis=axis),
    "cumulative_sum": lambda x, axis: np.cumulative_sum(x, axis=axis),
    "cumulative_prod": lambda x, axis: np.cumulative_prod(x, axis=axis),
    "diff": lambda x, axis: np.diff(x, axis=axis),
    "repeat": lambda x, axis: np.repeat(x, 2, axis=axis),
    "take": lambda x, axis: np.take(x, np.asarray([0]), axis=axis),
    "take_along_axis": lambda x, axis: np.take_along_axis(x, np.asarray([[0], [1]]), axis=axis),
    "moveaxis": lambda x, axis: np.moveaxis(x, axis, 0),
    "permute_dims": lambda x, axis: np.permute_dims(x, (axis, 0)),
    "vecdot": lambda x, axis: np.vecdot(x, x, axis=axis),
    "fft.fft": lambda x, axis: np.fft.fft(x, axis=axis),
    "fft.rfftn": lambda x, axis: np.fft.rfftn(x, axes=(axis,)),
    "fft.fftshift": lambda x, axis: np.fft.fftshift(x, axes=axis),
    "linalg.vector_norm": lambda x, axis: np.linalg.vector_norm(x, axis=axis),
}


@pytest.mark.parametrize("name", ON_AXES)
def test_axes_that_are_not_there(name):
    for axis in (5, -6):
        with pytest.raises((IndexError, ValueError), match=name.rpartition(".")[2]):
            ON_AXES[name](np.ones((2, 3)), axis)


SETS = ("unique_all", "unique_counts", "unique_inverse")


@pytest.mark.parametrize("dtype", ["float64", "int16", "bool", "complex64"])
def test_sets(dtype, in_64_bits):
    x = numbers(dtype, (3, 4), 3)
    x[0] = x[1]
    for name in SETS:
        found, wanted = getattr(np, name)(np.asarray(x)), getattr(onp, name)(x)
        assert type(found)._fields == type(wanted)._fields
        for a, b in zip(found, wanted, strict=True):
            agree(a, b)
    agree(np.sort(np.unique_values(np.asarray(x))), onp.sort(onp.unique_values(x)))
    lots = np.unique_values(np.asarray([nan, nan, -0.0, 0.0]))
    assert lots.shape == (3,)  # each NaN is another; zeros are one
    assert np.unique_counts(np.zeros(0)).counts.shape == (0,)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint64", "bool"])
def test_sorting(dtype, descending, in_64_bits):
    x = numbers(dtype, (4, 5), 4)
    order = onp.argsort(-x.astype("float64") if descending else x, axis=0, kind="stable")
    agree(np.argsort(np.asarray(x), axis=0, descending=descending), order)
    sorted_ = np.sort(np.asarray(x), axis=0, descending=descending)
    agree(sorted_, onp.take_along_axis(x, order, 0))


def test_running_sums_with_the_first():
    x = onp.arange(1.0, 7).reshape(2, 3)
    for name in ("cumulative_sum", "cumulative_prod"):
        for axis in (0, 1, -1):
            found = getattr(np, name)(np.asarray(x), axis=axis, include_initial=True)
            wanted = getattr(onp, name)(x, axis=axis, include_initial=True)
            onp.testing.assert_allclose(found, wanted)
        with pytest.raises((TypeError, ValueError), match=name):
            getattr(np, name)(np.asarray(x))  # several axes, and none is named


def test_information_on_dtypes(in_64_bits):
    for dtype in ("float32", "float64"):
        found, wanted = np.finfo(np.ones(1, dtype)), onp.finfo(dtype)
        for field in ("bits", "eps", "max", "min", "smallest_normal"):
            assert float(getattr(found, field)) == float(getattr(wanted, field))
        assert found.dtype == dtype
    for dtype in INTEGERS:
        found = np.iinfo(getattr(np, dtype))
        limits = onp.iinfo(dtype)
        assert (found.bits, found.min, found.max) == (limits.bits, limits.min, limits.max)
    assert np.isdtype(np.float32, ("bool", "real floating"))
    assert not np.isdtype(np.asarray(1).dtype, "unsigned integer")
    assert np.can_cast(np.int8, np.int16)
    assert not np.can_cast(np.float64, np.float32)


OPERATORS = {
    "__abs__": "abs", "__neg__": "negative", "__pos__": "positive", "__invert__": "bitwise_invert",
    "__add__": "add", "__sub__": "subtract", "__mul__": "multiply", "__truediv__": "divide",
    "__floordiv__": "floor_divide", "__mod__": "remainder", "__pow__": "pow", "__eq__": "equal",
    "__ne__": "not_equal", "__lt__": "less", "__le__": "less_equal", "__gt__": "greater",
    "__ge__": "greater_equal", "__and__": "bitwise_and", "__or__": "bitwise_or",
    "__xor__": "bitwise_xor", "__lshift__": "bitwise_left_shift",
    "__rshift__": "bitwise_right_shift", "__matmul__": "matmul",
}  # fmt: skip


@pytest.mark.parametrize("method", OPERATORS)
def test_operators_are_the_functions(method):
    x, y = np.asarray([[5, 2], [3, 1]]), np.asarray([[1, 2], [2, 4]])
    f = getattr(np, OPERATORS[method])
    arguments = (x,) if method in ("__abs__", "__neg__", "__pos__", "__invert__") else (x, y)
    found = getattr(x, method)(*arguments[1:])
    agree(found, onp.asarray(f(*arguments)))
    if len(arguments) == 2 and method not in (
        "__eq__",
        "__ne__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
    ):
        agree(getattr(y, f"__r{method[2:]}")(x), onp.asarray(f(x, y)))


def test_attributes():
    x = np.ones((2, 3, 4))
    assert (x.ndim, x.shape, x.size, x.T.shape if x.ndim == 2 else None) == (3, (2, 3, 4), 24, None)
    assert x.mT.shape == (2, 4, 3)
    for f in (bool, int, float, complex):
        assert f(np.asarray(1.0)) == 1
    assert [10, 20, 30][np.asarray(1)] == 20
    with pytest.raises(TypeError):
        [10, 20][np.asarray(1.0)]
