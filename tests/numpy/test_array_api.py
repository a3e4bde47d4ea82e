"""The array API standard 2024.12, as a table: names, signatures, dtypes, special cases, axes.

What deviates is in `DEVIATIONS`, with the reason; `docs/differences.md` says it to users.
"""

import inspect
import math

import numpy as onp
import pytest

import weft
from weft import errors, numpy as np

nan, inf, pi = math.nan, math.inf, math.pi

# function: the keywords that the standard has (those before a bar may also be given by position)
SIGNATURES = {
    "arange": "start stop step | dtype device", "asarray": "| dtype device copy",
    "empty": "shape | dtype device", "empty_like": "| dtype device",
    "eye": "n_rows n_cols | k dtype device", "from_dlpack": "| device copy",
    "full": "shape fill_value | dtype device", "full_like": "fill_value | dtype device",
    "linspace": "start stop num | dtype device endpoint", "meshgrid": "| indexing",
    "ones": "shape | dtype device", "ones_like": "| dtype device", "tril": "| k", "triu": "| k",
    "zeros": "shape | dtype device", "zeros_like": "| dtype device",
    "astype": "dtype | copy device",
    "broadcast_arrays": "", "broadcast_to": "shape", "can_cast": "", "finfo": "", "iinfo": "",
    "isdtype": "kind", "result_type": "", "take": "indices | axis",
    "take_along_axis": "indices | axis", "concat": "| axis", "expand_dims": "| axis",
    "flip": "| axis", "moveaxis": "", "permute_dims": "axes", "repeat": "repeats | axis",
    "reshape": "shape | copy", "roll": "shift | axis", "squeeze": "axis", "stack": "| axis",
    "tile": "", "unstack": "| axis", "argmax": "| axis keepdims", "argmin": "| axis keepdims",
    "count_nonzero": "| axis keepdims", "nonzero": "", "searchsorted": "| side sorter",
    "where": "", "unique_all": "", "unique_counts": "", "unique_inverse": "", "unique_values": "",
    "argsort": "| axis descending stable", "sort": "| axis descending stable",
    "cumulative_prod": "| axis dtype include_initial",
    "cumulative_sum": "| axis dtype include_initial", "max": "| axis keepdims",
    "mean": "| axis keepdims", "min": "| axis keepdims", "prod": "| axis dtype keepdims",
    "std": "| axis correction keepdims", "sum": "| axis dtype keepdims",
    "var": "| axis correction keepdims", "all": "| axis keepdims", "any": "| axis keepdims",
    "diff": "| axis n prepend append", "matmul": "", "matrix_transpose": "", "tensordot": "| axes",
    "vecdot": "| axis", "clip": "min max", "linalg.cross": "| axis", "linalg.diagonal": "| offset",
    "linalg.trace": "| offset dtype", "linalg.cholesky": "| upper", "linalg.det": "",
    "linalg.eigh": "", "linalg.eigvalsh": "", "linalg.inv": "", "linalg.matmul": "",
    "linalg.matrix_norm": "| keepdims ord", "linalg.matrix_power": "",
    "linalg.matrix_rank": "| rtol", "linalg.matrix_transpose": "", "linalg.outer": "",
    "linalg.pinv": "| rtol", "linalg.qr": "| mode", "linalg.slogdet": "", "linalg.solve": "",
    "linalg.svd": "| full_matrices", "linalg.svdvals": "", "linalg.tensordot": "| axes",
    "linalg.vecdot": "| axis", "linalg.vector_norm": "| axis keepdims ord",
    **{f"fft.{n}": "| n axis norm" for n in
       ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft.{n}": "| s axes norm" for n in ("fftn", "ifftn", "rfftn", "irfftn")},
    "fft.fftfreq": "| d device", "fft.rfftfreq": "| d device", "fft.fftshift": "| axes",
    "fft.ifftshift": "| axes",
}  # fmt: skip
ELEMENTWISE = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_invert",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "square",
    "sqrt",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]
