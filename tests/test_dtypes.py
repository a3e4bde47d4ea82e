"""Dtypes against independent descriptions: the lattice by graph search, NumPy, and a table."""

import itertools
import warnings

import ml_dtypes
import numpy as np
import pytest

import weft
import weft.numpy
from weft import dtypes
from weft.config import enable_x64
from weft.dtypes import canonicalize_dtype, issubdtype, promote, promote_types, result_type

EDGES = """
    b1 i*   i* u1   i* i1   i* i4b  i* u4b  i* i2b  i* u2b
    u1 u2   u1 i2   u2 u4   u2 i4   u4 u8   u4 i8   u8 f*
    i1 i2   i2 i4   i4 i8   i8 f*
    f* bf   f* f2   f* c*   f* e1   f* e2   f* e3   f* e4   f* e5
    f* e6   f* e7   f* e8   f* e9
    bf f4   f2 f4   f4 f8   f4 c8   f8 c16  c* c8   c8 c16
"""
SMALL = (
    "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "float8_e3m4", "float8_e4m3", "float8_e8m0fnu", "float4_e2m1fn",
)  # fmt: skip
PLAIN = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
NODES = {
    "b1": np.dtype(bool),
    "i4b": np.dtype(ml_dtypes.int4),
    "u4b": np.dtype(ml_dtypes.uint4),
    "i2b": np.dtype(ml_dtypes.int2),
    "u2b": np.dtype(ml_dtypes.uint2),
    "bf": np.dtype(ml_dtypes.bfloat16),
    "i*": np.dtype("i8"),
    "f*": np.dtype("f8"),
    "c*": np.dtype("c16"),
    **{name: np.dtype(name) for name in PLAIN},
    **{f"e{i}": np.dtype(getattr(ml_dtypes, name)) for i, name in enumerate(SMALL, 1)},
}
NARROW = {"i8": "i4", "u8": "u4", "f8": "f4", "c16": "c8"}

# The published table of result types, 64-bit types on; the columns are in the order of the rows,
# whose names are in the first column, since bool changes nothing.
TABLE = """
    b1  u1  u2  u4  u8  i1  i2  i4  i8  bf  f2  f4  f8  c8  c16 i*  f*  c*
    u1  u1  u2  u4  u8  i2  i2  i4  i8  bf  f2  f4  f8  c8  c16 u1  f*  c*
    u2  u2  u2  u4  u8  i4  i4  i4  i8  bf  f2  f4  f8  c8  c16 u2  f*  c*
    u4  u4  u4  u4  u8  i8  i8  i8  i8  bf  f2  f4  f8  c8  c16 u4  f*  c*
    u8  u8  u8  u8  u8  f*  f*  f*  f*  bf  f2  f4  f8  c8  c16 u8  f*  c*
    i1  i2  i4  i8  f*  i1  i2  i4  i8  bf  f2  f4  f8  c8  c16 i1  f*  c*
    i2  i2  i4  i8  f*  i2  i2  i4  i8  bf  f2  f4  f8  c8  c16 i2  f*  c*
    i4  i4  i4  i8  f*  i4  i4  i4  i8  bf  f2  f4  f8  c8  c16 i4  f*  c*
    i8  i8  i8  i8  f*  i8  i8  i8  i8  bf  f2  f4  f8  c8  c16 i8  f*  c*
    bf  bf  bf  bf  bf  bf  bf  bf  bf  bf  f4  f4  f8  c8  c16 bf  bf  c8
    f2  f2  f2  f2  f2  f2  f2  f2  f2  f4  f2  f4  f8  c8  c16 f2  f2  c8
    f4  f4  f4  f4  f4  f4  f4  f4  f4  f4  f4  f4  f8  c8  c16 f4  f4  c8
    f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  c16 c16 f8  f8  c16
    c8  c8  c8  c8  c8  c8  c8  c8  c8  c8  c8  c8  c16 c8  c16 c8  c8  c8
    c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16
    i*  u1  u2  u4  u8  i1  i2  i4  i8  bf  f2  f4  f8  c8  c16 i*  f*  c*
    f*  f*  f*  f*  f*  f*  f*  f*  f*  bf  f2  f4  f8  c8  c16 f*  f*  c*
    c*  c*  c*  c*  c*  c*  c*  c*  c*  c8  c8  c8  c16 c8  c16 c*  c*  c*
"""


