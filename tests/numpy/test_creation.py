"""Making arrays: from data, constants, ranges, matrices; printing."""

import io

import ml_dtypes
import numpy as onp
import pytest
from agreement import agree, assert_close

import weft
import weft.numpy as np

M = onp.arange(12, dtype=onp.float32).reshape(3, 4)


@pytest.mark.parametrize(
    ("data", "dtype", "weak"),
    [
        (1, "int32", True),
        (1.0, "float32", True),
        (True, "bool", False),
        (1j, "complex64", True),
        ([1, 2], "int32", False),
        ([1, 2.5], "float32", False),
        ([True, False], "bool", False),
        ([True, 2], "int32", False),
        ([], "float32", False),
        ([[1], [2]], "int32", False),
        ((1, 2j), "complex64", False),
        (onp.arange(3), "int32", False),
        (onp.float64(2), "float32", False),
        ([onp.float16(1), 2], "float16", False),
        (ml_dtypes.bfloat16(1), "bfloat16", False),
    ],
)
def test_dtypes_of_data(data, dtype, weak):
    x = np.array(data)
    assert (x.dtype.name, x.weak_type, x.shape) == (dtype, weak, onp.shape(data))
    assert not np.array(data, dtype="complex64").weak_type
    assert_close(np.array(data, dtype="complex64"), onp.asarray(data).astype(onp.complex64))


def test_lists_of_arrays_and_traced_values():
    x = np.arange(3.0)
    assert_close(np.array([x, x]), onp.stack([onp.arange(3.0)] * 2))
    assert_close(np.array([x[0], 2, 3.5]), onp.array([0, 2, 3.5], onp.float32))
    assert_close(
        weft.jit(lambda v: np.array([[v[0], 1], [2, v[2]]]))(x), onp.array([[0, 1], [2, 2]])
    )


def test_memory_of_numpy_arrays_is_copied():
    mine = onp.ones(3, onp.float32)
    for make in (
        np.array,
        np.asarray,
        lambda x: np.asarray(x, "float32"),
        lambda x: np.array(x, ndmin=2),
    ):
        x = make(mine)
        mine[0] = 7
        assert float(x.ravel()[0]) == 1
        mine[0] = 1
    shared = np.asarray(mine, copy=False)
    assert onp.shares_memory(onp.asarray(shared), mine)
    with pytest.raises(ValueError, match="copy=False needs"):
        np.asarray(onp.ones(2), copy=False)


def test_what_a_numpy_view_of_an_array_cannot_do():
    view = onp.asarray(np.zeros(2))
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (None, TypeError, "got None"),
        ("abc", TypeError, "got str"),
        ([1, [2, 3]], ValueError, "equal lengths"),
        ([2**40], OverflowError, "does not fit int32"),
        (object(), TypeError, "got object"),
        ([1, None], TypeError, "got None"),
    ],
)
def test_data_that_makes_no_array(data, error, message):
    with pytest.raises(error, match=message):
        np.array(data)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
@pytest.mark.parametrize("shape", [3, (), (2, 0), (2, 3), [2, 2]])
def test_constants(name, shape, traced):
    def make():
        return getattr(np, name)(shape), getattr(np, name)(shape, np.int8)

    for _ in range(2):
        x, y = weft.jit(make)() if traced else make()
        number = float(name == "ones")
        assert_close(x, onp.full(shape, number, onp.float32))
        assert_close(y, onp.full(shape, number, onp.int8))


def test_constants_do_not_share_memory():
    x, y = np.zeros(3), np.zeros(3)
    assert not onp.shares_memory(onp.asarray(x), onp.asarray(y))


def test_full():
    assert_close(np.full((2, 2), onp.array([1, 2])), onp.array([[1, 2], [1, 2]]))
    assert np.full(2, 1.0).weak_type
    assert np.full(2, 1.5, int).dtype == onp.int32
    assert_close(weft.jit(lambda v: np.full(3, v))(2.0), onp.full(3, 2.0, onp.float32))
    with pytest.raises(ValueError, match="does not broadcast"):
        np.full(2, np.ones(3))