CONSTANTS = {"e": math.e, "inf": inf, "nan": nan, "newaxis": None, "pi": pi}
DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
DEVIATIONS = {
    "inf // 2.": "NaN, as NumPy has it: the remainder of an infinity is NaN",
    "x[i] = y": "arrays are immutable: x.at[i].set(y)",
    "out-of-place dtypes of 64 bits": "narrowed to 32 bits unless enable_x64 is on",
}


def function(name):
    found = np
    for part in name.split("."):
        found = getattr(found, part)
    return found


def takes(signature, keyword, by_position):
    p = signature.parameters.get(keyword)
    if p is None:
        return any(q.kind is q.VAR_KEYWORD for q in signature.parameters.values())
    return p.kind is not p.POSITIONAL_ONLY or by_position


@pytest.mark.parametrize("name", SIGNATURES)
def test_functions_have_the_parameters_of_the_standard(name):
    signature = inspect.signature(function(name))
    by_position, _, keywords = SIGNATURES[name].partition("|")
    missing = [k for k in by_position.split() if not takes(signature, k, True)]
    missing += [k for k in keywords.split() if not takes(signature, k, False)]
    # the standard lets the first ones be positional only, under any name
    assert [k for k in missing if k in keywords.split()] == []
    assert len(signature.parameters) >= len(by_position.split())


def test_all_names_are_there():
    assert [n for n in (*ELEMENTWISE, *DTYPES) if not hasattr(np, n)] == []
    for name, x in CONSTANTS.items():
        assert getattr(np, name) is x or getattr(np, name) == x or name == "nan"
    assert np.__array_api_version__ == "2024.12"
    x = np.ones(2)
    assert x.__array_namespace__() is np
    assert x.__array_namespace__(api_version="2024.12") is np
    assert x.to_device(x.device) is not None
    for name in ("ndim", "shape", "size", "dtype", "device", "T", "mT"):
        assert hasattr(np.ones((2, 2)), name)


def test_the_namespace_describes_itself():
    info = np.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] is True
    assert info.capabilities()["max dimensions"] >= 32
    assert info.default_device() in (None, *info.devices())
    for x64, suffix in ((False, "32"), (True, "64")):
        with weft.enable_x64(x64):
            defaults = info.default_dtypes()
            assert defaults["real floating"] == np.dtype("float" + suffix)
            assert defaults["integral"] == np.dtype("int" + suffix) == defaults["indexing"]
            assert defaults["complex floating"] == np.dtype("complex" + str(2 * int(suffix)))
            known = info.dtypes()
            assert set(known) == {n for n in DTYPES if x64 or "64" not in n or n == "complex64"} - (
                set() if x64 else {"complex128"}
            )
            assert set(info.dtypes(kind="unsigned integer")) <= {
                "uint8",
                "uint16",
                "uint32",
                "uint64",
            }
            assert set(info.dtypes(kind=("bool", "real floating"))) == {
                "bool", "float32", *(["float64"] if x64 else [])
            }  # fmt: skip


KINDS = {
    "bool": ["bool"], "signed integer": ["int8", "int32"], "unsigned integer": ["uint8", "uint16"],
    "integral": ["int8", "uint8"], "real floating": ["float32", "bfloat16"],
    "complex floating": ["complex64"], "numeric": ["int8", "uint8", "float32", "complex64"],
}  # fmt: skip


def test_kinds_of_dtypes():
    every = {d for names in KINDS.values() for d in names}
    for kind, names in KINDS.items():
        for d in every:
            assert np.isdtype(np.dtype(d), kind) is (d in names or (
                kind == "integral" and "int" in d) or (kind == "numeric" and d != "bool")
            ), (kind, d)  # fmt: skip
        assert np.isdtype(np.dtype(names[0]), (kind, np.dtype("float16")))
    assert isinstance(np.int32(1), np.int32)
    assert isinstance(np.float32(1.5), np.float32)
    assert not isinstance(np.float32(1.5), np.int32)
    assert np.float32(1.5) == 1.5
    assert np.ones(1).dtype == np.float32 == onp.float32