def above(node, graph):
    """Breadth-first search: all nodes that can be reached."""
    seen, waiting = {node}, [node]
    while waiting:
        for following in graph.get(waiting.pop(0), ()):
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return seen


def least_upper_bound(a, b):
    words = EDGES.split()
    graph = {}
    for source, target in zip(words[::2], words[1::2], strict=True):
        graph.setdefault(source, []).append(target)
    common = above(a, graph) & above(b, graph)
    least = [node for node in common if common <= above(node, graph)]
    assert len(least) <= 1
    return least[0] if least else None


def canonical(node, x64):
    """(dtype, weak) of a node of the lattice."""
    if node.endswith("*"):
        wide = {"i*": "i8", "f*": "f8", "c*": "c16"}[node]
        return np.dtype(wide if x64 else NARROW[wide]), True
    return NODES[node if x64 else NARROW.get(node, node)], False


@pytest.mark.parametrize("x64", [False, True])
def test_every_pair_promotes_to_the_least_upper_bound(x64):
    with enable_x64(x64):
        for a, b in itertools.product(NODES, repeat=2):
            if not x64 and (a in NARROW or b in NARROW):
                continue
            operands = (*canonical(a, x64), *canonical(b, x64))
            expected = least_upper_bound(a, b)
            if expected is None:
                with pytest.raises(TypeError, match="no common type"):
                    promote(*operands)
            else:
                assert promote(*operands) == canonical(expected, x64), (a, b)
                assert promote(*operands) is promote(*operands), "cached"


def test_the_published_table():
    rows = [row.split() for row in TABLE.strip().splitlines()]
    with enable_x64(True):
        order = [row[0] for row in rows]
        for a, row in zip(order, rows, strict=True):
            for b, expected in zip(order, row, strict=True):
                assert promote(*canonical(a, True), *canonical(b, True)) == canonical(
                    expected, True
                ), (a, b)


def test_promotion_is_associative_where_it_is_defined():
    def join(a, b):
        try:
            return None if a is None or b is None else promote(*a, *b)
        except TypeError:
            return None

    with enable_x64(True):
        operands = [canonical(node, True) for node in NODES]
        for a, b, c in itertools.product(operands, repeat=3):
            one, other = join(join(a, b), c), join(a, join(b, c))
            if one is not None and other is not None:
                assert one == other, (a, b, c)


def test_two_weak_operands_stay_weak_and_keep_an_unusual_width():
    assert promote(dtypes.int8, True, dtypes.int8, True) == (dtypes.int8, True)
    assert promote(dtypes.int8, True, dtypes.int16, True) == (dtypes.int16, True)
    assert promote(dtypes.bool_, False, dtypes.int32, True) == (dtypes.int32, True)
    assert promote(dtypes.bool_, True, dtypes.bool_, True) == (dtypes.bool_, False)


def test_float0_takes_part_in_nothing():
    for other in (dtypes.int8, dtypes.float0):
        with pytest.raises(TypeError, match="float0"):
            promote(dtypes.float0, False, other, False)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ((np.zeros(2, np.int8), 3), "int8"),
        ((np.zeros(2, np.int8), 3.0), "float32"),
        ((np.zeros(2, np.int8), np.int32(3)), "int32"),
        ((np.float16(1), 2.0), "float16"),
        ((np.float16(1), 2j), "complex64"),
        ((1, True), "int32"),
        ((True, False), "bool"),
        ((1, 2.0), "float32"),
        (("int8", "uint8"), "int16"),
        (("bfloat16", float), "bfloat16"),
        ((np.float64(1.0),), "float32"),
        ((int,), "int32"),
    ],
)
def test_result_type(args, expected):
    assert result_type(*args) == np.dtype(expected)


def test_result_type_reads_weak_type_from_values():
    class Weak:
        dtype = np.dtype("float32")
        weak_type = True

    assert result_type(Weak(), np.float16(1)) == np.float16
    assert dtypes.result_type_and_weak(Weak(), 1) == (np.float32, True)
    assert dtypes.result_type_and_weak(Weak(), np.float32(1)) == (np.float32, False)


def test_result_type_refuses_what_is_no_array():
    with pytest.raises(ValueError, match="at least one"):
        result_type()
    with pytest.raises(TypeError, match="neither an array"):
        result_type(object(), 1)