def test_like():
    x = np.ones((2, 3), "float16")
    assert (np.zeros_like(x).dtype, np.zeros_like(x).shape) == (onp.float16, (2, 3))
    assert np.ones_like(x, dtype=int, shape=4).shape == (4,)
    assert np.zeros_like(2.0).weak_type
    assert_close(np.full_like(x, 2.5), onp.full((2, 3), 2.5, onp.float16))
    assert np.empty_like(onp.zeros(3)).dtype == onp.float32


@pytest.mark.parametrize(
    "args", [(5,), (2, 7), (0, 10, 3), (10, 0, -3), (0,), (5, 2), (0.0, 1.0, 0.25), (2.5,), (0, 40)]
)
def test_arange(args):
    wanted = onp.arange(*args)
    wanted = wanted.astype({"f": onp.float32, "i": onp.int32}[wanted.dtype.kind])
    assert_close(np.arange(*args), wanted)
    assert_close(weft.jit(lambda: np.arange(*args))(), wanted)


FLOATS = [onp.nan, 1e20, -1e20, onp.inf, -onp.inf, -5.5, 300.0, 2.0]
INTEGERS_OF = {  # ways from floats to integers
    "array of a list": lambda x, d: np.array(x, dtype=d),
    "array of NumPy's scalars": lambda x, d: np.array([onp.float32(v) for v in x], d),
    "array of arrays": lambda x, d: np.array([np.asarray(v) for v in x], d),
    "asarray": lambda x, d: np.asarray(onp.array(x), d),
    "asarray of float32": lambda x, d: np.asarray(onp.array(x, "float32"), d),
    "asarray of numbers": lambda x, d: np.stack([np.asarray(v, d) for v in x]),
    "full": lambda x, d: np.stack([np.full((), v, d) for v in x]),
    "full_like": lambda x, d: np.stack([np.full_like(np.zeros((), d), v) for v in x]),
    "linspace": lambda x, d: np.stack([np.linspace(v, 0, 2, dtype=d)[0] for v in x]),
    "get": lambda x, d: np.stack(
        [np.zeros(1, d).at[np.array(3)].get(mode="fill", fill_value=v) for v in x]
    ),
    "take": lambda x, d: np.stack(
        [np.take(np.zeros(1, d), np.array(3), mode="fill", fill_value=v) for v in x]
    ),
    "take_along_axis": lambda x, d: np.concatenate(
        [np.take_along_axis(np.zeros(1, d), np.array([3]), 0, "fill", v) for v in x]
    ),
    "astype": lambda x, d: np.asarray(onp.array(x)).astype(d),
    "compiled": lambda x, d: weft.jit(lambda x: x.astype(d))(onp.array(x)),
}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32"])
@pytest.mark.parametrize("way", INTEGERS_OF)
def test_integers_of_floats(way, dtype):
    """NaN is 0, and what is out of range the nearest integer, whatever the processor says."""
    ends = onp.iinfo(dtype)
    x = [v for v in FLOATS if way != "linspace" or v.is_integer()]
    wanted = [0 if v != v else int(min(max(v, ends.min), ends.max)) for v in x]
    got = INTEGERS_OF[way](x, dtype)
    assert got.dtype == dtype
    assert got.tolist() == wanted


def test_arange_must_know_its_length():
    with pytest.raises(weft.errors.ConcretizationTypeError, match="stop decides the shape"):
        weft.jit(lambda n: np.arange(0, n))(3)


@pytest.mark.parametrize(
    ("name", "args", "options"),
    [
        ("linspace", (0, 1), {}),
        ("linspace", (0, 1, 5), {"endpoint": False}),
        ("linspace", (2.0, -3.0, 4), {}),
        ("linspace", (0, 1, 1), {}),
        ("linspace", (0, 1, 0), {}),
        ("linspace", (0, 1, 3), {"retstep": True}),
        ("linspace", (M[0], M[1], 3), {"axis": 1}),
        ("logspace", (0, 2, 5), {}),
        ("logspace", (0, 2, 5), {"base": 2.0, "endpoint": False}),
        ("geomspace", (1, 1000, 4), {}),
    ],
)
def test_spaces(name, args, options):
    agree(name, *args, **options)