# function, operands, result: rules of the standard's "special cases"
SPECIAL = [
    ("floor_divide", (-0.0, 3.0), -0.0), ("floor_divide", (0.0, -3.0), -0.0),
    ("floor_divide", (1.0, 0.0), inf), ("floor_divide", (-1.0, 0.0), -inf),
    ("floor_divide", (1.0, inf), 0.0), ("floor_divide", (-1.0, inf), -1.0),
    ("remainder", (0.0, -3.0), -0.0), ("remainder", (-0.0, 3.0), 0.0),
    ("remainder", (1.0, inf), 1.0), ("remainder", (-1.0, inf), inf), ("remainder", (1.0, 0.0), nan),
    ("pow", (nan, 0.0), 1.0), ("pow", (1.0, nan), 1.0), ("pow", (-0.0, -3.0), -inf),
    ("pow", (-0.0, 3.0), -0.0), ("pow", (0.5, inf), 0.0), ("pow", (-inf, 3.0), -inf),
    ("pow", (-2.0, 0.5), nan), ("atan2", (0.0, -0.0), pi), ("atan2", (-0.0, -0.0), -pi),
    ("atan2", (-0.0, 0.0), -0.0), ("atan2", (inf, -inf), 3 * pi / 4), ("hypot", (inf, nan), inf),
    ("copysign", (1.0, -0.0), -1.0), ("copysign", (nan, 1.0), nan), ("divide", (1.0, -0.0), -inf),
    ("maximum", (nan, 1.0), nan), ("minimum", (-inf, nan), nan), ("logaddexp", (nan, 1.0), nan),
    ("logaddexp", (inf, 1.0), inf), ("nextafter", (0.0, 0.0), 0.0), ("sign", (nan,), nan),
    ("round", (2.5,), 2.0), ("round", (-0.5,), -0.0), ("ceil", (-0.5,), -0.0),
    ("trunc", (-0.5,), -0.0), ("floor", (-0.0,), -0.0), ("sqrt", (-0.0,), -0.0),
    ("sqrt", (-1.0,), nan), ("log", (0.0,), -inf), ("log", (-1.0,), nan), ("log1p", (-1.0,), -inf),
    ("log1p", (-0.0,), -0.0), ("expm1", (-0.0,), -0.0), ("expm1", (-inf,), -1.0),
    ("exp", (-inf,), 0.0), ("tanh", (inf,), 1.0), ("atanh", (1.0,), inf), ("atanh", (2.0,), nan),
    ("acosh", (0.5,), nan), ("asin", (2.0,), nan), ("atan", (inf,), pi / 2), ("sin", (inf,), nan),
    ("sin", (-0.0,), -0.0), ("reciprocal", (-0.0,), -inf), ("square", (-inf,), inf),
    ("signbit", (-0.0,), True), ("isnan", (nan,), True), ("isfinite", (inf,), False),
    ("expm1", (complex(inf, 0),), complex(inf, 0)), ("expm1", (complex(nan, 0),), complex(nan, 0)),
    ("exp", (complex(-inf, 0),), 0j), ("sqrt", (complex(-inf, 0.0),), complex(0, inf)),
    ("log", (complex(-0.0, 0.0),), complex(-inf, pi)), ("tanh", (complex(inf, 1),), complex(1, 0)),
    ("acos", (complex(0, nan),), complex(pi / 2, nan)), ("sign", (0j,), 0j),
]  # fmt: skip


@pytest.mark.parametrize("x64", [False, True])
def test_special_cases(x64):
    with weft.enable_x64(x64):
        for name, operands, expected in SPECIAL:
            arrays = [np.asarray(x) for x in operands]
            got = onp.asarray(function(name)(*arrays))
            label = f"{name}{operands}: {got}"
            wanted = onp.asarray(expected).astype(got.dtype)
            onp.testing.assert_allclose(got, wanted, rtol=1e-6, err_msg=label)
            if isinstance(expected, float) and expected == 0:
                assert onp.signbit(got) == onp.signbit(expected), label