def test_promote_types_treats_python_types_as_weak():
    assert promote_types("int8", int) == np.int8
    assert promote_types("int8", float) == np.float32
    assert promote_types(int, float) == np.float32
    with enable_x64(True):
        assert promote_types("uint32", "int8") == np.int64
        assert promote_types("uint64", "int8") == np.float64


def test_canonical_dtypes_by_x64():
    spellings = [float, "float64", np.float64, np.dtype("f8"), np.dtype(">f8"), "f8"]
    for spelling in spellings:
        assert canonicalize_dtype(spelling) == np.float32
        assert canonicalize_dtype(spelling, x64=True) == np.float64
        with enable_x64(True):
            assert canonicalize_dtype(spelling) == np.float64
    assert canonicalize_dtype(int) == np.int32
    assert canonicalize_dtype(bool) == np.bool_
    assert canonicalize_dtype(complex) == np.complex64
    assert canonicalize_dtype(np.longlong, x64=True) is dtypes.int64
    assert canonicalize_dtype(">i4") is dtypes.int32
    assert canonicalize_dtype([("float0", np.void, 0)]) == dtypes.float0
    assert canonicalize_dtype(ml_dtypes.int4) is dtypes.SIGNED[1]


@pytest.mark.parametrize("wrong", [object, str, "U3", "M8[s]", np.longdouble, [("a", "f4")], "V3"])
def test_unsupported_dtypes_are_named(wrong):
    with pytest.raises(TypeError, match=r"not supported; supported: bool, int2"):
        canonicalize_dtype(wrong)


@pytest.mark.parametrize("wrong", [None, 3, "nope", object(), ()])
def test_what_is_no_dtype_is_refused(wrong):
    with pytest.raises(TypeError, match=r"not a dtype|not supported"):
        canonicalize_dtype(wrong)


def test_an_explicit_64_bit_dtype_warns_once_a_line():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            assert dtypes.requested_dtype("float64", "zeros") == np.float32
        dtypes.requested_dtype(np.int64, "arange")
    assert len(caught) == 2
    assert str(caught[0].message).startswith("Explicitly requested dtype float64")
    assert "WEFT_ENABLE_X64" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_python_types_and_honoured_dtypes_do_not_warn():
    for dtype in (int, float, complex, bool, "float32", np.int8):
        dtypes.requested_dtype(dtype)
    with enable_x64(True):
        assert dtypes.requested_dtype("float64") == np.float64


def test_kinds_agree_with_numpy_and_ml_dtypes():
    assert len(set(dtypes.DTYPES)) == len(dtypes.DTYPES) == 28
    for dtype in dtypes.DTYPES:
        name = dtype.name
        assert dtypes.is_bool(dtype) == (name == "bool")
        assert dtypes.is_unsigned(dtype) == name.startswith("uint")
        assert dtypes.is_signed(dtype) == name.startswith("int")
        assert dtypes.is_integer(dtype) == ("int" in name)
        assert dtypes.is_float(dtype) == ("float" in name)
        assert dtypes.is_complex(dtype) == ("complex" in name)
        assert dtypes.is_inexact(dtype) == ("float" in name or "complex" in name)
        assert issubdtype(dtype, np.floating) == ("float" in name)
        assert issubdtype(dtype, np.integer) == ("int" in name)
        assert issubdtype(dtype, np.signedinteger) == name.startswith("int")
        assert issubdtype(dtype, np.unsignedinteger) == name.startswith("uint")
        assert issubdtype(dtype, np.number) == (name != "bool")
        assert issubdtype(dtype, np.inexact) == ("float" in name or "complex" in name)
        assert issubdtype(dtype, np.generic)
        assert issubdtype(dtype, dtype)
        assert issubdtype(dtype.type, dtype)
        tangent = dtype if dtypes.is_inexact(dtype) else dtypes.float0
        assert dtypes.tangent_dtype(dtype) == tangent
    assert not issubdtype(np.float32, float)
    assert issubdtype(np.floating, np.inexact)
    assert not issubdtype(np.floating, np.float32)
    assert not issubdtype(dtypes.float0, np.number)
    for wrong in (("x", float), (float, "x"), (np.floating, 3)):
        with pytest.raises(TypeError, match=r"issubdtype: .* is not a dtype: .*\n  fix: a name"):
            issubdtype(*wrong)