def test_spaces_of_traced_ends():
    assert_close(weft.jit(lambda a, b: np.linspace(a, b, 7))(0.5, 2.0), onp.linspace(0.5, 2.0, 7))
    assert_close(weft.jit(lambda a, b: np.logspace(a, b, 7))(0.5, 2.0), onp.logspace(0.5, 2.0, 7))
    assert_close(weft.jit(lambda a: np.geomspace(a, 8.0, 4))(1.0), onp.float32([1, 2, 4, 8]))
    assert_close(np.linspace(0, 10, 4, dtype=int), onp.linspace(0, 10, 4, dtype=int))
    gradient = weft.grad(lambda a: np.linspace(a, 1.0, 5).sum())(0.0)
    assert_close(gradient, onp.float32(2.5))


@pytest.mark.parametrize(
    ("name", "args", "options"),
    [
        ("eye", (3,), {}),
        ("eye", (2, 4, 1), {}),
        ("eye", (3,), {"k": -1, "dtype": int}),
        ("identity", (2,), {}),
        ("tri", (3,), {}),
        ("tri", (2, 4, 1), {}),
        ("tril", (M,), {}),
        ("tril", (M, -1), {}),
        ("triu", (M, 1), {}),
        ("diag", (M,), {}),
        ("diag", (M, 2), {}),
        ("diag", (M, -1), {}),
        ("diag", (M[0],), {}),
        ("diag", (M[0], 1), {}),
        ("diag", (M[0], -2), {}),
        ("diagflat", (M[:2, :2],), {}),
        ("diagonal", (M, 1), {}),
        ("diagonal", (M, 7), {}),
        ("trace", (M,), {"offset": 1}),
        ("tril_indices", (3, 1), {}),
        ("triu_indices", (3, 0, 4), {}),
        ("tril_indices_from", (M,), {}),
        ("triu_indices_from", (M, 1), {}),
        ("diag_indices", (3, 3), {}),
        ("indices", ((2, 3),), {}),
        ("indices", ((2, 3),), {"sparse": True}),
        ("meshgrid", (M[0], M[1, :2]), {}),
        ("meshgrid", (M[0], M[1, :2]), {"indexing": "ij"}),
        ("meshgrid", (M[0], M[1, :2]), {"sparse": True}),
        ("ix_", (onp.array([0, 2]), onp.array([True, False, True])), {}),
        ("vander", (M[0],), {}),
        ("vander", (M[0], 2), {"increasing": True}),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_matrices_and_grids(name, args, options):
    agree(name, *args, compiled=name not in ("ix_",), **options)


def test_grids_by_indexing():
    assert_close(np.mgrid[0:2, 0:3], onp.mgrid[0:2, 0:3])
    assert_close(np.mgrid[0:1:5j], onp.mgrid[0:1:5j])
    for ours, theirs in zip(np.ogrid[0:2, 0:3], onp.ogrid[0:2, 0:3], strict=True):
        assert_close(ours, theirs)
    v = np.asarray(M[0])
    assert_close(np.r_[1:4, 7, v], onp.r_[1:4, 7, M[0]])
    assert_close(np.c_[v, v], onp.c_[M[0], M[0]])
    for spec in ("0,2", "1,2,0", "-1,3,1"):
        assert_close(np.r_[spec, v, v], onp.r_[spec, M[0], M[0]])


def test_other_ways_to_make_arrays():
    assert_close(np.frombuffer(b"abcd", "uint8", 2, 1), onp.array([98, 99], onp.uint8))
    assert_close(
        np.fromfunction(lambda i, j: i * j, (2, 3)), onp.fromfunction(lambda i, j: i * j, (2, 3))
    )
    assert_close(np.fromiter(range(4), int), onp.arange(4))
    assert_close(np.fromstring("1 2", sep=" "), onp.float32([1, 2]))
    shared = onp.ones(3, onp.float32)
    assert onp.shares_memory(onp.asarray(np.from_dlpack(shared)), shared)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int4", "bool", "complex64"])
def test_files(dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    file = io.BytesIO()
    np.save(file, x)
    file.seek(0)
    y = np.load(file)
    assert y.dtype == x.dtype
    assert (onp.asarray(x) == onp.asarray(y)).all()


def test_pickled_objects_are_never_loaded():
    file = io.BytesIO()
    onp.save(file, onp.array([{}], object), allow_pickle=True)
    file.seek(0)
    with pytest.raises(ValueError, match="allow_pickle"):
        np.load(file)
    with pytest.raises(ValueError, match="refused"):
        np.load(file, allow_pickle=True)


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (lambda: np.array([1.0, 2.0]), "Array([1., 2.], dtype=float32)"),
        (lambda: np.zeros(()), "Array(0., dtype=float32)"),
        (lambda: np.asarray(1), "Array(1, dtype=int32, weak_type=True)"),
        (lambda: np.zeros((0, 3)), "Array([], shape=(0, 3), dtype=float32)"),
        (lambda: np.eye(2, dtype=int), "Array([[1, 0],\n       [0, 1]], dtype=int32)"),
        (lambda: np.arange(2000), "Array([   0,    1,    2, ..., 1997, 1998, 1999], dtype=int32)"),
        (lambda: np.ones(2, "bfloat16"), "Array([1, 1], dtype=bfloat16)"),
    ],
)
def test_repr(x, text):
    assert repr(x()) == text


def test_long_arrays_print_as_numpys():
    x = onp.arange(15, dtype=onp.float32) * 1.5
    for n in range(8, 16):
        assert repr(np.asarray(x[:n])) == repr(x[:n]).replace("array(", "Array(").replace(
            "\n ", "\n "
        )
    assert str(np.asarray(x)) == str(x)
    with np.printoptions(precision=2):
        assert repr(np.array([1.23456])) == "Array([1.23], dtype=float32)"


def test_scalar_types():
    assert np.float32(3).dtype == onp.float32
    assert not np.float32(3).weak_type
    assert np.zeros(2).dtype == np.float32
    assert np.float32 != np.float64
    assert np.float32 == onp.float32
    assert onp.dtype(np.bfloat16) == ml_dtypes.bfloat16
    assert np.issubdtype(np.bfloat16, np.floating)
    assert isinstance(np.float32(1), np.float32)
    assert {np.float32: 1}[np.float32] == 1


def test_scalar_types_convert_lists_with_traced_elements():
    x = np.float32([1.5, 2.5])
    nested = weft.jit(lambda a: np.bool_([[a[0], 0], (a[1], a[0])]))(x)
    assert nested.dtype == bool
    assert nested.tolist() == [[True, False], [True, True]]
    assert weft.vmap(lambda a: np.int32([a, 7]))(x).tolist() == [[1, 7], [2, 7]]
    assert weft.grad(lambda a: np.bfloat16((a[0], a[0]))[0].astype(float))(x).tolist() == [1, 0]


@pytest.mark.parametrize("name", ["bool_", "int32", "float64", "bfloat16", "complex128", "int4"])
def test_what_scalar_types_are_equal_to(name):
    """Themselves, and NumPy's type and dtype of that name: nothing whose hash is another."""
    found, dtype = getattr(np, name), onp.dtype(getattr(np, name))
    equal = [found, dtype, dtype.type]
    others = [None, name, dtype.name, "none", bool, int, float, complex, 64, (), onp.ones(2)]
    others += [np.float32, onp.dtype("float32"), onp.float32, onp.floating, object]
    for other in equal:
        assert found == other
        assert other == found
        assert (found != other) is False
    assert hash(found) == hash(dtype.type)
    for other in others:
        assert found != other
        assert (found == other) is False