X = onp.arange(6, dtype=onp.float32).reshape(2, 3)
# an axis too far for X, in each function that takes one
AXES = {
    name: lambda axis, name=name: function(name)(np.asarray(X), axis=axis)
    for name in [
        "sum",
        "prod",
        "mean",
        "max",
        "min",
        "std",
        "var",
        "all",
        "any",
        "argmax",
        "argmin",
        "count_nonzero",
        "cumulative_sum",
        "cumulative_prod",
        "flip",
        "squeeze",
        "argsort",
        "sort",
        "diff",
        "unstack",
    ]
} | {
    "concat": lambda axis: np.concat([X, X], axis=axis),
    "stack": lambda axis: np.stack([X, X], axis=axis + (axis > 0) - (axis < 0)),
    "expand_dims": lambda axis: np.expand_dims(X, axis=axis + (axis > 0) - (axis < 0)),
    "roll": lambda axis: np.roll(X, 1, axis=axis),
    "repeat": lambda axis: np.repeat(X, 2, axis=axis),
    "take": lambda axis: np.take(X, np.asarray([0]), axis=axis),
    "take_along_axis": lambda axis: np.take_along_axis(X, np.zeros((2, 3), int), axis=axis),
    "vecdot": lambda axis: np.vecdot(X, X, axis=axis),
    "moveaxis": lambda axis: np.moveaxis(X, axis, 0),
}


@pytest.mark.parametrize("name", AXES)
def test_an_axis_that_is_not_there_is_an_index_error(name):
    for axis in (2, -3):
        with pytest.raises(IndexError) as e:
            AXES[name](axis)
        assert isinstance(e.value, errors.AxisError)


def test_results_of_reductions_have_the_dtypes_of_the_standard():
    for x64 in (False, True):
        with weft.enable_x64(x64):
            default = np.__array_namespace_info__().default_dtypes()["integral"]
            unsigned = np.dtype("uint64" if x64 else "uint32")
            for name in ("sum", "prod", "cumulative_sum", "cumulative_prod"):
                f = function(name)
                assert f(np.asarray([1, 2], dtype="int8")).dtype == default
                assert f(np.asarray([1, 2], dtype="uint8")).dtype == unsigned
                assert f(np.asarray([1, 2], dtype="float32")).dtype == np.float32
                assert f(np.asarray([1, 2], dtype="int8"), dtype=np.int16).dtype == np.int16
            for name in ("argmax", "argmin", "count_nonzero"):
                assert np.isdtype(function(name)(np.asarray([1, 2])).dtype, "signed integer")
            assert np.searchsorted(np.ones(2), np.ones(2)).dtype == default
            for name in ("max", "min"):
                assert function(name)(np.asarray([1], dtype="uint8")).dtype == np.uint8
            assert np.mean(np.asarray([1.0], dtype="float32")).dtype == np.float32


def test_promotion_is_that_of_the_standard():
    with weft.enable_x64(True):
        widths = {
            "int": (8, 16, 32, 64),
            "uint": (8, 16, 32, 64),
            "float": (32, 64),
            "complex": (64, 128),
        }
        for kind, sizes in widths.items():
            for a in sizes:
                for b in sizes:
                    assert np.result_type(f"{kind}{a}", f"{kind}{b}") == f"{kind}{max(a, b)}"
        for a in (8, 16, 32):
            for b in (8, 16, 32, 64):
                wide = max(2 * a, b) if b <= a else b
                assert np.result_type(f"uint{a}", f"int{b}") == f"int{wide}"
        assert np.result_type("float32", "complex64") == "complex64"
        assert np.result_type("float64", "complex64") == "complex128"
        assert (np.ones(1, dtype="float32") + 1.5).dtype == np.float32
        assert (np.ones(1, dtype="uint8") * 2).dtype == np.uint8