def test_kinds_take_any_spelling():
    assert dtypes.is_float(np.float32)
    assert dtypes.is_integer("uint4")
    assert dtypes.is_complex(complex)
    with pytest.raises(TypeError):
        dtypes.is_float("nope")


def test_real_and_complex_partners():
    assert dtypes.real_of("complex64") == np.float32
    assert dtypes.real_of("complex128") == np.float64
    assert dtypes.real_of("int8") == np.int8
    assert dtypes.complex_of("float64") == np.complex128
    assert dtypes.complex_of("float16") == np.complex64
    assert dtypes.complex_of("int32") == np.complex64
    with enable_x64(True):
        assert dtypes.complex_of("int32") == np.complex128
    with pytest.raises(TypeError, match="float0"):
        dtypes.complex_of(dtypes.float0)


def test_defaults_follow_x64():
    def defaults():
        return dtypes.default_int(), dtypes.default_float(), dtypes.default_complex()

    assert defaults() == (np.int32, np.float32, np.complex64)
    with enable_x64(True):
        assert defaults() == (np.int64, np.float64, np.complex128)


def test_limits():
    assert dtypes.finfo("float32").max == np.finfo(np.float32).max
    assert dtypes.finfo("complex128").eps == np.finfo(np.float64).eps
    assert float(dtypes.finfo("float8_e4m3fn").max) == 448.0
    assert (dtypes.iinfo("int4").min, dtypes.iinfo("uint4").max) == (-8, 15)
    assert dtypes.iinfo(np.uint64).max == 2**64 - 1
    with pytest.raises(ValueError, match="use iinfo"):
        dtypes.finfo("int8")
    with pytest.raises(ValueError, match="use finfo"):
        dtypes.iinfo("float32")
    assert dtypes.bit_width("uint4") == dtypes.bit_width("float4_e2m1fn") == 4
    assert dtypes.bit_width("int2") == 2
    assert dtypes.bit_width("complex128") == 128
    assert dtypes.bit_width(dtypes.float0) == 0


@pytest.mark.parametrize(
    ("x", "expected"),
    [(True, bool), (2, int), (2.0, float), (2j, complex), (np.uint8(1), int), ("bfloat16", float)],
)
def test_scalar_type_of(x, expected):
    assert dtypes.scalar_type_of(x) is expected


@pytest.mark.parametrize("x", ["none", "array", "scalar", "number", "struct", "tracer"])
def test_limits_of_what_has_a_dtype(x):
    value = {
        "none": np.float32,
        "array": weft.numpy.ones(2),
        "scalar": np.float32(1),
        "number": 1.0,
        "struct": weft.ShapeDtypeStruct((2,), "float32"),
    }
    if x == "tracer":
        seen = []
        weft.jit(lambda t: seen.append(dtypes.finfo(t)) or t)(1.0)
        found = seen[0]
    else:
        found = dtypes.finfo(value[x])
    assert (found.bits, float(found.eps)) == (32, float(np.finfo(np.float32).eps))
    assert dtypes.iinfo(weft.numpy.arange(2, dtype="int8")).max == 127
    assert dtypes.iinfo(3).max == 2**31 - 1
    with pytest.raises(ValueError, match="int32 is not floating-point\n  fix: use iinfo"):
        dtypes.finfo(weft.numpy.arange(2))
    with pytest.raises(ValueError, match="float32 is not an integer type\n  fix: use finfo"):
        dtypes.iinfo(weft.numpy.ones(2))


CLASSES = ["bfloat16", *(d.name for d in (*dtypes.SMALL_INTS, *dtypes.SMALL_FLOATS))]


@pytest.mark.parametrize("name", CLASSES)
def test_narrow_dtypes_are_classes_of_scalars(name):
    own = getattr(dtypes, name)
    assert own is getattr(ml_dtypes, name)
    assert own.__name__ == name
    assert float(own(1)) == 1.0
    assert isinstance(own(1), own)
    assert np.dtype(own) == own
    assert np.dtype(own) in dtypes.DTYPES
    assert dtypes.canonicalize_dtype(own) == dtypes.canonicalize_dtype(name)


def test_none_is_the_default_float():
    assert result_type(None) == np.float32
    assert result_type(None, np.int8) == np.float32
    with enable_x64():
        assert result_type(None) == np.result_type(None)