def test_empty_arrays_and_arrays_without_axes():
    empty, scalar = np.zeros((0, 3)), np.asarray(2.0)
    assert np.sum(empty).item() == 0
    assert np.prod(empty, axis=0).tolist() == [1, 1, 1]
    assert np.all(empty).item() is True
    assert np.any(empty).item() is False
    assert np.cumulative_sum(np.zeros(0), include_initial=True).tolist() == [0]
    assert np.cumulative_prod(np.asarray([2, 3]), include_initial=True).tolist() == [1, 2, 6]
    assert np.unique_values(np.zeros(0)).shape == (0,)
    assert [x.shape for x in np.unique_all(scalar)] == [(1,), (1,), (), (1,)]
    assert np.concat([empty, empty], axis=0).shape == (0, 3)
    assert np.sort(empty, axis=0).shape == (0, 3)
    assert np.take(empty, np.zeros(0, int), axis=0).shape == (0, 3)
    assert np.sum(scalar).item() == 2
    assert np.matmul(empty, np.ones((3, 2))).shape == (0, 2)
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ValueError, match=name):
            function(name)(np.zeros(0))


def test_unique_functions_agree():
    x = np.asarray([3, 1, 2, 3, 1])
    values, indices, inverse, counts = np.unique_all(x)
    assert values.tolist() == np.unique_values(x).tolist() == [1, 2, 3]
    assert x[indices].tolist() == values.tolist()
    assert values[inverse].tolist() == x.tolist()
    assert np.unique_counts(x).counts.tolist() == counts.tolist() == [2, 1, 2]
    assert np.unique_inverse(x).inverse_indices.tolist() == inverse.tolist()
    assert len(np.unique_values(np.asarray([nan, nan]))) == 2  # NaNs are distinct


SETS = {  # the places in [3, 1, 2, 2, 1, 4] of the elements that each gives, with [4, 2, 9]
    "unique": (lambda x, y: np.unique(x), [1, 2, 0, 5]),
    "unique_values": (lambda x, y: np.unique_values(x), [1, 2, 0, 5]),
    "unique_all": (lambda x, y: np.unique_all(x).values, [1, 2, 0, 5]),
    "intersect1d": (np.intersect1d, [2, 5]),
    "setdiff1d": (np.setdiff1d, [1, 0]),
    "setdiff1d as it is": (lambda x, y: np.setdiff1d(x, y, assume_unique=True), [0, 1, 4]),
    "setxor1d": (lambda x, y: np.setxor1d(x, y)[:2], [1, 0]),
    "union1d": (lambda x, y: np.union1d(x, y)[:2], [1, 2]),
}


@pytest.mark.parametrize("name", SETS)
def test_sets_of_known_elements_have_derivatives(name):
    f, places = SETS[name]
    x, y = np.asarray([3.0, 1, 2, 2, 1, 4]), np.asarray([4.0, 2, 9])
    assert f(x, y).tolist() == x[np.asarray(places)].tolist()
    weights = np.arange(1.0, len(places) + 1)
    got = weft.grad(lambda x: (f(x, y) * weights).sum())(x)
    assert got.tolist() == np.zeros(6).at[np.asarray(places)].set(weights).tolist()
    got = weft.jvp(lambda x: f(x, y), (x,), (np.arange(6.0),))[1]
    assert got.tolist() == places
    with pytest.raises(weft.errors.ConcretizationTypeError, match="size=n"):
        weft.jit(f)(x, y)


def test_deviations_are_as_they_are_described():
    assert math.isnan(np.floor_divide(np.asarray(inf), np.asarray(2.0)).item())
    with pytest.raises(TypeError, match="at"):
        np.ones(2)[0] = 1
    assert np.ones(2).dtype == np.float32
    assert set(DEVIATIONS) == {"inf // 2.", "x[i] = y", "out-of-place dtypes of 64 bits"}
